"""Names, literals, attributes, calls, subscripts and operators."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import EllipsisType

from gradguard.ir.nodes import (
    Arg,
    Attr,
    Await,
    Call,
    Choice,
    Compare,
    Const,
    Expr,
    Item,
    Logic,
    Name,
    Op,
    Opaque,
    Slice,
    Walrus,
    Yield,
)
from gradguard.lower.context import Context, ExpressionTable
from gradguard.lower.depth import LONGEST_CHAIN

ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert"}
_COMPARISON: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is-not",
    ast.In: "in",
    ast.NotIn: "not-in",
}


def _lower_name(node: ast.Name, context: Context) -> Expr:
    return Name(node.id, context.number())


def _lower_constant(node: ast.Constant, context: Context) -> Expr:
    value = node.value
    return Opaque((), context.number()) if isinstance(value, EllipsisType) else Const(value, context.number())


def _lower_formatted(node: ast.JoinedStr, context: Context) -> Expr:
    at = context.number()
    return Opaque(tuple([context.expression(inner) for inner in _formatted(node)]), at)


def _formatted(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions between the braces of a formatted string, those of nested formats included."""
    for part in getattr(node, "values", ()):
        value = getattr(part, "value", None)
        if isinstance(value, ast.expr):
            yield value
            yield from _formatted(getattr(part, "format_spec", None) or part)


def _lower_attribute(node: ast.Attribute, context: Context) -> Expr:
    base = context.expression(node.value)
    return Attr(base, node.attr, context.number())


def _lower_call(node: ast.Call, context: Context) -> Expr:
    function = context.expression(node.func)
    given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    if node.keywords and node.args and _start(node.args[-1]) > _start(node.keywords[0]):
        given.sort(key=_start)
    return Call(function, arguments(given, context), context.number())


def _start(node: ast.expr | ast.keyword) -> tuple[int, int]:
    return node.lineno, node.col_offset


def arguments(given: list[ast.expr | ast.keyword], context: Context) -> tuple[Arg, ...]:
    """The arguments of a call, or the bases of a class."""
    return tuple([_argument(one, context) for one in given])


def _argument(node: ast.expr | ast.keyword, context: Context) -> Arg:
    if isinstance(node, ast.keyword):
        return Arg(context.expression(node.value), node.arg, "" if node.arg else "**")
    if isinstance(node, ast.Starred):
        return Arg(context.expression(node.value), None, "*")
    return Arg(context.expression(node))


def _lower_subscript(node: ast.Subscript, context: Context) -> Expr:
    base = context.expression(node.value)
    index = context.expression(node.slice)
    return Item(base, index, context.number())


def _lower_slice(node: ast.Slice, context: Context) -> Expr:
    at = context.number()
    # A missing bound is None at run time too.
    bounds = [
        Const(None, at) if b is None else context.expression(b) for b in (node.lower, node.upper, node.step)
    ]
    return Slice(tuple(bounds), at)


def _lower_walrus(node: ast.NamedExpr, context: Context) -> Expr:
    value = context.expression(node.value)
    return Walrus(node.target.id, value, context.number())


def _lower_await(node: ast.Await, context: Context) -> Expr:
    return Await(context.expression(node.value), context.number())


def _lower_yield(node: ast.Yield, context: Context) -> Expr:
    context.yields = True
    return Yield(context.optional(node.value), False, context.number())


def _lower_yield_from(node: ast.YieldFrom, context: Context) -> Expr:
    context.yields = True
    return Yield(context.expression(node.value), True, context.number())


def _lower_unary(node: ast.UnaryOp, context: Context) -> Expr:
    operand = context.expression(node.operand)
    at = context.number()
    if isinstance(node.op, ast.Not):
        return Logic("not", (operand,), at)
    match operand:
        case Const(value=int() | float() | complex() as number) if not isinstance(
            number, bool
        ) and isinstance(node.op, ast.USub):
            return Const(-number, at)
    return Op(_UNARY[type(node.op)], (operand,), at)


def _lower_binary(node: ast.BinOp, context: Context) -> Expr:
    spine = [node]
    while isinstance(left := spine[-1].left, ast.BinOp):
        spine.append(left)
    if len(spine) > LONGEST_CHAIN:
        leaves = [left, *(link.right for link in reversed(spine))]
        return Opaque(tuple([context.expression(leaf) for leaf in leaves]), context.number())
    lowered = context.expression(left)
    for link in reversed(spine):
        right = context.expression(link.right)
        lowered = Op(ARITHMETIC[type(link.op)], (lowered, right), context.number())
    return lowered


def _lower_boolean(node: ast.BoolOp, context: Context) -> Expr:
    """A chain of one operator is one node, whatever side it nests on."""
    operator = type(node.op)
    operands: list[Expr] = []
    pending: list[ast.expr] = [node]
    while pending:
        operand = pending.pop()
        if isinstance(operand, ast.BoolOp) and isinstance(operand.op, operator):
            pending += reversed(operand.values)
        else:
            operands.append(context.expression(operand))
    return Logic("and" if operator is ast.And else "or", tuple(operands), context.number())


def _lower_comparison(node: ast.Compare, context: Context) -> Expr:
    pairs: list[Expr] = []
    left = context.expression(node.left)
    for operator, comparator in zip(node.ops, node.comparators, strict=True):
        right = context.expression(comparator)
        pairs.append(Compare(_COMPARISON[type(operator)], left, right, context.number()))
        left = right
    return Logic("and", tuple(pairs), context.number()) if len(pairs) > 1 else pairs[0]


def _lower_choice(node: ast.IfExp, context: Context) -> Expr:
    test = context.expression(node.test)
    then = context.expression(node.body)
    other = context.expression(node.orelse)
    return Choice(test, then, other, context.number())


EXPRESSIONS: ExpressionTable = {
    ast.Name: _lower_name,
    ast.Constant: _lower_constant,
    ast.JoinedStr: _lower_formatted,
    **({ast.TemplateStr: _lower_formatted} if hasattr(ast, "TemplateStr") else {}),
    ast.Attribute: _lower_attribute,
    ast.Call: _lower_call,
    ast.Subscript: _lower_subscript,
    ast.Slice: _lower_slice,
    ast.NamedExpr: _lower_walrus,
    ast.Await: _lower_await,
    ast.Yield: _lower_yield,
    ast.YieldFrom: _lower_yield_from,
    ast.UnaryOp: _lower_unary,
    ast.BinOp: _lower_binary,
    ast.BoolOp: _lower_boolean,
    ast.Compare: _lower_comparison,
    ast.IfExp: _lower_choice,
}
