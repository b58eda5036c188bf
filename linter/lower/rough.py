"""Cutting a text by its rows: where functions and classes stand is told by patterns, and nothing of them is parsed.

Whatever the patterns do not cover is left to the parser: there is no rough cut of it then.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache

from gradguard.frozen import dataclass

_DOUBTFUL = ("\0", "\f", '\\"""', "\\'''")
"""What makes the ends of strings, or the columns of rows, hard to tell."""
_FOUR = re.compile(r"\"\"\"\"(?!\"\")|''''(?!'')")
_TOKEN = re.compile(r"#[^\n]*|\"\"\"|'''|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
"""What quotes can stand in, and those that open a string over several rows."""
_PLAIN = r"[^()#\"']|\"[^\"\n]*\"|'[^'\n]*'|#[^\n]*\n"
_CLASS = re.compile(
    rf"\nclass[ \t]+\w+[ \t]*(?:\((?:{_PLAIN}|\((?:{_PLAIN})*\))*\))?[ \t]*:[ \t]*(?:#[^\n]*)?(?=\n)"
)
"""The header of a class, with calls of names in it."""
_DEF = re.compile(
    rf"\n[ \t]*(?:async[ \t]+)?def[ \t]+\w+[ \t]*\((?:{_PLAIN}|\((?:{_PLAIN})*\))*\)"
    r"[ \t]*(?:->[^\n#]*)?:[ \t]*(?:#[^\n]*)?(?=\n)"
)
_FIRST = re.compile(r"\n([ \t]+)(?=[^\s#])")


class Unclear(Exception):
    """The rows of a text do not tell where its statements are."""


@dataclass(frozen=True, slots=True)
class Block:
    """A function or a class, decorators included.

    Rows are those of the file, from 1; `header_row` is that of its `def` or `class`. The offsets are those of the
    line ends before its first row, before its header and behind its last row.
    """

    kind: str
    name: str
    is_async: bool
    first_row: int
    header_row: int
    last_row: int
    start: int
    header: int
    end: int

    @property
    def is_decorated(self) -> bool:
        """Whether decorators stand above its `def` or `class`."""
        return self.header_row > self.first_row


@dataclass(frozen=True, slots=True)
class Inside:
    """What stands in a class: the row of its first statement, how far that is indented, and its blocks."""

    first_row: int
    indent: str
    blocks: tuple[Block, ...]


class Rows:
    """A text whose blocks can be told without parsing it. Offsets count a line end before the first row."""

    def __init__(self, text: str) -> None:
        """Raises `Unclear` where it is not clear which rows lie in strings."""
        # Each row has a line end before it, so that the patterns can start with one.
        self._text = f"\n{text}\n"
        self._strings = list(_strings(self._text))

    def blocks(self) -> tuple[Block, ...]:
        """The functions and classes at the top level; raises `Unclear`."""
        return tuple(self._blocks("", 0, len(self._text) - 1, 1))

    def inside(self, block: Block) -> Inside:
        """What stands in a class of the top level; raises `Unclear`."""
        header = _CLASS.match(self._text, block.header)
        first = _FIRST.search(self._text, header.end()) if header is not None else None
        if first is None or first.start() >= block.end:
            raise Unclear
        row = block.header_row + self._text.count("\n", block.header, first.start())
        return Inside(row, first[1], tuple(self._blocks(first[1], first.start(), block.end, row)))

    def head(self, block: Block) -> str:
        """The text of a function up to its first statement, decorators included; "" where its end is not clear."""
        header = _DEF.match(self._text, block.header, block.end)
        return self._text[block.start + 1 : header.end()] if header is not None else ""

    def _blocks(self, indent: str, start: int, end: int, row: int) -> Iterator[Block]:
        """The blocks with this indentation between two line ends; `row` is the one behind the first of them."""
        opening: tuple[int, int] | None = None
        opened: tuple[re.Match[str], int, int, int] | None = None
        at = start
        for match in _statement(indent).finditer(self._text, start, end):
            place = match.start()
            if self._is_in_string(place):
                continue
            if self._text[place - 1] == "\\" and self._is_continued(place, match):
                continue
            row += self._text.count("\n", at, place)
            at = place
            if opened is not None:
                yield self._closed(*opened, place, row - 1)
                opened = None
            if match[3]:
                opening = opening or (place, row)
            elif match[1]:
                opened = (match, *(opening or (place, row)), row)
                opening = None
            elif opening is not None:
                raise Unclear
        if opening is not None:
            raise Unclear
        if opened is not None:
            yield self._closed(*opened, end, row + self._text.count("\n", at, end) - 1)

    def _closed(
        self, match: re.Match[str], start: int, first_row: int, header_row: int, end: int, last_row: int
    ) -> Block:
        """The block of which all is before this end, bar blank rows and comments."""
        while True:
            before = self._text.rfind("\n", 0, end)
            row = self._text[before + 1 : end].lstrip()
            if (row and row[0] != "#") or self._is_in_string(before):
                break
            end, last_row = before, last_row - 1
        if self._text[end - 1] == "\\":
            raise Unclear
        kind = "class" if match[1] == "class" else "function"
        is_async = match[1][0] == "a"
        return Block(kind, match[2], is_async, first_row, header_row, last_row, start, match.start(), end)

    def _is_continued(self, place: int, match: re.Match[str]) -> bool:
        """Whether the row that ends here, with a backslash, goes on in the next; raises `Unclear`."""
        row = self._text[self._text.rfind("\n", 0, place) + 1 : place]
        if row.lstrip().startswith("#"):
            return False
        if "#" in row or match[1] or match[3]:
            raise Unclear
        return True

    def _is_in_string(self, offset: int) -> bool:
        index = bisect_right(self._strings, (offset, len(self._text))) - 1
        return index >= 0 and offset < self._strings[index][1]


@cache
def _statement(indent: str) -> re.Pattern[str]:
    """A row with this indentation that starts a statement, with the line end before it."""
    return re.compile(rf"\n{indent}(?:(async[ \t]+def|def|class)[ \t]+(\w+)|(@)|[^\s#)\]}}])")


def _strings(text: str) -> Iterator[tuple[int, int]]:
    """Where strings over several rows start and end."""
    if any(map(text.__contains__, _DOUBTFUL)) or (('""""' in text or "''''" in text) and _FOUR.search(text)):
        raise Unclear
    end = 0
    double, single = text.find('"""'), text.find("'''")
    while double >= 0 or single >= 0:
        quotes, start = ('"""', double) if single < 0 or 0 <= double < single else ("'''", single)
        passed = _passed(text, max(text.rfind("\n", 0, start), end, 0), start)
        if passed == start:
            end = text.find(quotes, start + 3) + 3
            if end < 3:
                raise Unclear
            yield start, end
        else:
            end = passed
        if 0 <= double < end:
            double = text.find('"""', end)
        if 0 <= single < end:
            single = text.find("'''", end)


def _passed(text: str, before: int, start: int) -> int:
    """Where the comment or string ends that quotes stand in, their own place if they stand in none; `before` is a
    place in the same row that is outside of both."""
    head = text[before:start]
    if text[before] == "\n" and text[before - 1] == "\\":
        # The row may start in a string that goes on behind a backslash.
        raise Unclear
    if "#" not in head and '"' not in head and "'" not in head:
        return start
    for token in _TOKEN.finditer(text, before):
        if token.end() > start:
            break
    else:
        raise Unclear
    if token.start() > start:
        raise Unclear
    return start if token.start() == start else token.end()
