"""Statements that call a function of the same file."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from planting.sites import Lines, lines_of, own_nodes


@dataclass(frozen=True, slots=True)
class Caller:
    lines: Lines


def callers_of(tree: ast.Module, function: ast.FunctionDef, owner: ast.ClassDef | None) -> tuple[Caller, ...]:
    """Plain statements that call `function` by its name, or as a method of `self` in its own class.

    None where the name is bound more than once, or the function is a generator.
    """
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function)):
        return ()
    within: ast.AST = owner if owner is not None else tree
    definitions = [n for n in ast.walk(within) if isinstance(n, ast.FunctionDef) and n.name == function.name]
    if len(definitions) != 1 or function.decorator_list:
        return ()
    found = [
        Caller(lines_of(statement))
        for statement in ast.walk(within)
        if isinstance(statement, ast.Assign | ast.Expr | ast.AugAssign)
        and not function.lineno <= statement.lineno <= (function.end_lineno or function.lineno)
        and any(_is_call_of(node, function.name, owner) for node in _run_here(statement))
        and not any(isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in own_nodes(statement))
    ]
    return tuple(sorted(found, key=lambda caller: caller.lines.first))


def _run_here(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes that a statement certainly evaluates."""
    yield statement
    for child in ast.iter_child_nodes(statement):
        if isinstance(child, ast.Call | ast.BinOp | ast.Tuple | ast.Starred | ast.Attribute):
            yield from _run_here(child)  # type: ignore[arg-type]


def _is_call_of(node: ast.AST, name: str, owner: ast.ClassDef | None) -> bool:
    match node:
        case ast.Call(func=ast.Name(id=called)):
            return owner is None and called == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=called)):
            return owner is not None and called == name
        case _:
            return False
