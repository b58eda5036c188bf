"""A Jupyter notebook's code cells as one Python text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gradguard.discover.decoding import Unreadable, with_newlines
from gradguard.discover.magics import plain_python
from gradguard.source import Cell

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Notebook:
    """The code of a notebook: `text` with "\\n" line ends, `cells` where each code cell lies in it.

    `written` is the text with magics as they were, row for row the same; `language` is that of the kernel,
    "python" where the notebook names none.
    """

    text: str
    written: str
    cells: tuple[Cell, ...]
    language: str


def read_notebook(data: bytes) -> Notebook:
    """Read a notebook of nbformat 3 or 4. Raises Unreadable where `data` is none."""
    document = parse_notebook(data)
    language = kernel_language(document)
    if language != "python":
        return Notebook("", "", (), language)
    plain: list[str] = []
    written: list[str] = []
    cells: list[Cell] = []
    row = 1
    for number, cell in code_cells(document):
        text = _newlines(cell_source(cell))
        if not text.endswith("\n"):
            text += "\n"
        rows = text.count("\n")
        plain.append(plain_python(text))
        written.append(text)
        cells.append(Cell(number, row, rows))
        row += rows
    return Notebook("".join(plain), "".join(written), tuple(cells), language)


def parse_notebook(data: bytes) -> Mapping[str, Any]:
    """The notebook as JSON. Raises Unreadable."""
    if not data.strip():
        return {"cells": []}
    try:
        document = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Unreadable(f"not valid utf-8 (byte 0x{data[error.start]:02x} at {error.start})") from None
    except json.JSONDecodeError as error:
        raise Unreadable(f"not a notebook: no JSON ({error.msg.lower()}, line {error.lineno})") from None
    except (RecursionError, ValueError):
        raise Unreadable("not a notebook: its JSON cannot be read") from None
    if not isinstance(document, dict) or not isinstance(
        document.get("cells", document.get("worksheets")), list
    ):
        raise Unreadable("not a notebook: no list of cells")
    return document


def code_cells(document: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each Python code cell with its number, counted from 1 over the cells of every kind."""
    for number, cell in enumerate(_all_cells(document), start=1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code" and _is_python(cell):
            yield number, cell


def cell_source(cell: Mapping[str, Any]) -> str:
    """The text of a cell, however it is stored. Raises Unreadable where it is no text."""
    source = cell.get("source", cell.get("input", ""))
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(piece, str) for piece in source):
        return "".join(source)
    raise Unreadable("not a notebook: a cell whose source is no text")


def kernel_language(document: Mapping[str, Any]) -> str:
    """The language of the kernel in lower case; "python" for every flavour of it and where none is named."""
    metadata = _mapping(document.get("metadata"))
    named = _mapping(metadata.get("language_info")).get("name") or _mapping(metadata.get("kernelspec")).get(
        "language"
    )
    if not isinstance(named, str) or not named:
        return "python"
    language = named.lower()
    return "python" if "python" in language or language == "pyspark" else language


def _all_cells(document: Mapping[str, Any]) -> Iterator[Any]:
    if isinstance(cells := document.get("cells"), list):
        yield from cells
        return
    for worksheet in document.get("worksheets", ()):
        yield from _mapping(worksheet).get("cells", ())


def _is_python(cell: Mapping[str, Any]) -> bool:
    editor = _mapping(_mapping(cell.get("metadata")).get("vscode")).get("languageId")
    named = editor or cell.get("language") or "python"
    return isinstance(named, str) and "python" in named.lower()


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _newlines(text: str) -> str:
    # JSON can name half a surrogate pair, which no encoding can write.
    return _SURROGATE.sub("\ufffd", with_newlines(text))
