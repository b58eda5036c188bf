"""Functions, lambdas and classes."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from gradguard.ir.nodes import Body, ClassDef, Expr, Function, FunctionDef, Lambda, Param, Return, Stmt
from gradguard.lower.context import Context, ExpressionTable, StatementTable
from gradguard.lower.python.access import arguments
from gradguard.lower.python.literals import spelled


def _lower_function(node: cst.FunctionDef, context: Context) -> tuple[Stmt, ...]:
    at = context.number(node)
    decorators = _decorators(node.decorators, context)
    params = _params(node.params, context)
    returns = context.optional(node.returns.annotation if node.returns else None)
    outer, context.yields = context.yields, False
    body = context.body(node.body.body)
    is_generator, context.yields = context.yields, outer
    function = Function(
        name=spelled(node.name.value),
        params=params,
        body=body,
        decorators=decorators,
        is_async=node.asynchronous is not None,
        is_generator=is_generator,
        at=at,
        returns=returns,
    )
    return (FunctionDef(function, at),)


def _lower_lambda(node: cst.Lambda, context: Context) -> Expr:
    at = context.number(node)
    params = _params(node.params, context)
    outer, context.yields = context.yields, False
    value = context.expression(node.body)
    is_generator, context.yields = context.yields, outer
    body: Body = (Return(value, context.number(node.body)),)
    return Lambda(Function("<lambda>", params, body, (), False, is_generator, at), at)


def _lower_class(node: cst.ClassDef, context: Context) -> tuple[Stmt, ...]:
    at = context.number(node)
    decorators = _decorators(node.decorators, context)
    bases = arguments((*node.bases, *node.keywords), context)
    return (ClassDef(spelled(node.name.value), bases, decorators, context.body(node.body.body), at),)


def _decorators(decorators: Iterable[cst.Decorator], context: Context) -> tuple[Expr, ...]:
    return tuple([context.expression(decorator.decorator) for decorator in decorators])


def _params(parameters: cst.Parameters, context: Context) -> tuple[Param, ...]:
    params = [_param(p, "positional", context) for p in (*parameters.posonly_params, *parameters.params)]
    if isinstance(parameters.star_arg, cst.Param):
        params.append(_param(parameters.star_arg, "*", context))
    params += [_param(p, "keyword", context) for p in parameters.kwonly_params]
    if parameters.star_kwarg is not None:
        params.append(_param(parameters.star_kwarg, "**", context))
    return tuple(params)


def _param(node: cst.Param, kind: str, context: Context) -> Param:
    return Param(
        spelled(node.name.value),
        context.optional(node.default),
        context.optional(node.annotation.annotation if node.annotation else None),
        kind,
    )


EXPRESSIONS: ExpressionTable = {cst.Lambda: _lower_lambda}
STATEMENTS: StatementTable = {cst.FunctionDef: _lower_function, cst.ClassDef: _lower_class}
