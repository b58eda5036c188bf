"""A Python file as the analysis sees it: top-level chunks that are lowered when asked for."""

from __future__ import annotations

import ast
from itertools import accumulate
from typing import Protocol

from gradguard.findings import Span
from gradguard.ir.nodes import CHUNK, Body
from gradguard.lower.assembly import lower_parts
from gradguard.lower.chunks import Chunk
from gradguard.lower.depth import DepthGauge, may_be_too_deep
from gradguard.lower.parts import Part, Parts
from gradguard.lower.reading import Reading
from gradguard.lower.rough import Unclear
from gradguard.lower.unreadable import Miscut, Unreadable
from gradguard.lower.whole_cut import WholeCut
from gradguard.source import Source

__all__ = ["Chunk", "Miscut", "Module", "Unreadable", "open_module"]

Place = tuple[tuple[int, int], tuple[int, int]]


LONG = 16_000
"""Characters from which it pays to cut a text by its rows. A shorter one is always parsed, and told of if it cannot
be."""


class Cut(Protocol):
    """A text in chunks: their statements as the cheap parser reads them (none where it cannot), and their parts (None
    if a chunk is to be lowered as a whole), with `end` where they are measured."""

    chunks: tuple[Chunk, ...]

    def statements(self, index: int) -> list[ast.stmt]: ...
    def parts(self, index: int) -> Parts | None: ...
    def measured_parts(self, index: int) -> Parts | None: ...
    def forget_trees(self) -> None: ...


class Module:
    """One file cut into chunks, which are lowered, or the parts of them that are wanted.

    `body`, `span` and `extent` each remember their own results. Where a text was cut by its rows, they raise `Miscut`
    if it is other than those say.
    """

    def __init__(self, source: Source, reading: Reading = Reading.LIBCST) -> None:
        """Cuts the text; raises `Unreadable`."""
        self.source = source
        self._is_glance = reading is not Reading.LIBCST
        text = source.text.removeprefix("\ufeff")
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
        self._lines = text.split("\n")
        self._cut = _cut(text, self._lines, source, reading)
        self.chunks = self._cut.chunks
        self._gauge = DepthGauge(self._lines)
        self._bodies: dict[int, Body] = {}
        self._shallow: set[int] = set()
        self._places: dict[tuple[int, Part | None], list[tuple[Place, Place]]] = {}

    def forget_trees(self) -> None:
        """Let go of what the cheap parser made: it takes much room, and can be made again of each chunk."""
        self._cut.forget_trees()

    def lines(self) -> list[str]:
        """The rows of the text, without their line ends."""
        return self._lines

    def bounds(self) -> list[tuple[int, int]]:
        """Where each chunk starts and ends in the rows joined by line ends."""
        ends = list(accumulate(map(len, self._lines), initial=0))
        return [
            # Each row has a line end behind it.
            (ends[chunk.first_row - 1] + chunk.first_row - 1, ends[chunk.last_row] + chunk.last_row)
            for chunk in self.chunks
        ]

    def text(self, index: int) -> str:
        """The rows of a chunk, each with its line end."""
        chunk = self.chunks[index]
        return "\n".join(self._lines[chunk.first_row - 1 : chunk.last_row]) + "\n"

    def body(self, index: int) -> Body:
        """The statements of a chunk; raises `Unreadable` if it is too deep or libcst cannot parse it.

        The bodies of long functions are lowered when they are looked at; one that libcst cannot parse is empty.
        """
        if index not in self._bodies:
            self._bodies[index] = self._glanced(index) if self._is_glance else self._lowered(index)
        return self._bodies[index]

    def span(self, at: int) -> Span:
        """Where the node with handle `at` is: of a statement with a block its header, else all of it.

        A position is asked for after the chunk was lowered; it raises what `body` raises. What libcst cannot parse is
        somewhere in its chunk.
        """
        return self._told(self._place(at)[0])

    def extent(self, at: int) -> Span:
        """Where the node with handle `at` starts and ends, blocks included."""
        return self._told(self._place(at)[1])

    def _told(self, place: Place) -> Span:
        return self.source.span(*place)

    def _glanced(self, index: int) -> Body:
        from gradguard.lower.triage.assembly import LOWERER
        from gradguard.lower.triage.lowering import lower_statements

        base, parts = index * CHUNK, self._parts_of(index)
        if parts is not None:
            return lower_parts(parts, base, LOWERER)
        statements = self._cut.statements(index)
        return lower_statements(statements, base) if statements else self._lowered(index)

    def _lowered(self, index: int) -> Body:
        from gradguard.lower.python.assembly import LOWERER
        from gradguard.lower.python.parsing import lower_text

        self._refuse_depth(index)
        base, parts = index * CHUNK, self._parts_of(index)
        if parts is not None:
            return lower_parts(parts, base, LOWERER)
        return lower_text(self.text(index), base, self._rows_before(index)).body

    def _place(self, at: int) -> tuple[Place, Place]:
        index, number = divmod(at, CHUNK)
        parts = self._cut.measured_parts(index) if self._can_be_apart(index) else None
        part = parts.at(number) if parts is not None else None
        number -= part.first_node if part is not None else 0
        try:
            found = self._places_of(index, parts, part)
        except Unreadable:
            if not self._is_glance:
                raise
            found = []
        return found[number] if number < len(found) else self._rough_place(index)

    def _rough_place(self, index: int) -> tuple[Place, Place]:
        chunk = self.chunks[index]
        whole = ((chunk.first_row, 1), (chunk.last_row, len(self._lines[chunk.last_row - 1]) + 1))
        return whole, whole

    def _places_of(self, index: int, parts: Parts | None, part: Part | None) -> list[tuple[Place, Place]]:
        """Header and extent of each node of a chunk, or of one part of it."""
        key = (index, part)
        if key not in self._places:
            self._refuse_depth(index)
            from gradguard.lower.python.positions import class_places, part_places, places

            if parts is None:
                self._places[key] = places(self.text(index), self._rows_before(index))
            elif part is None:
                self._places[key] = class_places(parts)
            else:
                self._places[key] = part_places(part)
        return self._places[key]

    def _refuse_depth(self, index: int) -> None:
        """Raises `Unreadable` if libcst must not see a chunk."""
        if index in self._shallow:
            return
        if self._can_be_apart(index) or may_be_too_deep(self.text(index)):
            statements = self._cut.statements(index)
            if any(map(self._gauge.is_too_deep, statements)):
                raise Unreadable(self.chunks[index].first_row, 1, "nested too deeply")
        self._shallow.add(index)

    def _parts_of(self, index: int) -> Parts | None:
        """The parts of a chunk, None if it is lowered as a whole."""
        return self._cut.parts(index) if self._can_be_apart(index) else None

    def _can_be_apart(self, index: int) -> bool:
        return self.chunks[index].kind in ("class", "function")

    def _rows_before(self, index: int) -> int:
        return self.chunks[index].first_row - 1


def _cut(text: str, lines: list[str], source: Source, reading: Reading) -> Cut:
    if reading is Reading.ROWS and len(text) > LONG:
        from gradguard.lower.rough_cut import RoughCut

        try:
            return RoughCut(text, lines, source.path or source.filename)
        except Unclear:
            pass
    return WholeCut(text, lines)


def open_module(source: Source, reading: Reading = Reading.LIBCST) -> Module:
    """The module of a Python source; raises `Unreadable` if it cannot be parsed."""
    return Module(source, reading)
