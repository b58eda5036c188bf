"""Arithmetic, comparisons, logic and choices."""

from __future__ import annotations

import libcst as cst

from gradguard.ir.nodes import Choice, Compare, Const, Expr, Logic, Op, Opaque
from gradguard.lower.context import Context, ExpressionTable
from gradguard.lower.depth import LONGEST_CHAIN

ARITHMETIC: dict[type[cst.CSTNode], str] = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
}
UNARY: dict[type[cst.CSTNode], str] = {cst.Minus: "neg", cst.Plus: "pos", cst.BitInvert: "invert"}
COMPARISON: dict[type[cst.CSTNode], str] = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.Is: "is",
    cst.IsNot: "is-not",
    cst.In: "in",
    cst.NotIn: "not-in",
}


def _lower_unary(node: cst.UnaryOperation, context: Context) -> Expr:
    operand = context.expression(node.expression)
    at = context.number(node)
    if isinstance(node.operator, cst.Not):
        return Logic("not", (operand,), at)
    match operand:
        case Const(value=int() | float() | complex() as number) if not isinstance(
            number, bool
        ) and isinstance(node.operator, cst.Minus):
            return Const(-number, at)
    return Op(UNARY[type(node.operator)], (operand,), at)


def _lower_binary(node: cst.BinaryOperation, context: Context) -> Expr:
    spine = [node]
    while isinstance(spine[-1].left, cst.BinaryOperation):
        spine.append(spine[-1].left)
    if len(spine) > LONGEST_CHAIN:
        leaves = [spine[-1].left, *(link.right for link in reversed(spine))]
        return Opaque(tuple([context.expression(leaf) for leaf in leaves]), context.number(node))
    lowered = context.expression(spine[-1].left)
    for link in reversed(spine):
        right = context.expression(link.right)
        lowered = Op(ARITHMETIC[type(link.operator)], (lowered, right), context.number(link))
    return lowered


def _lower_boolean(node: cst.BooleanOperation, context: Context) -> Expr:
    """A chain of one operator is one node, whatever side it nests on."""
    operator = type(node.operator)
    operands: list[Expr] = []
    pending: list[cst.CSTNode] = [node]
    while pending:
        operand = pending.pop()
        if isinstance(operand, cst.BooleanOperation) and isinstance(operand.operator, operator):
            pending += [operand.right, operand.left]
        else:
            operands.append(context.expression(operand))
    return Logic("and" if operator is cst.And else "or", tuple(operands), context.number(node))


def _lower_comparison(node: cst.Comparison, context: Context) -> Expr:
    pairs: list[Expr] = []
    is_chain = len(node.comparisons) > 1
    left = context.expression(node.left)
    start: cst.CSTNode = node.left
    for target in node.comparisons:
        right = context.expression(target.comparator)
        at = context.number((start, target.comparator) if is_chain else node)
        pairs.append(Compare(COMPARISON[type(target.operator)], left, right, at))
        left, start = right, target.comparator
    return Logic("and", tuple(pairs), context.number(node)) if is_chain else pairs[0]


def _lower_choice(node: cst.IfExp, context: Context) -> Expr:
    test = context.expression(node.test)
    then = context.expression(node.body)
    other = context.expression(node.orelse)
    return Choice(test, then, other, context.number(node))


EXPRESSIONS: ExpressionTable = {
    cst.UnaryOperation: _lower_unary,
    cst.BinaryOperation: _lower_binary,
    cst.BooleanOperation: _lower_boolean,
    cst.Comparison: _lower_comparison,
    cst.IfExp: _lower_choice,
}
