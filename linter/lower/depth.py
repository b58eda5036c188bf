"""How deeply a statement nests.

The tree parser's time is quadratic in depth, and exponential in the depth of patterns; far down it overflows
its stack.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

DEEPEST = 400
DEEPEST_PATTERN = 14
DEEPEST_MAPPING_PATTERN = 7
DEEPEST_EXPRESSION = 100
"""Levels of an expression below which nobody needs to know what is there."""
LONGEST_CHAIN = 50
"""Operands of one chain beyond which its tree would nest too deeply for those who walk it."""
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def may_be_too_deep(text: str) -> bool:
    """Whether a text is long enough, or holds what a few levels of are too many."""
    return len(text) > DEEPEST or "case" in text


class DepthGauge:
    """Tells which statements of one text nest too deeply."""

    def __init__(self, lines: list[str]) -> None:
        """Takes the rows of the text, without their line ends."""
        self._lines = lines

    @cached_property
    def _ends(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self._lines)]

    def is_too_deep(self, statement: ast.stmt) -> bool:
        """Whether `statement`, or one inside it, is too deep."""
        pending: list[tuple[ast.AST, int]] = [(statement, 1)]
        while pending:
            node, level = pending.pop()
            inner = list(_inner(node))
            if level > DEEPEST:
                return True
            if isinstance(node, ast.match_case):
                if self._is_deep_pattern(node):
                    return True
            elif self._header_length(node, inner) >= DEEPEST and level + _header_depth(node, inner) > DEEPEST:
                return True
            pending.extend((child, level + 1) for child in inner)
        return False

    def _header_length(self, node: ast.AST, inner: list[ast.AST]) -> int:
        """At least the number of characters before the first inner statement."""
        first: int = node.lineno  # type: ignore[attr-defined]
        for decorator in getattr(node, "decorator_list", ()):
            first = min(first, decorator.lineno)
        last = getattr(inner[0], "lineno", first) if inner else node.end_lineno  # type: ignore[attr-defined]
        return self._ends[last] - self._ends[first - 1]

    def _is_deep_pattern(self, case: ast.match_case) -> bool:
        """Judged by the brackets, as `ast` keeps no parentheses; the body's first row may count too."""
        rows = self._lines[case.pattern.lineno - 1 : case.body[0].lineno]
        header = "\n".join(rows)
        return (
            _bracket_depth(header, "([{", ")]}") > DEEPEST_PATTERN
            or _bracket_depth(header, "{", "}") > DEEPEST_MAPPING_PATTERN
            or (case.guard is not None and _expression_depth([case.guard]) > DEEPEST)
        )


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    for field in _BLOCKS:
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield from block


def _bracket_depth(text: str, opening: str, closing: str) -> int:
    depth = deepest = 0
    for character in text:
        if character in opening:
            depth += 1
            deepest = max(deepest, depth)
        elif character in closing:
            depth -= 1
    return deepest


def _header_depth(node: ast.AST, inner: list[ast.AST]) -> int:
    blocks = {id(child) for child in inner}
    own = [child for child in ast.iter_child_nodes(node) if id(child) not in blocks]
    return max(_expression_depth(own), (getattr(node, "module", None) or "").count("."))


def _expression_depth(nodes: list[ast.AST]) -> int:
    """The depth of expressions as the tree parser nests them."""
    pending = [(node, 1) for node in nodes]
    deepest = 0
    while pending:
        node, level = pending.pop()
        deepest = max(deepest, level + (node.name.count(".") if isinstance(node, ast.alias) else 0))
        below = level + _levels(node)
        pending.extend((child, below) for child in ast.iter_child_nodes(node))
    return deepest


def _levels(node: ast.AST) -> int:
    """The tree parser nests what `ast` keeps flat: `and` chains and the clauses of a comprehension."""
    match node:
        case ast.BoolOp(values=parts):
            return len(parts)
        case ast.ListComp(generators=parts) | ast.SetComp(generators=parts):
            return len(parts)
        case ast.DictComp(generators=parts) | ast.GeneratorExp(generators=parts):
            return len(parts)
        case _:
            return 1
