"""Match statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradguard.ir.nodes import Case, Const, Expr, Match, Stmt
from gradguard.lower.context import Context, StatementTable


def _lower_match(node: ast.Match, context: Context) -> tuple[Stmt, ...]:
    at = context.number()
    subject = context.expression(node.subject)
    return (Match(subject, tuple([_case(case, context) for case in node.cases]), at),)


def _case(node: ast.match_case, context: Context) -> Case:
    at = context.number()
    test = _test(node.pattern, context)
    captures = tuple(dict.fromkeys(_captures(node.pattern)))
    guard = context.optional(node.guard)
    catches_all = node.guard is None and _catches_all(node.pattern)
    return Case(test, captures, guard, context.body(node.body), catches_all, at)


def _test(pattern: ast.pattern, context: Context) -> Expr | None:
    """The value that the subject must equal, where the pattern is just that."""
    match pattern:
        case ast.MatchValue(value=value):
            return context.expression(value)
        case ast.MatchSingleton(value=constant):
            return Const(constant, context.number())
        case ast.MatchAs(pattern=inner) if inner is not None:
            return _test(inner, context)
        case _:
            return None


def _catches_all(pattern: ast.pattern) -> bool:
    match pattern:
        case ast.MatchAs(pattern=inner):
            return inner is None or _catches_all(inner)
        case ast.MatchOr(patterns=alternatives):
            return any(_catches_all(alternative) for alternative in alternatives)
        case _:
            return False


def _captures(pattern: ast.pattern) -> Iterator[str]:
    match pattern:
        case ast.MatchAs(pattern=inner, name=name):
            if inner is not None:
                yield from _captures(inner)
            yield from filter(None, (name,))
        case ast.MatchStar(name=name):
            yield from filter(None, (name,))
        case ast.MatchOr(patterns=inner) | ast.MatchSequence(patterns=inner):
            for one in inner:
                yield from _captures(one)
        case ast.MatchMapping(patterns=inner, rest=rest):
            for one in inner:
                yield from _captures(one)
            yield from filter(None, (rest,))
        case ast.MatchClass(patterns=inner, kwd_patterns=keywords):
            for one in (*inner, *keywords):
                yield from _captures(one)


STATEMENTS: StatementTable = {ast.Match: _lower_match}
