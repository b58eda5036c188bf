"""Rows of measurements, and the tables of a document that hold them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table: what was run, what it took, what it is compared with, and the limit.

    `measured` is what is held against `at_most` (or `at_least`): a ratio, or a value in `unit`. Where it `is_bound`
    the value is that much or more, as what it is compared with was stopped.
    """

    run: str
    took: str
    compared: str
    measured: float
    unit: str = "times"
    at_most: float | None = None
    at_least: float | None = None
    is_bound: bool = False

    @property
    def holds(self) -> bool | None:
        """Whether the limit is kept; None where there is none, or nobody knows."""
        if self.at_most is None and self.at_least is None:
            return None
        enough = self.at_least is None or self.measured >= self.at_least
        if self.is_bound and not enough:
            return None
        return enough and (self.at_most is None or self.measured <= self.at_most)

    def cells(self) -> tuple[str, ...]:
        """The texts of the line."""
        limits = [("at least", self.at_least), ("at most", self.at_most)]
        told = ", ".join(f"{word} {number(limit)}" for word, limit in limits if limit is not None)
        verdict = {None: "", True: "holds", False: "**does not hold**"}[self.holds]
        measured = f"{number(self.measured)} {self.unit}{' or more' if self.is_bound else ''}"
        return self.run, self.took, self.compared, measured, told, verdict


HEAD = ("run", "took", "compared with", "measured", "limit", "")


def ratio(ours: float, theirs: float) -> float:
    """How many times as much ours is. Raises ValueError where theirs is nothing."""
    if theirs <= 0:
        raise ValueError("nothing was measured to compare with")
    return ours / theirs


def number(value: float) -> str:
    """A number with as many digits as say something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def seconds(value: float) -> str:
    """Seconds, or milliseconds where that is less than one."""
    return f"{value * 1000:.0f} ms" if value < 1 else f"{number(value)} s"


def megabytes(value: int) -> float:
    """Bytes as millions of them."""
    return value / 1_000_000


def table(rows: Iterable[Row], head: tuple[str, ...] = HEAD) -> str:
    """The rows in Markdown, for people to read as text too."""
    lines = [head, *(row.cells() for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    drawn = [_line(line, widths) for line in lines]
    return "\n".join([drawn[0], _line(["-" * width for width in widths], widths), *drawn[1:]]) + "\n"


def _line(cells: Iterable[str], widths: Iterable[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"


def put(document: Path, name: str, text: str) -> None:
    """Replace what stands between the markers `<!-- name -->` and `<!-- /name -->` of a document.

    Raises ValueError where it has no such markers.
    """
    before = document.read_text(encoding="utf-8")
    pattern = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL)
    after, count = pattern.subn(lambda match: f"{match[1]}\n{text}\n{match[2]}", before)
    if count != 1:
        raise ValueError(f"`{document.name}` has no place for `{name}`")
    document.write_text(after, encoding="utf-8")
