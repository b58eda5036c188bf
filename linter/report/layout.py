"""How wide text is on a screen, and what of it can be shown there."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

_TAB = 4
_CUT = "..."
# These reorder what stands around them, so that code would be shown otherwise than it is run.
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def printable(text: str) -> str:
    """`text` with control characters, reordering marks and undecodable bytes spelt as escapes."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_shown, text))


def one_line(text: str) -> str:
    """`text` on one line, safe to print."""
    return printable(" ".join(part.strip() for part in text.splitlines() if part.strip()))


def width_of(text: str) -> int:
    """The columns that printable `text` takes on a screen."""
    if text.isascii():
        return len(text)
    return sum(map(_width, text))


def fold(text: str, width: int) -> list[str]:
    """`text` folded between words into lines of at most `width` columns; longer words stand alone."""
    lines: list[str] = []
    for paragraph in text.splitlines() or [""]:
        line = ""
        for word in printable(paragraph).split():
            if line and width_of(line) + 1 + width_of(word) > width:
                lines.append(line)
                line = word
            else:
                line = f"{line} {word}" if line else word
        lines.append(line)
    return lines


def shorten(text: str, width: int) -> str:
    """`text` on one line and cut to `width` columns."""
    text = one_line(text)
    if width_of(text) <= width:
        return text
    kept, room = "", width - len(_CUT)
    for char in text:
        room -= _width(char)
        if room < 0:
            break
        kept += char
    return kept + _CUT


@dataclass(frozen=True, slots=True)
class Drawn:
    """A piece of a source line as shown: characters `first` to `last` of it, and the column each starts at.

    `edges[i]` is the screen column, from 0, of character `first + i`; one more edge marks the end.
    """

    text: str
    first: int
    last: int
    edges: tuple[int, ...]

    def column(self, index: int) -> int:
        """The screen column of character `index` (from 0), clamped to what is shown."""
        return self.edges[min(max(index, self.first), self.last) - self.first]

    def holds(self, index: int) -> bool:
        """Whether character `index` is shown."""
        return self.first <= index < self.last


def draw_line(line: str, near: int, room: int) -> Drawn:
    """The source line `line`, tabs expanded, cut to `room` columns so that character `near` is seen."""
    whole = _draw(line, 0, len(line), room)
    if whole.last == len(line):
        return whole
    inner = max(room - 2 * len(_CUT), 1)
    # Tabs and wide characters in front must not push `near` out of sight: leave them an eighth of the room.
    first = 0 if near < whole.last and whole.column(near) < inner * 3 // 4 else max(0, near - inner // 8)
    return _with_cuts(_draw(line, first, len(line), inner), len(line))


def _draw(line: str, first: int, last: int, room: int) -> Drawn:
    pieces: list[str] = []
    edges = [0]
    for index in range(first, last):
        char = line[index]
        piece = " " * (_TAB - edges[-1] % _TAB) if char == "\t" else _shown(char)
        edge = edges[-1] + width_of(piece)
        # An endless run of zero-width characters takes no room and still has to end.
        if edge > room or len(pieces) > room * 4:
            last = index
            break
        pieces.append(piece)
        edges.append(edge)
    return Drawn("".join(pieces), first, last, tuple(edges))


def _with_cuts(drawn: Drawn, length: int) -> Drawn:
    before = _CUT if drawn.first else ""
    after = _CUT if drawn.last < length else ""
    edges = tuple(edge + len(before) for edge in drawn.edges)
    return Drawn(before + drawn.text + after, drawn.first, drawn.last, edges)


def _shown(char: str) -> str:
    if char.isprintable() and char not in _REORDERING:
        return char
    # Of the unprintable ones only spaces and joiners may stand as they are.
    if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp", "Co", "Cn") or char in _REORDERING:
        return ascii(char)[1:-1]
    return char


def _width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
