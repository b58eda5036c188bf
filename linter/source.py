"""A source text and where its lines come from."""

from __future__ import annotations

from dataclasses import dataclass

from gradguard.findings import Position, Span


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell of a notebook: its number (from 1 over all cells) and the first row of its text in `Source.text`."""

    number: int
    first_row: int
    rows: int


@dataclass(frozen=True, slots=True)
class Source:
    """One file to check.

    `filename` is the name as shown to the user, `path` the absolute path ("" for standard input), `text` the
    decoded text with "\\n" line ends (of a notebook: its code cells joined, magics blanked out), `language`
    python or rust.
    """

    filename: str
    path: str
    text: str
    language: str = "python"
    cells: tuple[Cell, ...] = ()

    def span(self, start: tuple[int, int], end: tuple[int, int]) -> Span:
        """The span of rows and columns (both from 1) of `text`, told in the file's own terms."""
        for cell in reversed(self.cells):
            if start[0] >= cell.first_row:
                shift = cell.first_row - 1
                return Span(
                    self.filename,
                    Position(start[0] - shift, start[1]),
                    Position(end[0] - shift, end[1]),
                    cell.number,
                )
        return Span(self.filename, Position(*start), Position(*end))
