"""Cutting a file with libcst, for a text newer than the running Python."""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass

import libcst as cst

from gradguard.ir.nodes import (
    Assign,
    Body,
    Case,
    ClassDef,
    Entry,
    Expr,
    For,
    FunctionDef,
    Handler,
    Import,
    Lambda,
    Name,
    Sequence,
    Star,
    Stmt,
    Update,
    Walrus,
)
from gradguard.lower.python.parsing import collection_paused, parse_tree
from gradguard.lower.python.visitor import Lowering


@dataclass(frozen=True, slots=True)
class Stretch:
    """A top-level row or compound statement: its rows, its kind and the names it binds."""

    first_row: int
    last_row: int
    kind: str
    binds: tuple[str, ...]


def stretches(text: str) -> list[Stretch]:
    """The top-level pieces of a text; raises `Unreadable`."""
    with collection_paused():
        tree = parse_tree(text, 0)
        row = 1 + len(tree.header)
        found = []
        for statement in tree.body:
            rows = tree.code_for_node(statement).count("\n")
            leading = len(statement.leading_lines)
            body = _lowered(statement)
            names = tuple(dict.fromkeys([*_type_aliases(statement), *_bound(body)]))
            found.append(Stretch(row + leading, row + max(rows, 1) - 1, _kind(statement, body), names))
            row += rows
    return found


def _lowered(statement: cst.BaseStatement | cst.SimpleStatementLine) -> Body:
    lowering = Lowering(0)
    statement.visit(lowering)
    return lowering.body


def _kind(statement: cst.CSTNode, body: Body) -> str:
    if body and all(isinstance(made, Import) for made in body):
        return "import"
    if isinstance(statement, cst.FunctionDef):
        return "function"
    return "class" if isinstance(statement, cst.ClassDef) else "other"


def _type_aliases(statement: cst.CSTNode) -> list[str]:
    if not isinstance(statement, cst.SimpleStatementLine):
        return []
    return [part.name.value for part in statement.body if isinstance(part, cst.TypeAlias)]


def _bound(node: object) -> list[str]:
    """Names bound anywhere below `node`, but not inside functions and classes."""
    match node:
        case tuple():
            return [name for inner in node for name in _bound(inner)]
        case FunctionDef(function=function):
            return [function.name]
        case ClassDef(name=name):
            return [name]
        case Lambda():
            return []
        case _ if is_dataclass(node):
            inner = [getattr(node, field.name) for field in fields(node)]
            return [*_own(node), *(name for value in inner for name in _bound(value))]
        case _:
            return []


def _own(node: object) -> list[str]:
    match node:
        case Assign(targets=targets):
            return [name for target in targets for name in _target(target)]
        case Update(target=target) | For(target=target):
            return _target(target)
        case Entry(target=target) if target is not None:
            return _target(target)
        case Import(bound=name) | Walrus(target=name):
            return [name]
        case Handler(name=str(name)):
            return [name]
        case Case(captures=captures):
            return list(captures)
        case _:
            return []


def _target(target: Expr | Stmt) -> list[str]:
    match target:
        case Name(id=name):
            return [name]
        case Sequence(items=items):
            return [name for item in items for name in _target(item)]
        case Star(value=value):
            return _target(value)
        case _:
            return []
