"""The modules of a program, bound name by name as they are asked for."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from gradguard.infer.frames import Frame
from gradguard.infer.modes import ON
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import Known, Literal, Module
from gradguard.ir import nodes as ir
from gradguard.lower.module import Module as Lowered
from gradguard.lower.module import Unreadable

Opener = Callable[[str], "Lowered | None"]
_ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_CLIMB = 6


@dataclass(slots=True)
class Program:
    """Modules by key (the file's path). `open_path` gives the lowered module of a path, None where there is none."""

    open_path: Opener
    modules: dict[str, Lowered] = field(default_factory=dict)
    chunk_of: dict[str, dict[str, int]] = field(default_factory=dict)
    found: dict[tuple[str, str, int], str | None] = field(default_factory=dict)
    rebinding: frozenset[str] = frozenset()
    rebinding_modules: dict[str, bool] = field(default_factory=dict)

    def add(self, key: str, lowered: Lowered) -> None:
        self.modules[key] = lowered
        names: dict[str, int] = {}
        for chunk in lowered.chunks:
            for name in chunk.binds:
                names[name] = chunk.index
        self.chunk_of[key] = names

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
        scope = self.scope_of(frame, state, key)
        return Frame(frame.run, key, (scope,), "<module>", ON, calls=frame.calls, functions=frame.functions)

    def bind_late(self, frame: Frame, state: State, name: str) -> Any:
        """Bind a global by running the top-level piece that defines it; its value, None where there is none."""
        key = frame.module
        return self._bind(frame, state, key, name)

    def _bind(self, frame: Frame, state: State, key: str, name: str) -> Any:
        index = self.chunk_of.get(key, {}).get(name)
        if index is None:
            return self._from_star(frame, state, key, name)
        scope = self.scope_of(frame, state, key)
        running = (scope, index)
        if running in frame.run.binding:
            return None
        frame.run.binding.add(running)
        mode = state.mode
        state.mode = ON
        try:
            self.run_chunk(frame, state, key, index)
        finally:
            frame.run.binding.discard(running)
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
        for chunk in self.modules[key].chunks if key in self.modules else ():
            if chunk.kind != "import" or "*" not in chunk.binds:
                continue
            for statement in self._imports(key, chunk.index):
                if statement.name != "*":
                    continue
                target = self.resolve_import(key, statement.module, statement.level)
                if target is not None and name in self.chunk_of.get(target, {}):
                    return self.module_attribute(frame, state, target, name)
                if target is None and statement.module.split(".")[0] in frame.run.facts.packages:
                    path = f"{statement.module}.{name}"
                    if path in frame.run.facts.guards or name[:1].isupper():
                        return Known(path)
        return None

    def _imports(self, key: str, index: int) -> list[ir.Import]:
        try:
            return [s for s in self.modules[key].body(index) if isinstance(s, ir.Import)]
        except (Unreadable, RecursionError):
            return []

    def module_attribute(self, frame: Frame, state: State, key: str, name: str) -> Any:
        """`module.name` of a module in the tree."""
        scope = self.scope_of(frame, state, key)
        value = state.read(scope, name)
        if value is None:
            value = self._bind(frame, state, key, name)
        if value is None:
            folder = os.path.dirname(key) if os.path.basename(key).startswith("__init__.") else None
            found = self._submodule(folder, name) if folder else None
            value = Module(found) if found is not None else frame.run.unknown(name)
            state.write(scope, name, value)
        return value

    def set_module_attribute(self, frame: Frame, state: State, key: str, name: str, value: Any) -> None:
        state.write(self.scope_of(frame, state, key), name, value)

    def _submodule(self, folder: str, name: str) -> str | None:
        for candidate in (os.path.join(folder, f"{name}.py"), os.path.join(folder, name, "__init__.py")):
            if self._load(candidate):
                return candidate
        return None

    def _load(self, path: str) -> bool:
        if path in self.modules:
            return True
        lowered = self.open_path(path)
        if lowered is None:
            return False
        self.add(path, lowered)
        return True

    def resolve_import(self, key: str, module: str, level: int) -> str | None:
        """The path of an imported module inside the tree, None where it lies outside."""
        cached = self.found.get((os.path.dirname(key), module, level), "")
        if cached != "":
            return cached
        folder = os.path.dirname(key)
        result: str | None = None
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            result = self._in_folder(folder, module)
        elif os.path.isabs(key):
            for _ in range(_CLIMB):
                result = self._in_folder(folder, module)
                if result is not None or any(
                    os.path.exists(os.path.join(folder, mark)) for mark in _ROOT_MARKS
                ):
                    break
                parent = os.path.dirname(folder)
                if parent == folder:
                    break
                folder = parent
            if result is None and os.path.isdir(os.path.join(folder, "src")):
                result = self._in_folder(os.path.join(folder, "src"), module)
        if result == key:
            result = None
        self.found[os.path.dirname(key), module, level] = result
        return result

    def _in_folder(self, folder: str, module: str) -> str | None:
        base = os.path.join(folder, *module.split(".")) if module else folder
        for candidate in (os.path.join(base, "__init__.py"), f"{base}.py"):
            if (module or candidate.endswith("__init__.py")) and self._load(candidate):
                return candidate
        return None

    def execute_import(self, frame: Frame, state: State, statement: ir.Import) -> None:
        """Bind what an import binds."""
        scope = frame.outer_names.get(statement.bound, frame.scopes[-1])
        if statement.name == "*":
            return
        target = self.resolve_import(frame.module, statement.module, statement.level)
        if target is not None:
            self.run_switches(frame, state, target)
        if statement.name is not None:
            value = self._imported_name(frame, state, statement, target)
        elif target is not None:
            value = self._imported_module(frame, state, statement, target)
        else:
            whole = statement.bound != statement.module.split(".")[0] or "." not in statement.module
            value = Known(statement.module if whole else statement.bound)
        state.write(scope, statement.bound, value)

    def _imported_module(self, frame: Frame, state: State, statement: ir.Import, target: str) -> Any:
        first = statement.module.split(".")[0]
        if statement.bound == first and "." in statement.module:
            top = self.resolve_import(frame.module, first, statement.level)
            return Module(top) if top is not None else Known(first)
        return Module(target)

    def _imported_name(self, frame: Frame, state: State, statement: ir.Import, target: str | None) -> Any:
        name = statement.name or ""
        if target is None and statement.level:
            folder = os.path.dirname(frame.module)
            for _ in range(statement.level - 1):
                folder = os.path.dirname(folder)
            if statement.module:
                folder = os.path.join(folder, *statement.module.split("."))
            found = self._submodule(folder, name)
            if found is not None:
                return Module(found)
            return frame.run.unknown(name)
        if target is None:
            return Known(f"{statement.module}.{name}")
        return self.module_attribute(frame, state, target, name)

    def run_switches(self, frame: Frame, state: State, key: str) -> None:
        """Importing a module runs its top level: the switches of the grad mode that stand there take effect."""
        if key in frame.run.imported:
            return
        frame.run.imported.add(key)
        lowered = self.modules[key]
        for chunk in lowered.chunks:
            text = lowered.text(chunk.index)
            if chunk.kind == "other" and "set_grad_enabled" in text:
                if "__name__" in text and "__main__" in text:
                    continue
                self.run_chunk(frame, state, key, chunk.index)
                mode = state.mode
                if mode.records is False and mode.guard is not None and mode.guard.form == "call":
                    frame.run.leaks.setdefault(mode.guard.site, (os.path.basename(key), mode.guard))
            elif chunk.kind == "import" and self._may_switch(key, chunk.index):
                self.run_chunk(frame, state, key, chunk.index)

    def _may_switch(self, key: str, index: int) -> bool:
        """Whether an import of this module leads to a file with a switch at its top level (one step)."""
        for statement in self._imports(key, index):
            target = self.resolve_import(key, statement.module, statement.level)
            if target is not None and "set_grad_enabled" in self.modules[target].source.text:
                return True
        return False


__all__ = ["Program", "Site"]
