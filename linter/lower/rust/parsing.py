"""Running the Rust parser. The only module that imports tree-sitter."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from gradguard.lower.unreadable import Unreadable


@lru_cache(maxsize=1)
def _parser() -> Any:
    import tree_sitter
    import tree_sitter_rust

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_rust.language()))


def parse(data: bytes) -> Any:
    """The root node of a text; pieces that cannot be parsed stand in it as errors."""
    return _parser().parse(data).root_node


def first_error(root: Any, data: bytes) -> Unreadable | None:
    """The first place that cannot be parsed, as an error that tells row and column; None where all can."""
    if not root.has_error:
        return None
    node = root
    while True:
        inner = next((child for child in node.children if child.has_error or child.is_missing), None)
        if inner is None or node.type == "ERROR":
            break
        node = inner
    row, column = node.start_point
    start = node.start_byte - column
    characters = len(data[start : node.start_byte].decode("utf-8", "replace"))
    reason = f"`{node.type}` is missing" if node.is_missing else "invalid syntax"
    return Unreadable(row + 1, characters + 1, reason)
