"""Statements without a block of their own."""

from __future__ import annotations

import libcst as cst

from gradguard.ir.nodes import (
    Assert,
    Assign,
    Break,
    Continue,
    Declare,
    Delete,
    Evaluate,
    Expr,
    Import,
    Raise,
    Return,
    Stmt,
    Update,
)
from gradguard.lower.context import Context, StatementTable
from gradguard.lower.python.literals import spelled
from gradguard.lower.python.operators import ARITHMETIC

_UPDATES = {getattr(cst, f"{operator.__name__}Assign"): text for operator, text in ARITHMETIC.items()}


def _lower_row(node: cst.SimpleStatementLine, context: Context) -> tuple[Stmt, ...]:
    if len(node.body) == 1:
        return context.statement(node.body[0])
    return tuple([made for statement in node.body for made in context.statement(statement)])


def _lower_expression_statement(node: cst.Expr, context: Context) -> tuple[Stmt, ...]:
    if isinstance(node.value, cst.Ellipsis):
        return ()
    return (Evaluate(context.expression(node.value), context.number(node)),)


def _lower_assign(node: cst.Assign, context: Context) -> tuple[Stmt, ...]:
    value = context.expression(node.value)
    targets = tuple([context.expression(target.target) for target in node.targets])
    return (Assign(targets, value, context.number(node)),)


def _lower_annotated(node: cst.AnnAssign, context: Context) -> tuple[Stmt, ...]:
    if node.value is None:
        return ()
    value = context.expression(node.value)
    return (Assign((context.expression(node.target),), value, context.number(node)),)


def _lower_update(node: cst.AugAssign, context: Context) -> tuple[Stmt, ...]:
    target = context.expression(node.target)
    value = context.expression(node.value)
    return (Update(target, _UPDATES[type(node.operator)], value, context.number(node)),)


def _lower_return(node: cst.Return, context: Context) -> tuple[Stmt, ...]:
    return (Return(context.optional(node.value), context.number(node)),)


def _lower_raise(node: cst.Raise, context: Context) -> tuple[Stmt, ...]:
    return (Raise(context.optional(node.exc), context.number(node)),)


def _lower_break(node: cst.Break, context: Context) -> tuple[Stmt, ...]:
    return (Break(context.number(node)),)


def _lower_continue(node: cst.Continue, context: Context) -> tuple[Stmt, ...]:
    return (Continue(context.number(node)),)


def _lower_assert(node: cst.Assert, context: Context) -> tuple[Stmt, ...]:
    return (Assert(context.expression(node.test), context.number(node)),)


def _lower_delete(node: cst.Del, context: Context) -> tuple[Stmt, ...]:
    return (Delete(tuple(_deleted(node.target, context)), context.number(node)),)


def _deleted(target: cst.BaseExpression, context: Context) -> list[Expr]:
    if isinstance(target, cst.Tuple | cst.List):
        return [made for element in target.elements for made in _deleted(element.value, context)]
    return [context.expression(target)]


def _lower_declaration(node: cst.Global | cst.Nonlocal, context: Context) -> tuple[Stmt, ...]:
    kind = "global" if isinstance(node, cst.Global) else "nonlocal"
    return (Declare(kind, tuple(spelled(item.name.value) for item in node.names), context.number(node)),)


def _lower_import(node: cst.Import, context: Context) -> tuple[Stmt, ...]:
    made = []
    for alias in node.names:
        module = _dotted(alias.name)
        bound = _alias(alias) or module.partition(".")[0]
        made.append(Import(module, None, bound, 0, context.number(alias)))
    return tuple(made)


def _lower_import_from(node: cst.ImportFrom, context: Context) -> tuple[Stmt, ...]:
    module = "" if node.module is None else _dotted(node.module)
    level = len(node.relative)
    if isinstance(node.names, cst.ImportStar):
        return (Import(module, "*", "*", level, context.number(node)),)
    made = []
    for alias in node.names:
        name = _dotted(alias.name)
        made.append(Import(module, name, _alias(alias) or name, level, context.number(alias)))
    return tuple(made)


def _dotted(node: cst.BaseExpression) -> str:
    parts = []
    while isinstance(node, cst.Attribute):
        parts.append(spelled(node.attr.value))
        node = node.value
    if isinstance(node, cst.Name):
        parts.append(spelled(node.value))
    return ".".join(reversed(parts))


def _alias(alias: cst.ImportAlias) -> str | None:
    if alias.asname is None or not isinstance(alias.asname.name, cst.Name):
        return None
    return spelled(alias.asname.name.value)


STATEMENTS: StatementTable = {
    cst.SimpleStatementLine: _lower_row,
    cst.Expr: _lower_expression_statement,
    cst.Assign: _lower_assign,
    cst.AnnAssign: _lower_annotated,
    cst.AugAssign: _lower_update,
    cst.Return: _lower_return,
    cst.Raise: _lower_raise,
    cst.Break: _lower_break,
    cst.Continue: _lower_continue,
    cst.Assert: _lower_assert,
    cst.Del: _lower_delete,
    cst.Global: _lower_declaration,
    cst.Nonlocal: _lower_declaration,
    cst.Import: _lower_import,
    cst.ImportFrom: _lower_import_from,
}
