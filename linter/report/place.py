"""Where a finding stands: the line it names, and how a place and a path are spelt."""

from __future__ import annotations

import os
from collections.abc import Mapping

from gradguard.findings import Span
from gradguard.report.layout import printable
from gradguard.source import Source

_LONGEST_SNIPPET = 20


def spell(span: Span) -> str:
    """`file:row:column`, in a notebook `file:cell N:row:column`."""
    cell = f"cell {span.cell}:" if span.cell is not None else ""
    return f"{printable(span.filename)}:{cell}{span.start.row}:{span.start.column}"


def in_cell(span: Span) -> str:
    """What tells the place to formats that know of no cells: `cell N, row R, column C`, or ""."""
    if span.cell is None:
        return ""
    return f"cell {span.cell}, row {span.start.row}, column {span.start.column}"


def relative(filename: str, root: str) -> str:
    """`filename` relative to `root` where it lies below it, with forward slashes."""
    if root and os.path.isabs(filename):
        below = _below(filename, root)
        filename = below if below is not None else filename
    return filename.replace(os.sep, "/")


def uri(filename: str, root: str) -> str:
    """`filename` as a URI reference: relative below `root`, else with the file scheme; percent-encoded."""
    from urllib.parse import quote

    path = relative(filename, root)
    drive = len(path) > 1 and path[1] == ":" and os.sep == "\\"
    scheme = "file:///" if drive else "file://" if path.startswith("/") else ""
    return scheme + quote(_as_bytes(path), safe="/:" if drive else "/")


class Lines:
    """The lines of the sources, split once a file."""

    def __init__(self, sources: Mapping[str, Source]) -> None:
        """Takes the texts by the file names that spans use."""
        self._sources = sources
        self._split: dict[str, list[str]] = {}

    def get(self, filename: str, cell: int | None, row: int) -> str | None:
        """Row `row` (from 1, within its cell) of a file, or None where there is no such text."""
        source = self._sources.get(filename)
        if source is None or row < 1:
            return None
        first, count = _extent(source, cell)
        if count is not None and row > count:
            return None
        # Not splitlines: a form feed or U+2028 in a string ends no line of a program.
        lines = self._split.setdefault(filename, source.text.split("\n"))
        index = first + row - 2
        return lines[index] if 0 <= index < len(lines) else None

    def snippet(self, span: Span) -> str | None:
        """The text of a span, or None where it is not at hand or longer than is good to show."""
        if span.end.row - span.start.row >= _LONGEST_SNIPPET:
            return None
        found = [self.get(span.filename, span.cell, row) for row in range(span.start.row, span.end.row + 1)]
        lines = [line for line in found if line is not None]
        if not lines or len(lines) < len(found):
            return None
        lines[-1] = lines[-1][: max(span.end.column - 1, 0)]
        lines[0] = lines[0][max(span.start.column - 1, 0) :]
        return "\n".join(lines) or None


def _extent(source: Source, cell: int | None) -> tuple[int, int | None]:
    if cell is None:
        return 1, None
    for one in source.cells:
        if one.number == cell:
            return one.first_row, one.rows
    return 1, 0


def _as_bytes(path: str) -> bytes:
    # Names that are no UTF-8 on disk come as lone surrogates, and go out as the bytes they were.
    try:
        return path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return path.encode("utf-8", "replace")


def _below(filename: str, root: str) -> str | None:
    try:
        path = os.path.relpath(filename, root)
    except ValueError:  # another drive
        return None
    return None if path.split(os.sep)[0] == os.pardir else path
