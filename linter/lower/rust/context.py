"""What lowering a piece of Rust carries along: handles, and where they stand in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

DEEPEST = 110
"""Levels of expressions; what lies deeper is opaque."""

Anchor = tuple[int, int, int]
"""Byte offsets in the file: start, end of the header, end."""

Node = Any


@dataclass(slots=True)
class Context:
    """`first` is the first handle of the piece; `shift` is what to add to an offset of the tree at hand,
    which is not the file's own inside a macro. `bounds` are the traits that type parameters must have."""

    first: int
    anchors: list[Anchor] = field(default_factory=list)
    shift: int = 0
    depth: int = 0
    bounds: dict[str, str] = field(default_factory=dict)

    def at(self, node: Node, header: Node | None = None, start: Node | None = None) -> int:
        """A new handle for a node, whose header ends with the node `header` and which starts with `start`."""
        end = node.end_byte + self.shift
        first = (start or node).start_byte + self.shift
        self.anchors.append((first, header.end_byte + self.shift if header else end, end))
        return self.first + len(self.anchors) - 1

    def within(self, shift: int) -> Context:
        """The same for a tree parsed from a part of the file that starts `shift` bytes behind its own
        offsets."""
        return Context(self.first, self.anchors, shift, self.depth, self.bounds)


def text(node: Node | None) -> str:
    """The source text of a node, "" for none."""
    return "" if node is None else node.text.decode("utf-8", "replace")


def named(node: Node) -> list[Node]:
    """The named children without comments and attributes."""
    return [child for child in node.named_children if child.type not in _PASSED_OVER]


def label_of(node: Node) -> str:
    """The label of a loop, block or jump, "" for none."""
    return next((text(child) for child in node.named_children if child.type == "label"), "")


_PASSED_OVER = frozenset(("line_comment", "block_comment", "attribute_item", "inner_attribute_item"))
