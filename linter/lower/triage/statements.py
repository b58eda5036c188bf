"""Statements, with and without a block."""

from __future__ import annotations

import ast

from gradguard.ir.nodes import (
    Assert,
    Assign,
    Body,
    Break,
    Continue,
    Declare,
    Delete,
    Entry,
    Evaluate,
    Expr,
    For,
    Handler,
    If,
    Import,
    Raise,
    Return,
    Stmt,
    Try,
    Update,
    While,
    With,
)
from gradguard.lower.context import Context, StatementTable
from gradguard.lower.triage.expressions import ARITHMETIC


def _lower_expression_statement(node: ast.Expr, context: Context) -> tuple[Stmt, ...]:
    if isinstance(node.value, ast.Constant) and node.value.value is ...:
        return ()
    return (Evaluate(context.expression(node.value), context.number()),)


def _lower_assign(node: ast.Assign, context: Context) -> tuple[Stmt, ...]:
    value = context.expression(node.value)
    targets = tuple([context.expression(target) for target in node.targets])
    return (Assign(targets, value, context.number()),)


def _lower_annotated(node: ast.AnnAssign, context: Context) -> tuple[Stmt, ...]:
    if node.value is None:
        return ()
    value = context.expression(node.value)
    return (Assign((context.expression(node.target),), value, context.number()),)


def _lower_update(node: ast.AugAssign, context: Context) -> tuple[Stmt, ...]:
    target = context.expression(node.target)
    value = context.expression(node.value)
    return (Update(target, ARITHMETIC[type(node.op)], value, context.number()),)


def _lower_return(node: ast.Return, context: Context) -> tuple[Stmt, ...]:
    return (Return(context.optional(node.value), context.number()),)


def _lower_raise(node: ast.Raise, context: Context) -> tuple[Stmt, ...]:
    return (Raise(context.optional(node.exc), context.number()),)


def _lower_break(node: ast.Break, context: Context) -> tuple[Stmt, ...]:
    return (Break(context.number()),)


def _lower_continue(node: ast.Continue, context: Context) -> tuple[Stmt, ...]:
    return (Continue(context.number()),)


def _lower_assert(node: ast.Assert, context: Context) -> tuple[Stmt, ...]:
    return (Assert(context.expression(node.test), context.number()),)


def _lower_delete(node: ast.Delete, context: Context) -> tuple[Stmt, ...]:
    targets = [made for target in node.targets for made in _deleted(target, context)]
    return (Delete(tuple(targets), context.number()),)


def _deleted(target: ast.expr, context: Context) -> list[Expr]:
    if isinstance(target, ast.Tuple | ast.List):
        return [made for element in target.elts for made in _deleted(element, context)]
    return [context.expression(target)]


def _lower_declaration(node: ast.Global | ast.Nonlocal, context: Context) -> tuple[Stmt, ...]:
    kind = "global" if isinstance(node, ast.Global) else "nonlocal"
    return (Declare(kind, tuple(node.names), context.number()),)


def _lower_import(node: ast.Import, context: Context) -> tuple[Stmt, ...]:
    return tuple(
        [
            Import(alias.name, None, alias.asname or alias.name.partition(".")[0], 0, context.number())
            for alias in node.names
        ]
    )


def _lower_import_from(node: ast.ImportFrom, context: Context) -> tuple[Stmt, ...]:
    return tuple(
        [
            Import(node.module or "", alias.name, alias.asname or alias.name, node.level, context.number())
            for alias in node.names
        ]
    )


def _lower_if(node: ast.If, context: Context) -> tuple[Stmt, ...]:
    arms: list[tuple[Expr, Body, int]] = []
    rest: list[ast.stmt] = [node]
    while len(rest) == 1 and isinstance(branch := rest[0], ast.If):
        at = context.number()
        arms.append((context.expression(branch.test), context.body(branch.body), at))
        rest = branch.orelse
    other = context.body(rest)
    for test, then, at in reversed(arms):
        other = (If(test, then, other, at),)
    return other


def _lower_while(node: ast.While, context: Context) -> tuple[Stmt, ...]:
    at = context.number()
    test = context.expression(node.test)
    return (While(test, context.body(node.body), context.body(node.orelse), at),)


def _lower_for(node: ast.For | ast.AsyncFor, context: Context) -> tuple[Stmt, ...]:
    at = context.number()
    iterable = context.expression(node.iter)
    target = context.expression(node.target)
    body = context.body(node.body)
    orelse = context.body(node.orelse)
    return (For(target, iterable, body, orelse, isinstance(node, ast.AsyncFor), at),)


def _lower_with(node: ast.With | ast.AsyncWith, context: Context) -> tuple[Stmt, ...]:
    at = context.number()
    entries = []
    for item in node.items:
        value = context.expression(item.context_expr)
        target = context.optional(item.optional_vars)
        entries.append(Entry(value, target, context.number()))
    return (With(tuple(entries), context.body(node.body), isinstance(node, ast.AsyncWith), at),)


def _lower_try(node: ast.Try, context: Context) -> tuple[Stmt, ...]:
    at = context.number()
    body = context.body(node.body)
    handlers = tuple([_handler(handler, context) for handler in node.handlers])
    orelse = context.body(node.orelse)
    return (Try(body, handlers, orelse, context.body(node.finalbody), at),)


def _handler(node: ast.ExceptHandler, context: Context) -> Handler:
    at = context.number()
    kind = context.optional(node.type)
    return Handler(kind, node.name, context.body(node.body), at)


STATEMENTS: StatementTable = {
    ast.Expr: _lower_expression_statement,
    ast.Assign: _lower_assign,
    ast.AnnAssign: _lower_annotated,
    ast.AugAssign: _lower_update,
    ast.Return: _lower_return,
    ast.Raise: _lower_raise,
    ast.Break: _lower_break,
    ast.Continue: _lower_continue,
    ast.Assert: _lower_assert,
    ast.Delete: _lower_delete,
    ast.Global: _lower_declaration,
    ast.Nonlocal: _lower_declaration,
    ast.Import: _lower_import,
    ast.ImportFrom: _lower_import_from,
    ast.If: _lower_if,
    ast.While: _lower_while,
    ast.For: _lower_for,
    ast.AsyncFor: _lower_for,
    ast.With: _lower_with,
    ast.AsyncWith: _lower_with,
    ast.Try: _lower_try,
    **({ast.TryStar: _lower_try} if hasattr(ast, "TryStar") else {}),
}
