"""Attributes, subscripts, calls, and what hands a value over: walrus, await, yield."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from gradguard.ir.nodes import (
    Arg,
    Attr,
    Await,
    Call,
    Const,
    Expr,
    Item,
    Opaque,
    Sequence,
    Slice,
    Star,
    Walrus,
    Yield,
)
from gradguard.lower.context import Context, ExpressionTable
from gradguard.lower.python.literals import spelled


def _lower_attribute(node: cst.Attribute, context: Context) -> Expr:
    base = context.expression(node.value)
    return Attr(base, spelled(node.attr.value), context.number(node))


def _lower_call(node: cst.Call, context: Context) -> Expr:
    function = context.expression(node.func)
    return Call(function, arguments(node.args, context), context.number(node))


def arguments(args: Iterable[cst.Arg], context: Context) -> tuple[Arg, ...]:
    """The arguments of a call, or the bases of a class."""
    return tuple(
        [
            Arg(
                context.expression(arg.value),
                None if arg.keyword is None else spelled(arg.keyword.value),
                arg.star,
            )
            for arg in args
        ]
    )


def _lower_subscript(node: cst.Subscript, context: Context) -> Expr:
    base = context.expression(node.value)
    elements = node.slice
    parts = tuple([_index(element, context) for element in elements])
    is_tuple = len(parts) > 1 or isinstance(elements[0].comma, cst.Comma) or isinstance(parts[0], Star)
    index = Sequence("tuple", parts, context.number((elements[0], elements[-1]))) if is_tuple else parts[0]
    return Item(base, index, context.number(node))


def _index(element: cst.SubscriptElement, context: Context) -> Expr:
    match element.slice:
        case cst.Index(value=value, star=star):
            index = context.expression(value)
            return Star(index, context.number(element.slice)) if star else index
        case cst.Slice(lower=lower, upper=upper, step=step):
            at = context.number(element.slice)
            # A missing bound is None at run time too.
            bounds = [Const(None, at) if b is None else context.expression(b) for b in (lower, upper, step)]
            return Slice(tuple(bounds), at)
        case unknown:
            return Opaque((), context.number(unknown))


def _lower_walrus(node: cst.NamedExpr, context: Context) -> Expr:
    value = context.expression(node.value)
    name = node.target.value if isinstance(node.target, cst.Name) else ""
    return Walrus(spelled(name), value, context.number(node))


def _lower_await(node: cst.Await, context: Context) -> Expr:
    return Await(context.expression(node.expression), context.number(node))


def _lower_yield(node: cst.Yield, context: Context) -> Expr:
    context.yields = True
    if isinstance(node.value, cst.From):
        return Yield(context.expression(node.value.item), True, context.number(node))
    return Yield(context.optional(node.value), False, context.number(node))


EXPRESSIONS: ExpressionTable = {
    cst.Attribute: _lower_attribute,
    cst.Call: _lower_call,
    cst.Subscript: _lower_subscript,
    cst.NamedExpr: _lower_walrus,
    cst.Await: _lower_await,
    cst.Yield: _lower_yield,
}
