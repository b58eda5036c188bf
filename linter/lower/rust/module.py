"""A Rust file as the analysis sees it: its items, lowered when asked for."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from gradguard.findings import Span
from gradguard.ir import nodes as ir
from gradguard.ir.nodes import CHUNK, Body
from gradguard.lower.chunks import Chunk
from gradguard.lower.rust.context import Anchor, Context, named, text
from gradguard.lower.rust.parsing import first_error, parse
from gradguard.source import Source

_KINDS = {
    "function_item": "function",
    "impl_item": "class",
    "struct_item": "class",
    "enum_item": "class",
    "trait_item": "class",
    "mod_item": "class",
    "use_declaration": "import",
}


class RustModule:
    """One Rust file cut into its items, with the interface of a Python `Module`."""

    def __init__(self, source: Source) -> None:
        """Parses the text. `error` tells the first place that is no Rust; other items can be lowered."""
        self.source = source
        self._data = source.text.encode("utf-8", "surrogatepass")
        self._lines = source.text.split("\n")
        root = parse(self._data)
        self.error = first_error(root, self._data)
        self._starts = [0]
        for index, byte in enumerate(self._data):
            if byte == 10:
                self._starts.append(index + 1)
        self._nodes = named(root)
        self.chunks = tuple(self._chunk(index, node) for index, node in enumerate(self._nodes))
        self._bodies: dict[int, Body] = {}
        self._anchors: dict[int, list[Anchor]] = {}

    @property
    def roots(self) -> frozenset[str]:
        """The first segments of all paths that the file's code names."""
        return frozenset(_path_roots(self._nodes))

    def lines(self) -> list[str]:
        """The rows of the text, without their line ends."""
        return self._lines

    def text(self, index: int) -> str:
        """The rows of a chunk, each with its line end."""
        chunk = self.chunks[index]
        return "\n".join(self._lines[chunk.first_row - 1 : chunk.last_row]) + "\n"

    def body(self, index: int) -> Body:
        """The definitions that a chunk makes; raises `Unreadable` if a part of it is no Rust."""
        error = first_error(self._nodes[index], self._data)
        if error is not None:
            raise error
        if index not in self._bodies:
            from gradguard.lower.rust.statements import statement

            context = Context(index * CHUNK)
            self._bodies[index] = statement(context, self._nodes[index])
            self._anchors[index] = context.anchors
        return self._bodies[index]

    def span(self, at: int) -> Span:
        """Where the node with handle `at` is: of one with a block its header, else all of it."""
        start, header, _ = self._anchor(at)
        return self._span(start, header)

    def extent(self, at: int) -> Span:
        """Where the node with handle `at` starts and ends, blocks included."""
        start, _, end = self._anchor(at)
        return self._span(start, end)

    def _anchor(self, at: int) -> Anchor:
        index, number = divmod(at, CHUNK)
        self.body(index)
        return self._anchors[index][number]

    def _span(self, start: int, end: int) -> Span:
        return self.source.span(self._position(start), self._position(end))

    def _position(self, offset: int) -> tuple[int, int]:
        row = bisect_right(self._starts, offset)
        before = self._data[self._starts[row - 1] : offset]
        return row, len(before.decode("utf-8", "replace")) + 1

    def _chunk(self, index: int, node: Any) -> Chunk:
        kind = _KINDS.get(node.type, "other")
        name = text(node.child_by_field_name("name"))
        return Chunk(index, node.start_point[0] + 1, node.end_point[0] + 1, kind, (name,) if name else ())


def _path_roots(nodes: list[Any]) -> set[str]:
    """The crates that paths and imports start with, comments and strings left out."""
    from gradguard.lower.rust.expressions import path_text
    from gradguard.lower.rust.items import item

    found: set[str] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        match node.type:
            case "use_declaration":
                found.update(_head(one) for one in item(Context(0), node))
                continue
            case "extern_crate_declaration":
                found.add(text(node.child_by_field_name("name")))
            case "scoped_identifier" | "scoped_type_identifier":
                found.add(path_text(node).split("::")[0])
            case "line_comment" | "block_comment" | "string_literal":
                continue
        pending.extend(node.named_children)
    return found


def _head(statement: ir.Stmt) -> str:
    match statement:
        case ir.Import(module=module, name=name):
            return module.split("::")[0] or name or ""
        case _:
            return ""
