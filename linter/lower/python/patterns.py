"""Match statements."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradguard.ir.nodes import Case, Expr, Match, Stmt
from gradguard.lower.context import Context, StatementTable
from gradguard.lower.python.literals import spelled


def _lower_match(node: cst.Match, context: Context) -> tuple[Stmt, ...]:
    at = context.number(node)
    subject = context.expression(node.subject)
    return (Match(subject, tuple([_case(case, context) for case in node.cases]), at),)


def _case(node: cst.MatchCase, context: Context) -> Case:
    at = context.number(node)
    test = _test(node.pattern, context)
    captures = tuple(dict.fromkeys(_captures(node.pattern)))
    guard = context.optional(node.guard)
    catches_all = node.guard is None and _catches_all(node.pattern)
    return Case(test, captures, guard, context.body(node.body.body), catches_all, at)


def _test(pattern: cst.MatchPattern, context: Context) -> Expr | None:
    """The value that the subject must equal, where the pattern is just that."""
    match pattern:
        case cst.MatchValue() | cst.MatchSingleton():
            return context.expression(pattern.value)
        case cst.MatchAs(pattern=inner) if inner is not None:
            return _test(inner, context)
        case _:
            return None


def _catches_all(pattern: cst.MatchPattern) -> bool:
    match pattern:
        case cst.MatchAs(pattern=inner):
            return inner is None or _catches_all(inner)
        case cst.MatchOr():
            return any(_catches_all(alternative.pattern) for alternative in pattern.patterns)
        case _:
            return False


def _captures(pattern: cst.MatchPattern) -> Iterator[str]:
    match pattern:
        case cst.MatchAs():
            if pattern.pattern is not None:
                yield from _captures(pattern.pattern)
            yield from _name(pattern.name)
        case cst.MatchOr():
            for alternative in pattern.patterns:
                yield from _captures(alternative.pattern)
        case cst.MatchList() | cst.MatchTuple():
            for element in pattern.patterns:
                if isinstance(element, cst.MatchStar):
                    yield from _name(element.name)
                else:
                    yield from _captures(element.value)
        case cst.MatchMapping():
            for item in pattern.elements:
                yield from _captures(item.pattern)
            yield from _name(pattern.rest)
        case cst.MatchClass():
            for positional in pattern.patterns:
                yield from _captures(positional.value)
            for keyword in pattern.kwds:
                yield from _captures(keyword.pattern)


def _name(name: cst.Name | None) -> Iterator[str]:
    if name is not None and name.value != "_":
        yield spelled(name.value)


STATEMENTS: StatementTable = {cst.Match: _lower_match}
