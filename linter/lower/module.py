"""A Python file as the analysis sees it: top-level chunks that are lowered when asked for."""

from __future__ import annotations

import ast

from gradguard.findings import Span
from gradguard.ir.nodes import CHUNK, Body
from gradguard.lower.chunks import Chunk, cut, parse
from gradguard.lower.depth import DepthGauge, may_be_too_deep
from gradguard.lower.parts import Part, Parts, parts_of
from gradguard.lower.unreadable import Unreadable
from gradguard.source import Source

__all__ = ["Chunk", "Module", "Unreadable", "open_module"]

Place = tuple[tuple[int, int], tuple[int, int]]


class Module:
    """One file cut into chunks.

    Opening costs one run of the cheap parser. `body`, `span` and `extent` parse a chunk, or the part of it that
    is wanted, into a libcst tree, and each remembers its own result.
    """

    def __init__(self, source: Source) -> None:
        """Cuts the text; raises `Unreadable`."""
        self.source = source
        text = source.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self._lines = text.split("\n")
        self.chunks = cut(text, self._lines)
        self._bodies: dict[int, Body] = {}
        self._parts: dict[int, Parts | None] = {}
        self._places: dict[tuple[int, Part | None], list[tuple[Place, Place]]] = {}

    def lines(self) -> list[str]:
        """The rows of the text, without their line ends."""
        return self._lines

    def text(self, index: int) -> str:
        """The rows of a chunk, each with its line end."""
        chunk = self.chunks[index]
        return "\n".join(self._lines[chunk.first_row - 1 : chunk.last_row]) + "\n"

    def body(self, index: int) -> Body:
        """The statements of a chunk; raises `Unreadable` if it is too deep or libcst cannot parse it.

        The bodies of long functions are lowered when they are looked at; one that libcst cannot parse is empty.
        """
        if index not in self._bodies:
            self._bodies[index] = self._lowered(index)
        return self._bodies[index]

    def span(self, at: int) -> Span:
        """Where the node with handle `at` is: of a statement with a block its header, else all of it.

        A position is asked for after the chunk was lowered; it raises what `body` raises.
        """
        return self._told(self._place(at)[0])

    def extent(self, at: int) -> Span:
        """Where the node with handle `at` starts and ends, blocks included."""
        return self._told(self._place(at)[1])

    def _told(self, place: Place) -> Span:
        return self.source.span(*place)

    def _lowered(self, index: int) -> Body:
        from gradguard.lower.python.parsing import lower_text

        base, rows_before = index * CHUNK, self._rows_before(index)
        parts = self._parts_of(index)
        if parts is None:
            return lower_text(self.text(index), base, rows_before).body
        from gradguard.lower.python.assembly import lower_parts

        return lower_parts(parts, base, rows_before)

    def _place(self, at: int) -> tuple[Place, Place]:
        index, number = divmod(at, CHUNK)
        parts = self._parts_of(index)
        part = parts.at(number) if parts is not None else None
        key = (index, part)
        if key not in self._places:
            from gradguard.lower.python.positions import class_places, part_places, places

            rows_before = self._rows_before(index)
            if parts is None:
                self._places[key] = places(self.text(index), rows_before)
            elif part is None:
                self._places[key] = class_places(parts, rows_before)
            else:
                self._places[key] = part_places(part, rows_before)
        return self._places[key][number - (part.first_node if part is not None else 0)]

    def _parts_of(self, index: int) -> Parts | None:
        """The parts of a chunk, None if it is lowered as a whole; raises `Unreadable` if it is too deep."""
        if index not in self._parts:
            text = self.text(index)
            apart = self.chunks[index].kind in ("class", "function")
            statements = _statements(text) if apart or may_be_too_deep(text) else []
            if statements and any(map(DepthGauge(text.split("\n")).is_too_deep, statements)):
                raise Unreadable(self.chunks[index].first_row, 1, "nested too deeply")
            self._parts[index] = parts_of(text, statements) if apart else None
        return self._parts[index]

    def _rows_before(self, index: int) -> int:
        return self.chunks[index].first_row - 1


def _statements(text: str) -> list[ast.stmt]:
    """The statements of a chunk; none where only the tree parser can read it."""
    try:
        return parse(text).body
    except Unreadable as error:
        if isinstance(error.__cause__, SyntaxError):
            return []
        raise


def open_module(source: Source) -> Module:
    """The module of a Python source; raises `Unreadable` if it cannot be parsed."""
    return Module(source)
