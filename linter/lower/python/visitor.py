"""The entry to the lowering: a libcst visitor over one chunk."""

from __future__ import annotations

import libcst as cst

from gradguard.ir.nodes import Body, Stmt
from gradguard.lower.context import Context
from gradguard.lower.python import access, blocks, displays, functions, literals, operators, patterns, simple

Anchor = cst.CSTNode | tuple[cst.CSTNode, cst.CSTNode]
"""A libcst node, or the first and the last of several."""

_EXPRESSIONS = {
    **literals.EXPRESSIONS,
    **access.EXPRESSIONS,
    **operators.EXPRESSIONS,
    **displays.EXPRESSIONS,
    **functions.EXPRESSIONS,
}
_STATEMENTS = {
    **simple.STATEMENTS,
    **blocks.STATEMENTS,
    **functions.STATEMENTS,
    **patterns.STATEMENTS,
}


class Lowering(cst.CSTVisitor):
    """Lowers each statement at the top of the tree it visits; `body` and `anchors` grow as it goes.

    Below the top it walks the tree itself: visiting every node costs more than the lowering does.
    """

    def __init__(self, base: int) -> None:
        """Takes the handle of the first node."""
        super().__init__()
        self._context = Context(base, _EXPRESSIONS, _STATEMENTS)
        self._made: list[Stmt] = []

    @property
    def body(self) -> Body:
        """The statements lowered so far."""
        return tuple(self._made)

    @property
    def anchors(self) -> list[Anchor]:
        """What each node was made from, in the order of their handles."""
        return self._context.anchors

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Lowers a statement; only the module itself is entered."""
        if isinstance(node, cst.Module):
            return True
        self._made += self._context.statement(node)
        return False
