"""What all parts of one lowering of Python share: the numbering of nodes and the way down to their children."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gradguard.ir.nodes import Body, Expr, Opaque, Stmt
from gradguard.lower.depth import DEEPEST_EXPRESSION

ExpressionTable = Mapping[type[Any], Callable[[Any, "Context"], Expr]]
StatementTable = Mapping[type[Any], Callable[[Any, "Context"], tuple[Stmt, ...]]]


class Context:
    """The state of one lowering, whichever parser made the tree.

    `anchors[n]` is the syntax that the node with handle `base + n` was made from, None where nobody will ask for its
    place. `yields` tells whether the function being lowered has had a yield so far.
    """

    __slots__ = ("_base", "_depth", "_expressions", "_statements", "anchors", "yields")

    def __init__(self, base: int, expressions: ExpressionTable, statements: StatementTable) -> None:
        """Takes the first handle, and for each type of syntax the function that lowers it."""
        self.anchors: list[Any] = []
        self.yields = False
        self._base = base
        self._depth = 0
        self._expressions = expressions
        self._statements = statements

    def number(self, anchor: Any = None) -> int:
        """A new handle for what is made from `anchor`."""
        self.anchors.append(anchor)
        return self._base + len(self.anchors) - 1

    def expression(self, node: Any) -> Expr:
        """The expression a node stands for; below `DEEPEST_EXPRESSION` levels, and for unknown syntax, `Opaque`."""
        lower = self._expressions.get(type(node))
        if lower is None or self._depth >= DEEPEST_EXPRESSION:
            return Opaque((), self.number(node))
        self._depth += 1
        lowered = lower(node, self)
        self._depth -= 1
        return lowered

    def optional(self, node: Any) -> Expr | None:
        """The expression of a node that may be missing."""
        return None if node is None else self.expression(node)

    def statement(self, node: Any) -> tuple[Stmt, ...]:
        """The statements a node stands for: several of one row, none of syntax that says nothing."""
        lower = self._statements.get(type(node))
        return () if lower is None else lower(node, self)

    def body(self, nodes: Iterable[Any]) -> Body:
        """The statements of a block, in order."""
        made: list[Stmt] = []
        for node in nodes:
            made += self.statement(node)
        return tuple(made)
