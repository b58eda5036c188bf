"""The inventory of guards."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from gradguard.findings import GuardRecord, Span
from gradguard.report.layout import one_line, printable, shorten, width_of
from gradguard.report.paint import Paint
from gradguard.report.record import position_record, span_record

GUARD_FORMATS: tuple[str, ...] = ("table", "json")

# Kinds in the order told, with what they are called; of the later ones each row matters.
_NAMED = {"value": "values", "call": "calls"}
_LOCATED = {"backward": "backward", "update": "updates", "yield": "yields", "await": "awaits"}
_TITLES = ("lines", "guard", "form", "function", "covers")
_GAP = "  "
_SHOWN = 3
_TEXT_WIDTH = 24
_COLUMN_WIDTH = 40
_DEEPEST = 8


def render_guards(
    records: Sequence[GuardRecord], format: str = "table", *, color: bool = False, width: int = 100
) -> str:
    """The guards in one of `GUARD_FORMATS`: a table a file for reading, or a JSON array with everything.

    Raises ValueError for another format.
    """
    if format == "json":
        return json.dumps([_record(record) for record in records], indent=2) + "\n"
    if format != "table":
        raise ValueError(f"unknown format {format!r} of guards, known are: {', '.join(GUARD_FORMATS)}")
    if not records:
        return "No guards found.\n"
    paint = Paint(color)
    tables = [
        "\n".join(_table(place, list(here), paint, width)) + "\n"
        for place, here in groupby(records, key=lambda record: _place(record.span))
    ]
    return "\n".join(tables)


def _place(span: Span) -> str:
    cell = f":cell {span.cell}" if span.cell is not None else ""
    return f"{printable(span.filename)}{cell}"


def _table(place: str, records: Sequence[GuardRecord], paint: Paint, width: int) -> Iterator[str]:
    rows = [_row(record) for record in records]
    columns = list(zip(_TITLES[:-1], *rows, strict=True))
    widths = [max(map(width_of, column)) for column in columns]
    indent = sum(widths) + len(_GAP) * (len(widths) + 1)
    # Where the covered column would be a sliver, it goes on lines of its own.
    below = width - indent < _TEXT_WIDTH
    room = max(width - (len(_GAP) * 3 if below else indent), _TEXT_WIDTH)
    yield paint("bold", place)
    yield paint("faint", _line(_TITLES[:-1], widths) + ("" if below else _TITLES[-1])).rstrip()
    for row, record in zip(rows, records, strict=True):
        covered = _join(_covered(record), room)
        head = _line(row, widths)
        if below:
            yield head.rstrip()
            yield from (_GAP * 3 + line for line in covered)
        else:
            yield (head + covered[0]).rstrip()
            yield from (" " * indent + line for line in covered[1:])


def _row(record: GuardRecord) -> tuple[str, ...]:
    return (
        _rows_of(record),
        "  " * min(record.depth, _DEEPEST) + shorten(record.guard, _COLUMN_WIDTH),
        one_line(record.form),
        shorten(record.function, _COLUMN_WIDTH) if record.function else "(module)",
    )


def _rows_of(record: GuardRecord) -> str:
    start = record.span.start.row
    if record.ends is None:
        return f"{start}-?"
    return f"{start}-{record.ends.row}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    return _GAP + "".join(
        cell + " " * (width - width_of(cell)) + _GAP for cell, width in zip(cells, widths, strict=True)
    )


def _covered(record: GuardRecord) -> Iterator[str]:
    kinds: dict[str, list[tuple[Span, str]]] = {}
    for kind, span, text in record.covers:
        kinds.setdefault(kind, []).append((span, text))
    for kind, title in _NAMED.items():
        if kind in kinds:
            texts = list(dict.fromkeys(shorten(text, _TEXT_WIDTH) for _, text in kinds[kind]))
            more = f", +{len(texts) - _SHOWN}" if len(texts) > _SHOWN else ""
            yield f"{title} {', '.join(texts[:_SHOWN])}{more}"
    for kind in [*_LOCATED, *(kind for kind in kinds if kind not in _NAMED and kind not in _LOCATED)]:
        if kind in kinds:
            rows = sorted({span.start.row for span, _ in kinds[kind]})
            yield f"{_LOCATED.get(kind, one_line(kind))} at {', '.join(map(str, rows))}"


def _join(parts: Iterator[str], room: int) -> list[str]:
    lines: list[str] = []
    for part in parts:
        if lines and width_of(lines[-1]) + 2 + width_of(part) <= room:
            lines[-1] += f"; {part}"
        else:
            lines.append(part)
    return lines or ["nothing"]


def _record(record: GuardRecord) -> dict[str, Any]:
    return {
        "guard": record.guard,
        "form": record.form,
        **span_record(record.span),
        "ends": position_record(record.ends) if record.ends else None,
        "function": record.function,
        "depth": record.depth,
        "covers": [{"kind": kind, **span_record(span), "text": text} for kind, span, text in record.covers],
    }
