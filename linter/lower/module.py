"""A Python file as the analysis sees it: top-level chunks that are lowered when asked for."""

from __future__ import annotations

from gradguard.findings import Span
from gradguard.ir.nodes import CHUNK, Body
from gradguard.lower.chunks import Chunk, cut
from gradguard.lower.unreadable import Unreadable
from gradguard.source import Source

__all__ = ["Chunk", "Module", "Unreadable", "open_module"]


class Module:
    """One file cut into chunks.

    Opening costs one run of the cheap parser. `body`, `span` and `extent` parse a chunk into a libcst tree,
    and each remembers its own result.
    """

    def __init__(self, source: Source) -> None:
        """Cuts the text; raises `Unreadable`."""
        self.source = source
        self._lines = source.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
        found = cut("\n".join(self._lines), self._lines)
        self.chunks = found.chunks
        self._too_deep = found.too_deep
        self._bodies: dict[int, Body] = {}
        self._places: dict[int, list[tuple[Place, Place]]] = {}

    def lines(self) -> list[str]:
        """The rows of the text, without their line ends."""
        return self._lines

    def text(self, index: int) -> str:
        """The rows of a chunk, each with its line end."""
        chunk = self.chunks[index]
        return "\n".join(self._lines[chunk.first_row - 1 : chunk.last_row]) + "\n"

    def body(self, index: int) -> Body:
        """The statements of a chunk; raises `Unreadable` if libcst cannot parse it."""
        if index not in self._bodies:
            from gradguard.lower.python.parsing import lower_text

            self._bodies[index] = lower_text(self._parsable(index), index * CHUNK, self._offset(index)).body
        return self._bodies[index]

    def span(self, at: int) -> Span:
        """Where the node with handle `at` is: of a statement with a block its header, else all of it."""
        return self._told(at, 0)

    def extent(self, at: int) -> Span:
        """Where the node with handle `at` starts and ends, blocks included."""
        return self._told(at, 1)

    def _told(self, at: int, which: int) -> Span:
        index, number = divmod(at, CHUNK)
        if index not in self._places:
            from gradguard.lower.python.positions import places

            self._places[index] = places(self._parsable(index), self._offset(index))
        (first_row, first_column), (last_row, last_column) = self._places[index][number][which]
        return self.source.span((first_row, first_column), (last_row, last_column))

    def _offset(self, index: int) -> int:
        return self.chunks[index].first_row - 1

    def _parsable(self, index: int) -> str:
        if index in self._too_deep:
            raise Unreadable(self.chunks[index].first_row, 1, "nested too deeply")
        return self.text(index)


Place = tuple[tuple[int, int], tuple[int, int]]


def open_module(source: Source) -> Module:
    """The module of a Python source; raises `Unreadable` if it cannot be parsed."""
    return Module(source)
