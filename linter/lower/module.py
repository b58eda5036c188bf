"""A Python file as the analysis sees it: top-level chunks that are lowered when asked for."""

from __future__ import annotations

import ast
from itertools import accumulate

from gradguard.findings import Span
from gradguard.ir.nodes import CHUNK, Body
from gradguard.lower.assembly import lower_parts
from gradguard.lower.chunks import Chunk, cut, parse
from gradguard.lower.depth import DepthGauge, may_be_too_deep
from gradguard.lower.parts import Part, Parts, parts_of
from gradguard.lower.unreadable import Unreadable
from gradguard.source import Source

__all__ = ["Chunk", "Module", "Unreadable", "open_module"]

Place = tuple[tuple[int, int], tuple[int, int]]


class Module:
    """One file cut into chunks.

    Opening costs one run of the cheap parser. A module that is `for_triage` lowers what that has read; any other has
    chunks, or the parts of them that are wanted, parsed by libcst. Positions come from libcst in both: handles are
    the same. `body`, `span` and `extent` each remember their own results.
    """

    def __init__(self, source: Source, for_triage: bool = False) -> None:
        """Cuts the text; raises `Unreadable`."""
        self.source = source
        self._for_triage = for_triage
        text = source.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self._lines = text.split("\n")
        read = cut(text, self._lines)
        self.chunks = tuple(chunk for chunk, _ in read)
        self._trees = {chunk.index: statements for chunk, statements in read}
        self._gauge = DepthGauge(self._lines)
        self._bodies: dict[int, Body] = {}
        self._parts: dict[int, Parts | None] = {}
        self._shallow: set[int] = set()
        self._places: dict[tuple[int, Part | None], list[tuple[Place, Place]]] = {}

    def forget_trees(self) -> None:
        """Let go of what the cheap parser made: it takes much room, and can be made again of each chunk."""
        self._trees.clear()

    def lines(self) -> list[str]:
        """The rows of the text, without their line ends."""
        return self._lines

    def bounds(self) -> list[tuple[int, int]]:
        """Where each chunk starts and ends in the rows joined by line ends."""
        starts = [0, *accumulate(len(line) + 1 for line in self._lines)]
        return [(starts[chunk.first_row - 1], starts[chunk.last_row]) for chunk in self.chunks]

    def text(self, index: int) -> str:
        """The rows of a chunk, each with its line end."""
        chunk = self.chunks[index]
        return "\n".join(self._lines[chunk.first_row - 1 : chunk.last_row]) + "\n"

    def body(self, index: int) -> Body:
        """The statements of a chunk; raises `Unreadable` if it is too deep or libcst cannot parse it.

        The bodies of long functions are lowered when they are looked at; one that libcst cannot parse is empty.
        """
        if index not in self._bodies:
            self._bodies[index] = self._glanced(index) if self._for_triage else self._lowered(index)
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

        statements = self._statements(index)
        if not statements:
            return self._lowered(index)
        base, parts = index * CHUNK, self._parts_of(index)
        return lower_statements(statements, base) if parts is None else lower_parts(parts, base, LOWERER)

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
        parts = self._parts_of(index)
        part = parts.at(number) if parts is not None else None
        number -= part.first_node if part is not None else 0
        try:
            found = self._places_of(index, parts, part)
        except Unreadable:
            if not self._for_triage:
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
            statements = self._statements(index)
            if any(map(self._gauge.is_too_deep, statements)):
                raise Unreadable(self.chunks[index].first_row, 1, "nested too deeply")
        self._shallow.add(index)

    def _parts_of(self, index: int) -> Parts | None:
        """The parts of a chunk, None if it is lowered as a whole."""
        if not self._can_be_apart(index):
            return None
        if index not in self._parts:
            self._statements(index)
        return self._parts[index]

    def _can_be_apart(self, index: int) -> bool:
        return self.chunks[index].kind in ("class", "function")

    def _statements(self, index: int) -> list[ast.stmt]:
        """The statements of a chunk, none where only the tree parser can read it; its parts are found on the way."""
        statements = self._trees.pop(index, None)
        if statements is None:
            statements = self._parsed(index)
        if index not in self._parts:
            self._parts[index] = parts_of(self.chunks[index], statements, self._lines)
        return statements

    def _parsed(self, index: int) -> list[ast.stmt]:
        try:
            # The rows of the tree are those of the file.
            return parse("\n" * self._rows_before(index) + self.text(index)).body
        except Unreadable as error:
            if isinstance(error.__cause__, SyntaxError):
                return []
            raise

    def _rows_before(self, index: int) -> int:
        return self.chunks[index].first_row - 1


def open_module(source: Source, for_triage: bool = False) -> Module:
    """The module of a Python source; raises `Unreadable` if it cannot be parsed."""
    return Module(source, for_triage)
