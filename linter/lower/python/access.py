"""Attributes, subscripts, calls, and what hands a value over: walrus, await, yield."""

from __future__ import annotations

import libcst as cst

from gradguard.ir.nodes import Arg, Attr, Await, Call, Const, Expr, Item, Sequence, Slice, Star, Walrus, Yield
from gradguard.lower.python.context import Context, ExpressionTable
from gradguard.lower.python.literals import spelled


def lower_attribute(node: cst.Attribute, context: Context) -> Expr:
    base = context.expression(node.value)
    return Attr(base, spelled(node.attr.value), context.number(node))


def lower_call(node: cst.Call, context: Context) -> Expr:
    function = context.expression(node.func)
    return Call(function, arguments(node.args, context), context.number(node))


def arguments(args: tuple[cst.Arg, ...] | list[cst.Arg], context: Context) -> tuple[Arg, ...]:
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


def lower_subscript(node: cst.Subscript, context: Context) -> Expr:
    base = context.expression(node.value)
    elements = node.slice
    parts = tuple([_index(element, context) for element in elements])
    is_tuple = len(parts) > 1 or isinstance(elements[0].comma, cst.Comma) or isinstance(parts[0], Star)
    index = Sequence("tuple", parts, context.number((elements[0], elements[-1]))) if is_tuple else parts[0]
    return Item(base, index, context.number(node))


def _index(element: cst.SubscriptElement, context: Context) -> Expr:
    if isinstance(element.slice, cst.Index):
        value = context.expression(element.slice.value)
        return Star(value, context.number(element.slice)) if element.slice.star else value
    at = context.number(element.slice)
    bounds = (element.slice.lower, element.slice.upper, element.slice.step)
    # A missing bound is None at run time too.
    return Slice(tuple([Const(None, at) if b is None else context.expression(b) for b in bounds]), at)


def lower_walrus(node: cst.NamedExpr, context: Context) -> Expr:
    value = context.expression(node.value)
    name = node.target.value if isinstance(node.target, cst.Name) else ""
    return Walrus(spelled(name), value, context.number(node))


def lower_await(node: cst.Await, context: Context) -> Expr:
    return Await(context.expression(node.expression), context.number(node))


def lower_yield(node: cst.Yield, context: Context) -> Expr:
    context.yields = True
    if isinstance(node.value, cst.From):
        return Yield(context.expression(node.value.item), True, context.number(node))
    return Yield(context.optional(node.value), False, context.number(node))


EXPRESSIONS: ExpressionTable = {
    cst.Attribute: lower_attribute,
    cst.Call: lower_call,
    cst.Subscript: lower_subscript,
    cst.NamedExpr: lower_walrus,
    cst.Await: lower_await,
    cst.Yield: lower_yield,
}
