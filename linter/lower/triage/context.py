"""What all parts of one lowering share: the numbering of nodes and the way down to their children."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from gradguard.ir.nodes import Body, Expr, Opaque, Stmt
from gradguard.lower.depth import DEEPEST_EXPRESSION

ExpressionTable = Mapping[type[ast.AST], Callable[[Any, "Context"], Expr]]
StatementTable = Mapping[type[ast.AST], Callable[[Any, "Context"], tuple[Stmt, ...]]]


class Context:
    """The state of one lowering.

    `yields` tells whether the function being lowered has had a yield so far.
    """

    __slots__ = ("_depth", "_expressions", "_next", "_statements", "yields")

    def __init__(self, base: int, expressions: ExpressionTable, statements: StatementTable) -> None:
        """Takes the first handle, and for each type of node the function that lowers it."""
        self._next = base
        self._depth = 0
        self.yields = False
        self._expressions = expressions
        self._statements = statements

    def number(self) -> int:
        """A new handle."""
        self._next += 1
        return self._next - 1

    def expression(self, node: ast.AST) -> Expr:
        """The expression a node stands for; below `DEEPEST_EXPRESSION` levels, and for unknown syntax, `Opaque`."""
        lower = self._expressions.get(type(node))
        if lower is None or self._depth >= DEEPEST_EXPRESSION:
            return Opaque((), self.number())
        self._depth += 1
        lowered = lower(node, self)
        self._depth -= 1
        return lowered

    def optional(self, node: ast.AST | None) -> Expr | None:
        """The expression of a node that may be missing."""
        return None if node is None else self.expression(node)

    def body(self, statements: list[ast.stmt]) -> Body:
        """The statements of a block, in order; syntax that says nothing makes none."""
        made: list[Stmt] = []
        for statement in statements:
            lower = self._statements.get(type(statement))
            if lower is not None:
                made += lower(statement, self)
        return tuple(made)
