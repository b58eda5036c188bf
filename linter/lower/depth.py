"""How deeply a statement nests: the tree parser is quadratic in depth and can overflow its stack."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import accumulate

DEEPEST = 400
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


class DepthGauge:
    """Tells which statements of one text nest more than `DEEPEST` levels."""

    def __init__(self, lines: list[str]) -> None:
        self._ends = [0, *accumulate(len(line) + 1 for line in lines)]

    def is_too_deep(self, statement: ast.stmt) -> bool:
        """Whether `statement`, or one inside it, is too deep."""
        pending: list[tuple[ast.AST, int]] = [(statement, 1)]
        while pending:
            node, level = pending.pop()
            inner = list(_inner(node))
            header = self._header_length(node, inner)
            if level > DEEPEST or (header >= DEEPEST and level + _expression_depth(node, inner) > DEEPEST):
                return True
            pending.extend((child, level + 1) for child in inner)
        return False

    def _header_length(self, node: ast.AST, inner: list[ast.AST]) -> int:
        """At least the number of characters before the first inner statement."""
        first = getattr(node, "lineno", None)
        if first is None:
            # A case of a match statement, which has no position of its own.
            return DEEPEST
        for decorator in getattr(node, "decorator_list", ()):
            first = min(first, decorator.lineno)
        last = getattr(inner[0], "lineno", first) if inner else node.end_lineno  # type: ignore[attr-defined]
        return self._ends[last] - self._ends[first - 1]


def _inner(node: ast.AST) -> Iterator[ast.AST]:
    for field in _BLOCKS:
        block = getattr(node, field, None)
        if isinstance(block, list):
            yield from block


def _expression_depth(node: ast.AST, inner: list[ast.AST]) -> int:
    """The depth of a statement's header, as the tree parser nests it."""
    blocks = {id(child) for child in inner}
    pending = [(child, 1) for child in ast.iter_child_nodes(node) if id(child) not in blocks]
    deepest = (getattr(node, "module", None) or "").count(".")
    while pending:
        child, level = pending.pop()
        deepest = max(deepest, level)
        pending.extend((grandchild, level + _levels(child)) for grandchild in ast.iter_child_nodes(child))
        if isinstance(child, ast.alias):
            deepest = max(deepest, child.name.count("."))
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
