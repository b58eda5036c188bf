"""A Python file as the analysis sees it: top-level chunks that are lowered when asked for."""

from __future__ import annotations

from gradguard.findings import Span
from gradguard.ir.nodes import CHUNK, Body
from gradguard.lower.chunks import Chunk, cut
from gradguard.lower.members import Member, member_at, members
from gradguard.lower.unreadable import Unreadable
from gradguard.source import Source

__all__ = ["Chunk", "Module", "Unreadable", "open_module"]

Place = tuple[tuple[int, int], tuple[int, int]]


class Module:
    """One file cut into chunks.

    Opening costs one run of the cheap parser. `body`, `span` and `extent` parse a chunk into a libcst tree,
    and each remembers its own result.
    """

    def __init__(self, source: Source) -> None:
        """Cuts the text; raises `Unreadable`."""
        self.source = source
        text = source.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self._lines = text.split("\n")
        found = cut(text, self._lines)
        self.chunks = found.chunks
        self._too_deep = found.too_deep
        self._bodies: dict[int, Body] = {}
        self._starts: dict[int, tuple[int, ...]] = {}
        self._members: dict[int, tuple[Member, ...]] = {}
        self._places: dict[tuple[int, Member | None], list[tuple[Place, Place]]] = {}

    def lines(self) -> list[str]:
        """The rows of the text, without their line ends."""
        return self._lines

    def text(self, index: int) -> str:
        """The rows of a chunk, each with its line end."""
        chunk = self.chunks[index]
        return "\n".join(self._lines[chunk.first_row - 1 : chunk.last_row]) + "\n"

    def body(self, index: int) -> Body:
        """The statements of a chunk; raises `Unreadable` if it is too deep or libcst cannot parse it."""
        if index not in self._bodies:
            from gradguard.lower.python.parsing import lower_text

            lowered = lower_text(self._parsable(index), index * CHUNK, self._rows_before(index))
            self._starts[index] = lowered.starts
            self._bodies[index] = lowered.body
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

    def _place(self, at: int) -> tuple[Place, Place]:
        index, number = divmod(at, CHUNK)
        member = member_at(self._members_of(index), number)
        key = (index, member)
        if key not in self._places:
            from gradguard.lower.python.positions import member_places, places

            rows_before = self._rows_before(index)
            text = self._parsable(index)
            self._places[key] = (
                places(text, rows_before) if member is None else member_places(text, member, rows_before)
            )
        return self._places[key][number - (member.first_node if member else 0)]

    def _members_of(self, index: int) -> tuple[Member, ...]:
        if index not in self._members:
            is_class = self.chunks[index].kind == "class" and bool(self.body(index))
            self._members[index] = members(self.text(index), self._starts[index]) if is_class else ()
        return self._members[index]

    def _rows_before(self, index: int) -> int:
        return self.chunks[index].first_row - 1

    def _parsable(self, index: int) -> str:
        if index in self._too_deep:
            raise Unreadable(self.chunks[index].first_row, 1, "nested too deeply")
        return self.text(index)


def open_module(source: Source) -> Module:
    """The module of a Python source; raises `Unreadable` if it cannot be parsed."""
    return Module(source)
