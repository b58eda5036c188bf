"""Import statements."""

from __future__ import annotations

import os
from collections.abc import Iterator

from gradguard.ir import nodes as ir
from gradguard.lower.module import Unreadable
from gradguard.replay.outside import outside
from gradguard.replay.scopes import ABSENT, Deferred, Frame, ModuleScope, module_scope
from gradguard.replay.wild import unknown


def execute_import(frame: Frame, statement: ir.Import) -> None:
    """Bind what an import binds; modules of the tree are bound name by name when asked for."""
    if statement.name == "*":
        return
    program = frame.session.program
    target = program.imports.resolve(frame.module.key, statement.module, statement.level)
    if target is not None:
        run_switches(module_scope(frame.session, target))
    frame.bind(statement.bound, _imported(frame, statement, target))


def _imported(frame: Frame, statement: ir.Import, target: str | None) -> object:
    session, name = frame.session, statement.name
    if name is None:
        if target is None:
            whole = statement.bound != statement.module.split(".")[0] or "." not in statement.module
            return outside(session, statement.module if whole else statement.bound)
        first = statement.module.split(".")[0]
        if statement.bound == first and "." in statement.module:
            top = session.program.imports.resolve(frame.module.key, first, statement.level)
            return module_scope(session, top) if top is not None else unknown(session, first)
        return module_scope(session, target)
    if target is None:
        if not statement.level:
            return outside(session, f"{statement.module}.{name}")
        imports = session.program.imports
        found = imports.submodule(imports.folder_of(frame.module.key, statement), name)
        return unknown(session, name) if found is None else module_scope(session, found)
    return Deferred(module_scope(session, target), name)


def module_attribute(scope: ModuleScope, name: str) -> object:
    """`module.name` of a module in the tree, a submodule included; ABSENT where there is none."""
    value = scope.find(name)
    if value is ABSENT and os.path.basename(scope.key).startswith("__init__."):
        found = scope.session.program.imports.submodule(os.path.dirname(scope.key), name)
        if found is not None:
            return module_scope(scope.session, found)
    return value


def star_imports(scope: ModuleScope) -> Iterator[tuple[ir.Import, str | None]]:
    """The star imports of a module, each with the path it leads to in the tree."""
    program = scope.session.program
    lowered = program.module(scope.key)
    for chunk in lowered.chunks if lowered is not None else ():
        if chunk.kind == "import" and "*" in chunk.binds:
            for statement in _imports(scope, chunk.index):
                if statement.name == "*":
                    yield statement, program.imports.resolve(scope.key, statement.module, statement.level)


def _imports(scope: ModuleScope, index: int) -> list[ir.Import]:
    try:
        body = scope.session.program.modules[scope.key].body(index)
    except (Unreadable, RecursionError):
        return []
    return [statement for statement in body if isinstance(statement, ir.Import)]


def run_switches(scope: ModuleScope) -> None:
    """Importing a module runs its top level: what switches the grad mode there takes effect."""
    program = scope.session.program
    if "<switches>" in scope.values or scope.running or not program.imports.may_switch(scope.key):
        return
    scope.values["<switches>"] = True
    lowered = program.module(scope.key)
    for chunk in lowered.chunks if lowered is not None else ():
        text = lowered.text(chunk.index) if lowered is not None else ""
        switches = chunk.kind == "other" and "set_grad_enabled" in text and "__main__" not in text
        if (switches or chunk.kind == "import") and chunk.index not in scope.ran:
            scope.run_chunk(chunk.index)
