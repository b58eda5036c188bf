"""Code frames: the marked lines of each file, with what is said of them underneath."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradguard.report.layout import Drawn, draw_line, fold, width_of
from gradguard.report.marks import Mark, Place, by_place
from gradguard.report.paint import Paint
from gradguard.report.place import Lines, spell

_LABEL_ROOM = 30


@dataclass(frozen=True, slots=True)
class Frame:
    """Draws code frames; `severity` colours the primary mark."""

    lines: Lines
    paint: Paint
    width: int
    severity: str

    def draw(self, marks: tuple[Mark, ...]) -> Iterator[str]:
        """The screen lines of the frame; nothing where there is neither a text nor a label to show."""
        digits = max((len(str(mark.span.start.row)) for mark in marks), default=1)
        places = by_place(marks)
        for place, here in places.items():
            drawn = list(self._draw_place(place, here, digits))
            if not drawn:
                continue
            yield (
                f"{' ' * digits}{self.paint('gutter', '-->')} {spell(here[0].span)}"
                if len(places) > 1
                else self._gutter(digits)
            )
            yield from drawn

    def _draw_place(self, place: Place, marks: list[Mark], digits: int) -> Iterator[str]:
        rows: dict[int, list[Mark]] = {}
        for mark in marks:
            rows.setdefault(mark.span.start.row, []).append(mark)
        for row, following in pairwise([*sorted(rows), 0]):
            yield from self._draw_row(row, self.lines.get(*place, row), rows[row], digits)
            yield from self._bridge(place, row, following, digits)

    def _bridge(self, place: Place, row: int, following: int, digits: int) -> Iterator[str]:
        between = self.lines.get(*place, row + 1)
        if following == row + 2 and between is not None:
            yield self._code(draw_line(between, 0, self._room(digits)), row + 1, digits)
        elif following > row + 1:
            yield self.paint("gutter", f"{'...':>{digits}}")

    def _draw_row(self, row: int, line: str | None, marks: list[Mark], digits: int) -> Iterator[str]:
        if line is None:
            labels = [mark for mark in marks if mark.label]
            if labels:
                yield self._gutter(digits, f"{row}")
            for mark in labels:
                yield from self._say(mark, "", 0, digits)
            return
        # What lies too far to the right of what a cut line shows gets the line once more.
        waiting = sorted(marks, key=lambda mark: mark.span.start.column)
        while waiting:
            drawn = draw_line(line, _start(waiting[0], line), self._room(digits))
            seen = [mark for mark in waiting if mark is waiting[0] or _is_seen(mark, line, drawn)]
            waiting = [mark for mark in waiting if mark not in seen]
            yield self._code(drawn, row, digits)
            for mark in (mark for mark in marks if mark in seen):
                yield from self._underline(mark, line, drawn, digits)

    def _underline(self, mark: Mark, line: str, drawn: Drawn, digits: int) -> Iterator[str]:
        span = mark.span
        runs_on = span.end.row > span.start.row
        first = drawn.column(_start(mark, line))
        last = drawn.column(len(line.rstrip()) if runs_on else span.end.column - 1)
        sign = "^" if mark.primary else "-"
        label = f"{mark.label} (to line {span.end.row})".lstrip() if runs_on else mark.label
        yield from self._say(Mark(span, label, mark.primary), sign * max(last - first, 1), first, digits)

    def _say(self, mark: Mark, sign: str, indent: int, digits: int) -> Iterator[str]:
        role = self.severity if mark.primary else "step"
        lead = self._gutter(digits) + " " * (indent + 1)
        room = self._room(digits)
        if not mark.label or indent + len(sign) + 1 + width_of(mark.label) <= room:
            yield lead + self.paint(role, f"{sign} {mark.label}".strip())
            return
        if sign:
            yield lead + self.paint(role, sign)
        indent = min(indent, max(room - _LABEL_ROOM, 0))
        for text in fold(mark.label, room - indent):
            yield self._gutter(digits) + " " * (indent + 1) + self.paint(role, text)

    def _code(self, drawn: Drawn, row: int, digits: int) -> str:
        return f"{self._gutter(digits, str(row))} {drawn.text}".rstrip()

    def _gutter(self, digits: int, row: str = "") -> str:
        return self.paint("gutter", f"{row:>{digits}} |")

    def _room(self, digits: int) -> int:
        return max(self.width - digits - 3, _LABEL_ROOM)


def _start(mark: Mark, line: str) -> int:
    return min(max(mark.span.start.column - 1, 0), len(line))


def _is_seen(mark: Mark, line: str, drawn: Drawn) -> bool:
    at = _start(mark, line)
    return drawn.holds(at) or at == drawn.last == len(line)
