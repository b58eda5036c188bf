"""Names: scopes of functions, classes and modules, and looking names up in them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from gradguard.infer.sites import Site
from gradguard.ir import nodes as ir
from gradguard.lower.module import Unreadable
from gradguard.replay.session import Session
from gradguard.replay.trace import Modes
from gradguard.replay.value import Value
from gradguard.replay.wild import unknown

ABSENT = object()


@dataclass
class Frame:
    """One running function, class body, comprehension or module. `names` are the declared ones."""

    session: Session
    module: ModuleScope
    values: dict[str, Value]
    outer: Frame | None = None
    function: ir.Function | None = None
    klass: list[Value] | None = None
    is_class: bool = False
    wraps_awaits: bool = False
    names: dict[str, str] = field(default_factory=dict)
    watched: frozenset[int] = frozenset()
    handled: list[BaseException] = field(default_factory=list)
    resumed: Modes | None = None

    def inner(self, values: dict[str, Value], **more: Value) -> Frame:
        """A frame inside this one."""
        more.setdefault("klass", self.klass)
        more.setdefault("function", self.function)
        return Frame(self.session, self.module, values, self, watched=self.watched, **more)

    def site(self, at: int) -> Site:
        """The place of a node of this frame's module."""
        return Site(self.module.key, at)

    def read(self, name: str) -> Value:
        """The value of a name; something unknown where nothing binds it."""
        if self.names.get(name) != "global":
            frame: Frame | None = self
            while frame is not None:
                if name in frame.values and (frame is self or not frame.is_class):
                    return resolved(frame.values, name)
                frame = frame.outer
        return self.module.read(name)

    def bind(self, name: str, value: Value) -> None:
        """Bind a name where the declarations say."""
        self.session.name(value, name)
        kind = self.names.get(name)
        if kind == "global":
            self.module.values[name] = value
            return
        frame = self._nonlocal(name) if kind == "nonlocal" else self
        frame.values[name] = value

    def _nonlocal(self, name: str) -> Frame:
        frame = self.outer
        while frame is not None:
            if name in frame.values and not frame.is_class:
                return frame
            frame = frame.outer
        return self

    def unbind(self, name: str) -> None:
        """`del name`."""
        self.values.pop(name, None)
        if self.names.get(name) == "global" or self.outer is None:
            self.module.values.pop(name, None)


@dataclass
class ModuleScope:
    """A module of the tree: its globals, bound when asked for."""

    session: Session
    key: str
    values: dict[str, Value] = field(default_factory=dict)
    running: set[int] = field(default_factory=set)
    ran: set[int] = field(default_factory=set)

    @property
    def __name__(self) -> str:
        """The file's name."""
        return os.path.basename(self.key)

    def frame(self) -> Frame:
        """A frame whose names are the module's globals."""
        return Frame(self.session, self, self.values, watched=self.session.watched_in(self.key))

    def find(self, name: str) -> Value:
        """The value of a global, ABSENT where the module does not bind it."""
        if name in self.values:
            return resolved(self.values, name)
        program = self.session.program
        if program.module(self.key) is None:
            return ABSENT
        for index in program.chunks_of.get(self.key, {}).get(name, ()):
            if index not in self.running and index not in self.ran:
                with self.session.backend.thread():
                    self.run_chunk(index)
        if name in self.values:
            return resolved(self.values, name)
        return self._from_star(name)

    def read(self, name: str) -> Value:
        """The value of a global or built-in name; something unknown where there is none."""
        from gradguard.replay.builtins import builtin

        value = self.find(name)
        if value is not ABSENT:
            return value
        value = builtin(self.session, name)
        if value is ABSENT:
            value = self.values[name] = unknown(self.session, name)
        return value

    def run_chunk(self, index: int) -> None:
        """Execute one top-level piece."""
        from gradguard.replay.execute import execute
        from gradguard.replay.functions import finish

        try:
            body = self.session.program.modules[self.key].body(index)
        except (Unreadable, RecursionError):
            return
        self.running.add(index)
        try:
            finish(execute(self.frame(), body))
            self.ran.add(index)
        finally:
            self.running.discard(index)

    def _from_star(self, name: str) -> Value:
        from gradguard.replay.imports import star_imports
        from gradguard.replay.outside import has_name, outside

        for statement, target in star_imports(self):
            if target is not None:
                value = module_scope(self.session, target).find(name)
                if value is not ABSENT:
                    return value
            elif has_name(self.session, f"{statement.module}.{name}"):
                return outside(self.session, f"{statement.module}.{name}")
        return ABSENT


@dataclass
class Deferred:
    """A name imported from a module of the tree, looked up when it is first used."""

    scope: ModuleScope
    name: str
    busy: bool = False


def resolved(values: dict[str, Value], name: str) -> Value:
    """The value of a bound name, an imported one looked up."""
    value = values[name]
    if not isinstance(value, Deferred):
        return value
    from gradguard.replay.imports import module_attribute

    found: Value = ABSENT
    if not value.busy:
        value.busy = True
        found = module_attribute(value.scope, value.name)
    if found is ABSENT:
        found = unknown(value.scope.session, value.name)
    values[name] = found
    return found


def module_scope(session: Session, key: str) -> ModuleScope:
    """The scope of a module in the tree."""
    scope: ModuleScope | None = session.modules.get(key)
    if scope is None:
        scope = session.modules[key] = ModuleScope(
            session, key, {"__name__": os.path.basename(key).removesuffix(".py")}
        )
        scope.values["__file__"] = os.path.basename(key)
    return scope
