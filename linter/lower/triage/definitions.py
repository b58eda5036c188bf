"""Functions, lambdas and classes."""

from __future__ import annotations

import ast

from gradguard.ir.nodes import Body, ClassDef, Expr, Function, FunctionDef, Lambda, Param, Return, Stmt
from gradguard.lower.context import Context, ExpressionTable, StatementTable
from gradguard.lower.parts import AnyFunction
from gradguard.lower.triage.expressions import arguments


def lower_function(node: AnyFunction, context: Context, is_whole: bool = True) -> Function:
    """The function; without its statements if it is not wanted whole."""
    at = context.number()
    decorators = tuple([context.expression(decorator) for decorator in node.decorator_list])
    params = _params(node.args, context)
    returns = context.optional(node.returns)
    outer, context.yields = context.yields, False
    body = context.body(node.body) if is_whole else ()
    is_generator, context.yields = context.yields, outer
    return Function(
        name=node.name,
        params=params,
        body=body,
        decorators=decorators,
        is_async=isinstance(node, ast.AsyncFunctionDef),
        is_generator=is_generator,
        at=at,
        returns=returns,
    )


def lower_class(node: ast.ClassDef, context: Context, is_whole: bool = True) -> ClassDef:
    """The class; without its statements if it is not wanted whole."""
    at = context.number()
    decorators = tuple([context.expression(decorator) for decorator in node.decorator_list])
    bases = arguments([*node.bases, *node.keywords], context)
    return ClassDef(node.name, bases, decorators, context.body(node.body) if is_whole else (), at)


def _lower_function_definition(node: AnyFunction, context: Context) -> tuple[Stmt, ...]:
    function = lower_function(node, context)
    return (FunctionDef(function, function.at),)


def _lower_class_definition(node: ast.ClassDef, context: Context) -> tuple[Stmt, ...]:
    return (lower_class(node, context),)


def _lower_lambda(node: ast.Lambda, context: Context) -> Expr:
    at = context.number()
    params = _params(node.args, context)
    outer, context.yields = context.yields, False
    value = context.expression(node.body)
    is_generator, context.yields = context.yields, outer
    body: Body = (Return(value, context.number()),)
    return Lambda(Function("<lambda>", params, body, (), False, is_generator, at), at)


def _params(node: ast.arguments, context: Context) -> tuple[Param, ...]:
    positional = [*node.posonlyargs, *node.args]
    defaults = [None] * (len(positional) - len(node.defaults)) + node.defaults
    params = [
        _param(arg, default, "positional", context) for arg, default in zip(positional, defaults, strict=True)
    ]
    if node.vararg is not None:
        params.append(_param(node.vararg, None, "*", context))
    params += [
        _param(arg, default, "keyword", context)
        for arg, default in zip(node.kwonlyargs, node.kw_defaults, strict=True)
    ]
    if node.kwarg is not None:
        params.append(_param(node.kwarg, None, "**", context))
    return tuple(params)


def _param(node: ast.arg, default: ast.expr | None, kind: str, context: Context) -> Param:
    return Param(node.arg, context.optional(default), context.optional(node.annotation), kind)


EXPRESSIONS: ExpressionTable = {ast.Lambda: _lower_lambda}
STATEMENTS: StatementTable = {
    ast.FunctionDef: _lower_function_definition,
    ast.AsyncFunctionDef: _lower_function_definition,
    ast.ClassDef: _lower_class_definition,
}
