"""Branches, loops, with statements and exception handling."""

from __future__ import annotations

import libcst as cst

from gradguard.ir.nodes import Body, Entry, Expr, For, Handler, If, Stmt, Try, While, With
from gradguard.lower.context import Context, StatementTable
from gradguard.lower.python.literals import spelled


def _lower_if(node: cst.If, context: Context) -> tuple[Stmt, ...]:
    arms: list[tuple[Expr, Body, int]] = []
    branch: cst.If | cst.Else | None = node
    while isinstance(branch, cst.If):
        at = context.number(branch)
        arms.append((context.expression(branch.test), context.body(branch.body.body), at))
        branch = branch.orelse
    other = _else(branch, context)
    for test, then, at in reversed(arms):
        other = (If(test, then, other, at),)
    return other


def _lower_while(node: cst.While, context: Context) -> tuple[Stmt, ...]:
    at = context.number(node)
    test = context.expression(node.test)
    return (While(test, context.body(node.body.body), _else(node.orelse, context), at),)


def _lower_for(node: cst.For, context: Context) -> tuple[Stmt, ...]:
    at = context.number(node)
    iterable = context.expression(node.iter)
    target = context.expression(node.target)
    body = context.body(node.body.body)
    orelse = _else(node.orelse, context)
    return (For(target, iterable, body, orelse, node.asynchronous is not None, at),)


def _lower_with(node: cst.With, context: Context) -> tuple[Stmt, ...]:
    at = context.number(node)
    entries = []
    for item in node.items:
        value = context.expression(item.item)
        target = context.optional(item.asname.name if item.asname else None)
        entries.append(Entry(value, target, context.number(item.item)))
    return (With(tuple(entries), context.body(node.body.body), node.asynchronous is not None, at),)


def _lower_try(node: cst.Try | cst.TryStar, context: Context) -> tuple[Stmt, ...]:
    at = context.number(node)
    body = context.body(node.body.body)
    handlers = tuple([_handler(handler, context) for handler in node.handlers])
    orelse = _else(node.orelse, context)
    final = context.body(node.finalbody.body.body) if node.finalbody else ()
    return (Try(body, handlers, orelse, final, at),)


def _handler(node: cst.ExceptHandler | cst.ExceptStarHandler, context: Context) -> Handler:
    at = context.number(node)
    kind = context.optional(node.type)
    name = spelled(node.name.name.value) if node.name and isinstance(node.name.name, cst.Name) else None
    return Handler(kind, name, context.body(node.body.body), at)


def _else(node: cst.Else | None, context: Context) -> Body:
    return () if node is None else context.body(node.body.body)


STATEMENTS: StatementTable = {
    cst.If: _lower_if,
    cst.While: _lower_while,
    cst.For: _lower_for,
    cst.With: _lower_with,
    cst.Try: _lower_try,
    cst.TryStar: _lower_try,
}
