"""What all parts of one lowering share: the numbering of nodes and the way down to their children."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import libcst as cst

from gradguard.ir.nodes import Body, Expr, Opaque, Stmt
from gradguard.lower.depth import DEEPEST_EXPRESSION

Anchor = cst.CSTNode | tuple[cst.CSTNode, cst.CSTNode]
ExpressionTable = Mapping[type[cst.CSTNode], Callable[[Any, "Context"], Expr]]
StatementTable = Mapping[type[cst.CSTNode], Callable[[Any, "Context"], tuple[Stmt, ...]]]


class Context:
    """The state of one lowering.

    `anchors[n]` is the syntax that the node with handle `base + n` was made from: a libcst node, or the
    first and the last of several. `yields` tells whether the function being lowered has had a yield so far.
    """

    __slots__ = ("_expressions", "_statements", "anchors", "base", "depth", "yields")

    def __init__(self, base: int, expressions: ExpressionTable, statements: StatementTable) -> None:
        """Takes the first handle, and for each type of libcst node the function that lowers it."""
        self.base = base
        self.anchors: list[Anchor] = []
        self.depth = 0
        self.yields = False
        self._expressions = expressions
        self._statements = statements

    def number(self, anchor: Anchor) -> int:
        """A new handle for what is made from `anchor`."""
        self.anchors.append(anchor)
        return self.base + len(self.anchors) - 1

    def expression(self, node: cst.CSTNode) -> Expr:
        """The expression a node stands for; below `DEEPEST_EXPRESSION` levels, and for unknown syntax, `Opaque`."""
        lower = self._expressions.get(type(node))
        if lower is None or self.depth >= DEEPEST_EXPRESSION:
            return Opaque((), self.number(node))
        self.depth += 1
        lowered = lower(node, self)
        self.depth -= 1
        return lowered

    def optional(self, node: cst.CSTNode | None) -> Expr | None:
        """The expression of a node that may be missing."""
        return None if node is None else self.expression(node)

    def statement(self, node: cst.CSTNode) -> tuple[Stmt, ...]:
        """The statements a node stands for: several of one row, none of syntax that says nothing."""
        lower = self._statements.get(type(node))
        return () if lower is None else lower(node, self)

    def body(self, block: cst.BaseSuite) -> Body:
        """The statements of a block, in order."""
        made: list[Stmt] = []
        for node in block.body:
            made += self.statement(node)
        return tuple(made)
