"""The modules of a program, bound name by name as they are asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gradguard.infer.frames import Frame
from gradguard.infer.imports import Imports
from gradguard.infer.modes import ON
from gradguard.infer.reach import Reach
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import Imported, Known, Literal, Module
from gradguard.ir import nodes as ir
from gradguard.lower.module import Module as Lowered
from gradguard.lower.module import Unreadable

Opener = Callable[[str], "Lowered | None"]


def binders(lowered: Lowered) -> dict[str, tuple[int, ...]]:
    """For each global the pieces to run so that it is bound, in order: a definition, or the imports and
    statements that bind it, any of which may turn out not to (`if TYPE_CHECKING: import ...`)."""
    names: dict[str, tuple[int, ...]] = {}
    for chunk in lowered.chunks:
        for name in chunk.binds:
            defines = chunk.kind in ("function", "class")
            names[name] = (chunk.index,) if defines else (*names.get(name, ()), chunk.index)
    return names


@dataclass(slots=True)
class Program:
    """Modules by key (the file's path). `open_path` gives the lowered module of a path, None where there is none."""

    open_path: Opener
    modules: dict[str, Lowered] = field(default_factory=dict)
    chunks_of: dict[str, dict[str, tuple[int, ...]]] = field(default_factory=dict)
    imports: Imports = field(default_factory=Imports)
    reach: Reach | None = None
    closed: set[str] = field(default_factory=set)
    rebinding: frozenset[str] = frozenset()
    rebinding_modules: dict[str, bool] = field(default_factory=dict)

    def add(self, key: str, lowered: Lowered) -> None:
        """Take in an opened module."""
        self.modules[key] = lowered
        self.imports.known.add(key)
        self.chunks_of[key] = binders(lowered)

    def module(self, key: str) -> Lowered | None:
        """The lowered module of a path, opened when first asked for."""
        if key not in self.modules and key not in self.closed:
            lowered = self.open_path(key)
            if lowered is None:
                self.closed.add(key)
            else:
                self.add(key, lowered)
        return self.modules.get(key)

    def leads(self, key: str, name: str) -> bool:
        """Whether a function may come to a place that asks for a gradient."""
        return self._outlined().leads(key, name)

    def shapes(self, key: str, name: str) -> bool:
        """Whether a function may decide what can have a gradient."""
        return self._outlined().shapes(key, name)

    def may_guard(self, imported: Imported) -> bool:
        """Whether an imported name may have to do with guards."""
        return self._outlined().may_guard(imported.key, imported.name)

    def is_plain(self, key: str) -> bool:
        """Whether no function of a file leads to a place that asks for a gradient."""
        return self._outlined().is_plain(key)

    def callers(self, key: str, name: str) -> int:
        """How many functions of a file call the function `name`."""
        return self._outlined().callers(key, name)

    def guards(self, key: str, name: str) -> bool:
        """Whether a function names a guard."""
        return self._outlined().guards(key, name)

    def _outlined(self) -> Reach:
        if self.reach is None:
            self.reach = Reach(self.imports, self._text)
        return self.reach

    def _text(self, key: str) -> str | None:
        lowered = self.modules.get(key)
        if lowered is not None:
            return lowered.source.text
        return self.imports.disk.text(key)

    def rebinds(self, key: str) -> bool:
        """Whether in-place updates in this module rebind the name (Paddle)."""
        known = self.rebinding_modules.get(key)
        if known is None:
            lowered = self.modules.get(key)
            text = lowered.source.text if lowered is not None else ""
            known = any(f"import {name}" in text or f"from {name}" in text for name in self.rebinding)
            known = known and "import torch" not in text
            self.rebinding_modules[key] = known
        return known

    def scope_of(self, frame: Frame, state: State, key: str) -> int:
        """The heap id of a module's globals."""
        scope = frame.run.module_scopes.get(key)
        if scope is None:
            scope = frame.run.fresh()
            frame.run.module_scopes[key] = scope
        if not state.has(scope):
            state.allocate(scope, {"__name__": Literal(key)})
        return scope

    def module_frame(self, frame: Frame, state: State, key: str) -> Frame:
        """A frame for a module's top level."""
        scope = self.scope_of(frame, state, key)
        return Frame(frame.run, key, (scope,), "<module>", ON, calls=frame.calls, functions=frame.functions)

    def bind_late(self, frame: Frame, state: State, name: str) -> Any:
        """Bind a global by running the top-level piece that defines it; its value, None where there is none."""
        key = frame.module
        return self._bind(frame, state, key, name)

    def _bind(self, frame: Frame, state: State, key: str, name: str) -> Any:
        lowered = self.module(key)
        pieces = self.chunks_of.get(key, {}).get(name, ()) if lowered is not None else ()
        if not pieces:
            return self._from_star(frame, state, key, name)
        scope = self.scope_of(frame, state, key)
        mode = state.mode
        state.mode = ON
        try:
            for index in pieces:
                if (scope, index) in frame.run.binding:
                    continue
                frame.run.binding.add((scope, index))
                try:
                    self.run_chunk(frame, state, key, index)
                finally:
                    frame.run.binding.discard((scope, index))
        finally:
            state.mode = mode
        return state.read(scope, name)

    def run_chunk(self, frame: Frame, state: State, key: str, index: int) -> None:
        """Execute one top-level piece in its module's scope; `state` becomes the state behind it."""
        from gradguard.infer.statements import execute

        try:
            body = self.modules[key].body(index)
        except (Unreadable, RecursionError):
            return
        inner = self.module_frame(frame, state, key)
        end = execute(inner, state, body)
        if end is not None and end is not state:
            state.become(end)

    def _from_star(self, frame: Frame, state: State, key: str, name: str) -> Any:
        lowered = self.module(key)
        for chunk in lowered.chunks if lowered is not None else ():
            if chunk.kind != "import" or "*" not in chunk.binds:
                continue
            for statement in self._stars(key, chunk.index):
                target = self.imports.resolve(key, statement.module, statement.level)
                if target is not None and self.module(target) and name in self.chunks_of[target]:
                    return self.module_attribute(frame, state, target, name)
                if target is None and statement.module.split(".")[0] in frame.run.facts.packages:
                    path = f"{statement.module}.{name}"
                    if path in frame.run.facts.guards or name[:1].isupper():
                        return Known(path)
        return None

    def _stars(self, key: str, index: int) -> list[ir.Import]:
        try:
            return [s for s in self.modules[key].body(index) if isinstance(s, ir.Import) and s.name == "*"]
        except (Unreadable, RecursionError):
            return []

    def module_attribute(self, frame: Frame, state: State, key: str, name: str) -> Any:
        """`module.name` of a module in the tree."""
        scope = self.scope_of(frame, state, key)
        value = state.read(scope, name)
        if value is None:
            value = self._bind(frame, state, key, name)
        if isinstance(value, Imported):
            value = self.imported(frame, state, value)
            state.write(scope, name, value)
        if value is None:
            folder = os.path.dirname(key) if os.path.basename(key).startswith("__init__.") else None
            found = self.imports.submodule(folder, name) if folder else None
            value = Module(found) if found is not None else frame.run.unknown(name)
            state.write(scope, name, value)
        return value

    def imported(self, frame: Frame, state: State, value: Imported) -> Any:
        """What an imported name stands for, looked up when it is first used."""
        if value in frame.run.importing:
            return frame.run.unknown(value.name)
        frame.run.importing.add(value)
        try:
            return self.module_attribute(frame, state, value.key, value.name)
        finally:
            frame.run.importing.discard(value)

    def set_module_attribute(self, frame: Frame, state: State, key: str, name: str, value: Any) -> None:
        """`module.name = value`."""
        state.write(self.scope_of(frame, state, key), name, value)

    def execute_import(self, frame: Frame, state: State, statement: ir.Import) -> None:
        """Bind what an import binds."""
        if statement.name == "*":
            return
        scope = frame.outer_names.get(statement.bound, frame.scopes[-1])
        target = self.imports.resolve(frame.module, statement.module, statement.level)
        if target is not None:
            self.run_switches(frame, state, target)
        if statement.name is not None:
            value = self._imported_name(frame, statement, target)
        elif target is not None:
            value = self._imported_module(frame, statement, target)
        else:
            whole = statement.bound != statement.module.split(".")[0] or "." not in statement.module
            value = Known(statement.module if whole else statement.bound)
        state.write(scope, statement.bound, value)

    def _imported_module(self, frame: Frame, statement: ir.Import, target: str) -> Any:
        first = statement.module.split(".")[0]
        if statement.bound == first and "." in statement.module:
            top = self.imports.resolve(frame.module, first, statement.level)
            return Module(top) if top is not None else Known(first)
        return Module(target)

    def _imported_name(self, frame: Frame, statement: ir.Import, target: str | None) -> Any:
        name = statement.name or ""
        if target is not None:
            return Imported(target, name)
        if statement.level:
            found = self.imports.submodule(self.imports.folder_of(frame.module, statement), name)
            return Module(found) if found is not None else frame.run.unknown(name)
        return Known(f"{statement.module}.{name}")

    def run_switches(self, frame: Frame, state: State, key: str) -> None:
        """Importing a module runs its top level: the switches of the grad mode that stand there take effect."""
        if key in frame.run.imported:
            return
        frame.run.imported.add(key)
        if not self.imports.may_switch(key):
            return
        lowered = self.module(key)
        for chunk in lowered.chunks if lowered is not None else ():
            text = lowered.text(chunk.index) if lowered is not None else ""
            if chunk.kind == "import":
                self.run_chunk(frame, state, key, chunk.index)
            elif chunk.kind == "other" and "set_grad_enabled" in text and "__main__" not in text:
                self.run_chunk(frame, state, key, chunk.index)
                mode = state.mode
                if mode.records is False and mode.guard is not None and mode.guard.form == "call":
                    frame.run.leaks.setdefault(mode.guard.site, (os.path.basename(key), mode.guard))


__all__ = ["Program", "Site"]
