"""Tuples, lists, sets, dicts and comprehensions."""

from __future__ import annotations

import ast

from gradguard.ir.nodes import Clause, Comprehension, Expr, Mapping, Sequence, Star
from gradguard.lower.context import Context, ExpressionTable

_SEQUENCES: dict[type[ast.expr], str] = {ast.Tuple: "tuple", ast.List: "list", ast.Set: "set"}
_COMPREHENSIONS: dict[type[ast.expr], str] = {
    ast.ListComp: "list",
    ast.SetComp: "set",
    ast.GeneratorExp: "generator",
}


def _lower_sequence(node: ast.Tuple | ast.List | ast.Set, context: Context) -> Expr:
    items = tuple([context.expression(element) for element in node.elts])
    return Sequence(_SEQUENCES[type(node)], items, context.number())


def _lower_star(node: ast.Starred, context: Context) -> Expr:
    return Star(context.expression(node.value), context.number())


def _lower_dict(node: ast.Dict, context: Context) -> Expr:
    items = [
        (context.optional(key), context.expression(value))
        for key, value in zip(node.keys, node.values, strict=True)
    ]
    return Mapping(tuple(items), context.number())


def _lower_comprehension(node: ast.ListComp | ast.SetComp | ast.GeneratorExp, context: Context) -> Expr:
    clauses = _clauses(node.generators, context)
    element = context.expression(node.elt)
    return Comprehension(_COMPREHENSIONS[type(node)], element, clauses, context.number())


def _lower_dict_comprehension(node: ast.DictComp, context: Context) -> Expr:
    clauses = _clauses(node.generators, context)
    pair = (context.expression(node.key), context.expression(node.value))
    element = Sequence("tuple", pair, context.number())
    return Comprehension("dict", element, clauses, context.number())


def _clauses(generators: list[ast.comprehension], context: Context) -> tuple[Clause, ...]:
    clauses = []
    for clause in generators:
        iterable = context.expression(clause.iter)
        target = context.expression(clause.target)
        conditions = tuple([context.expression(condition) for condition in clause.ifs])
        clauses.append(Clause(target, iterable, conditions, bool(clause.is_async)))
    return tuple(clauses)


EXPRESSIONS: ExpressionTable = {
    ast.Tuple: _lower_sequence,
    ast.List: _lower_sequence,
    ast.Set: _lower_sequence,
    ast.Starred: _lower_star,
    ast.Dict: _lower_dict,
    ast.ListComp: _lower_comprehension,
    ast.SetComp: _lower_comprehension,
    ast.GeneratorExp: _lower_comprehension,
    ast.DictComp: _lower_dict_comprehension,
}
