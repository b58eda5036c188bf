"""Changing the code of a notebook without touching anything else in the file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gradguard.discover.decoding import Unreadable
from gradguard.discover.notebook import parse_notebook
from gradguard.findings import Edit, Position

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_CHARACTER = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|.", re.DOTALL
)
_SOURCE_KEYS = ("source", "input")

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class _Character:
    """One character of a cell and where its spelling stands in the file."""

    text: str
    start: int
    end: int


def edit_notebook(data: bytes, edits: Sequence[Edit]) -> bytes:
    """The notebook with the edits made; all bytes outside of them stay. Raises Unreadable."""
    raw = data.decode("utf-8")
    cells = _cells(raw, parse_notebook(data))
    changes: list[tuple[int, int, str]] = []
    for edit in edits:
        changes.extend(_changes(edit, cells[edit.span.cell or 0], ascii_only=raw.isascii()))
    for start, end, text in sorted(changes, key=lambda change: change[:2], reverse=True):
        raw = raw[:start] + text + raw[end:]
    return raw.encode("utf-8")


def _changes(edit: Edit, cell: Sequence[_Character], *, ascii_only: bool) -> Iterator[tuple[int, int, str]]:
    starts = _row_starts(cell)
    first, last = _index(edit.span.start, starts), _index(edit.span.end, starts)
    if not cell or last > len(cell):
        raise Unreadable("the notebook has changed since it was read")
    place = cell[first].start if first < len(cell) else cell[-1].end
    yield place, place, json.dumps(edit.text, ensure_ascii=ascii_only)[1:-1]
    for character in cell[first:last]:
        yield character.start, character.end, ""


def _row_starts(cell: Sequence[_Character]) -> list[int]:
    starts = [0]
    for index, character in enumerate(cell):
        followed_by_feed = index + 1 < len(cell) and cell[index + 1].text == "\n"
        if character.text == "\n" or (character.text == "\r" and not followed_by_feed):
            starts.append(index + 1)
    return starts


def _index(position: Position, starts: Sequence[int]) -> int:
    if position.row > len(starts):
        raise Unreadable("the notebook has changed since it was read")
    return starts[position.row - 1] + position.column - 1


def _cells(raw: str, document: Mapping[str, Any]) -> dict[int, list[_Character]]:
    """The characters of each cell's source, by the cell's number."""
    pieces: dict[Path, list[_Character]] = {}
    for path, start, end in _strings(raw):
        pieces[path] = list(_characters(raw, start + 1, end - 1))
    if isinstance(document.get("cells"), list):
        homes: list[Path] = [("cells", index) for index in range(len(document["cells"]))]
    else:
        homes = [
            ("worksheets", sheet, "cells", index)
            for sheet, worksheet in enumerate(document["worksheets"])
            for index in range(len(worksheet.get("cells", ())))
        ]
    return {number: _source(home, pieces) for number, home in enumerate(homes, start=1)}


def _source(home: Path, pieces: Mapping[Path, list[_Character]]) -> list[_Character]:
    for key in _SOURCE_KEYS:
        if (whole := pieces.get((*home, key))) is not None:
            return whole
        found: list[_Character] = []
        index = 0
        while (piece := pieces.get((*home, key, index))) is not None:
            found.extend(piece)
            index += 1
        if found:
            return found
    return []


def _characters(raw: str, start: int, end: int) -> Iterator[_Character]:
    for match in _CHARACTER.finditer(raw, start, end):
        spelling = match.group()
        text = json.loads(f'"{spelling}"') if spelling[0] == "\\" else spelling
        yield _Character(text, match.start(), match.end())


def _strings(raw: str) -> Iterator[tuple[Path, int, int]]:
    """Path, start and end of each string of a JSON text that may be a cell's source."""
    path: list[str | int] = []
    key = ""
    awaits_key = False
    for match in _TOKEN.finditer(raw):
        token = match.group()
        if token == "{":
            path.append("")
            awaits_key = True
        elif token == "[":
            path.append(0)
            awaits_key = False
        elif token in "}]":
            path.pop()
        elif token == ",":
            if isinstance(path[-1], int):
                path[-1] += 1
            awaits_key = isinstance(path[-1], str)
        elif token == ":":
            path[-1] = key
            awaits_key = False
        elif token[0] == '"' and awaits_key:
            key = json.loads(token, strict=False)
        elif token[0] == '"' and any(key in path[-2:] for key in _SOURCE_KEYS):
            yield tuple(path), match.start(), match.end()
