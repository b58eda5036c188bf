"""Logical lines and comments of a Python text, told without a parser.

A parser refuses a text at its first fault and costs a hundred times more. Here only strings, comments and
brackets are told apart, which is enough to know where a statement's lines begin and end and which `#` opens
a comment.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(r"#[^\n]*|'''|\"\"\"|'|\"|[(\[{]|[)\]}]|\\\n|\n")
_INSIDE = {
    "'": re.compile(r"\\.|'|\n", re.DOTALL),
    '"': re.compile(r'\\.|"|\n', re.DOTALL),
    "'''": re.compile(r"\\.|'''", re.DOTALL),
    '"""': re.compile(r'\\.|"""', re.DOTALL),
}


@dataclass(frozen=True, slots=True)
class LogicalLine:
    """A stretch of text from the start of a row to the line end that closes a statement (offsets from 0).

    `end` stands behind the closing line end; `comments` are the offsets at which a comment opens and ends.
    """

    start: int
    end: int
    comments: tuple[tuple[int, int], ...]


def logical_line(text: str, start: int) -> LogicalLine:
    """The logical line of `text` that starts at offset `start`, which must be the start of a row."""
    depth = 0
    comments: list[tuple[int, int]] = []
    position = start
    while match := _TOKEN.search(text, position):
        token = match.group()
        position = match.end()
        if token in _INSIDE:
            position = _end_of_string(text, position, token)
        elif token[0] == "#":
            comments.append(match.span())
        elif token in "([{":
            depth += 1
        elif token in ")]}":
            depth = max(0, depth - 1)
        elif token == "\n" and depth == 0:
            return LogicalLine(start, position, tuple(comments))
    return LogicalLine(start, len(text), tuple(comments))


def logical_lines(text: str) -> Iterator[LogicalLine]:
    """All logical lines of `text` in order; they cover it without a gap."""
    position = 0
    while position < len(text):
        line = logical_line(text, position)
        yield line
        position = line.end


def _end_of_string(text: str, start: int, quote: str) -> int:
    for match in _INSIDE[quote].finditer(text, start):
        token = match.group()
        if token == quote:
            return match.end()
        if token == "\n":
            # An unclosed string ends with its row, so that one fault does not swallow the rows behind it.
            return match.start()
    return len(text)


class Rows:
    """Rows (from 1) and columns (from 1, in characters) of the offsets of a text with "\\n" line ends."""

    def __init__(self, text: str) -> None:
        """Count the rows of `text`."""
        self._length = len(text)
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def row(self, offset: int) -> int:
        """The row that holds `offset`."""
        return bisect_right(self._starts, offset)

    def position(self, offset: int) -> tuple[int, int]:
        """Row and column of `offset`."""
        row = self.row(offset)
        return row, offset - self._starts[row - 1] + 1

    def offset(self, row: int, column: int = 1) -> int:
        """The offset of a position; a position behind the text is its end."""
        if row > len(self._starts):
            return self._length
        return min(self._starts[row - 1] + column - 1, self._length)
