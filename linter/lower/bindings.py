"""The names that a top-level statement binds, read off the `ast` tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def bound_names(statement: ast.stmt, walrus: bool) -> Iterator[str]:
    """The names `statement` binds in its own scope; expressions are searched only when `walrus` is set."""
    pending = [statement]
    while pending:
        inner = pending.pop()
        yield from _statement_names(inner)
        pending.extend(child for block in _blocks(inner) for child in block)
    if walrus:
        yield from _walrus_names(statement)


def _statement_names(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            for target in targets:
                yield from _target_names(target)
        case ast.AnnAssign(value=None):
            pass
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield from _target_names(target)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from _target_names(target)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                if item.optional_vars is not None:
                    yield from _target_names(item.optional_vars)
        case ast.Import(names=names):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in names)
        case ast.ImportFrom(names=names):
            yield from (alias.asname or alias.name for alias in names)
        case ast.Match(cases=cases):
            for arm in cases:
                yield from _pattern_names(arm.pattern)
        case _:
            yield from _newer_names(statement)


def _newer_names(statement: ast.stmt) -> Iterator[str]:
    if type(statement).__name__ == "TypeAlias":
        yield from _target_names(statement.name)  # type: ignore[attr-defined, unused-ignore]
    for handler in getattr(statement, "handlers", ()):
        if handler.name:
            yield handler.name


def _target_names(target: ast.expr) -> Iterator[str]:
    match target:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=items) | ast.List(elts=items):
            for item in items:
                yield from _target_names(item)
        case ast.Starred(value=value):
            yield from _target_names(value)


def _pattern_names(pattern: ast.pattern) -> Iterator[str]:
    for node in ast.walk(pattern):
        match node:
            case (
                ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name))
            ):
                yield name


def _blocks(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(statement, _SCOPES):
        return
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if isinstance(block, list):
            yield block
    for arm in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield arm.body


def _walrus_names(statement: ast.stmt) -> Iterator[str]:
    pending: list[ast.AST] = [statement]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.NamedExpr):
            yield node.target.id
        if not isinstance(node, _SCOPES):
            pending.extend(ast.iter_child_nodes(node))
