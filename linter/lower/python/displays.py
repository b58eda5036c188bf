"""Tuples, lists, sets, dicts and comprehensions."""

from __future__ import annotations

import libcst as cst

from gradguard.ir.nodes import Clause, Comprehension, Expr, Mapping, Sequence, Star
from gradguard.lower.context import Context, ExpressionTable

_SEQUENCES: dict[type[cst.CSTNode], str] = {cst.Tuple: "tuple", cst.List: "list", cst.Set: "set"}
_COMPREHENSIONS: dict[type[cst.CSTNode], str] = {
    cst.ListComp: "list",
    cst.SetComp: "set",
    cst.GeneratorExp: "generator",
}


def _lower_sequence(node: cst.Tuple | cst.List | cst.Set, context: Context) -> Expr:
    items = tuple([_element(element, context) for element in node.elements])
    return Sequence(_SEQUENCES[type(node)], items, context.number(node))


def _element(element: cst.BaseElement, context: Context) -> Expr:
    if isinstance(element, cst.StarredElement):
        return _lower_star(element, context)
    return context.expression(element.value)


def _lower_star(node: cst.StarredElement, context: Context) -> Expr:
    return Star(context.expression(node.value), context.number(node))


def _lower_dict(node: cst.Dict, context: Context) -> Expr:
    items: list[tuple[Expr | None, Expr]] = []
    for element in node.elements:
        key = context.expression(element.key) if isinstance(element, cst.DictElement) else None
        items.append((key, context.expression(element.value)))
    return Mapping(tuple(items), context.number(node))


def _lower_comprehension(node: cst.ListComp | cst.SetComp | cst.GeneratorExp, context: Context) -> Expr:
    clauses = _clauses(node.for_in, context)
    element = context.expression(node.elt)
    return Comprehension(_COMPREHENSIONS[type(node)], element, clauses, context.number(node))


def _lower_dict_comprehension(node: cst.DictComp, context: Context) -> Expr:
    clauses = _clauses(node.for_in, context)
    pair = (context.expression(node.key), context.expression(node.value))
    element = Sequence("tuple", pair, context.number((node.key, node.value)))
    return Comprehension("dict", element, clauses, context.number(node))


def _clauses(first: cst.CompFor, context: Context) -> tuple[Clause, ...]:
    clauses = []
    clause: cst.CompFor | None = first
    while clause is not None:
        iterable = context.expression(clause.iter)
        target = context.expression(clause.target)
        conditions = tuple([context.expression(condition.test) for condition in clause.ifs])
        clauses.append(Clause(target, iterable, conditions, clause.asynchronous is not None))
        clause = clause.inner_for_in
    return tuple(clauses)


EXPRESSIONS: ExpressionTable = {
    cst.Tuple: _lower_sequence,
    cst.List: _lower_sequence,
    cst.Set: _lower_sequence,
    cst.StarredElement: _lower_star,
    cst.Dict: _lower_dict,
    cst.ListComp: _lower_comprehension,
    cst.SetComp: _lower_comprehension,
    cst.GeneratorExp: _lower_comprehension,
    cst.DictComp: _lower_dict_comprehension,
}
