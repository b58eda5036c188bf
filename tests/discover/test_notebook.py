from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradguard.discover.decoding import Unreadable
from gradguard.discover.notebook import read_notebook
from gradguard.discover.notebook_edits import edit_notebook
from gradguard.findings import Edit, Position, Span
from gradguard.source import Cell


def notebook(*cells: dict[str, object], **metadata: object) -> bytes:
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}).encode()


def code(source: object, **more: object) -> dict[str, object]:
    return {"cell_type": "code", "source": source, "metadata": {}, "outputs": [], **more}


def text(source: str) -> dict[str, object]:
    return {"cell_type": "markdown", "source": source, "metadata": {}}


def insertion(cell: int, row: int, column: int, new: str) -> Edit:
    place = Position(row, column)
    return Edit(Span("n.ipynb", place, place, cell), new)


def test_code_cells_are_joined_and_numbered_over_all_cells() -> None:
    read = read_notebook(
        notebook(text("# title"), code(["import torch\n", "x = 1"]), text("more"), code("y = 2\n"))
    )
    assert read.text == "import torch\nx = 1\ny = 2\n"
    assert read.cells == (Cell(2, 1, 2), Cell(4, 3, 1))


def test_an_empty_cell_keeps_its_row() -> None:
    read = read_notebook(notebook(code([]), code("y = 2")))
    assert read.text == "\ny = 2\n"
    assert read.cells == (Cell(1, 1, 1), Cell(2, 2, 1))


def test_nbformat_3() -> None:
    cells = [{"cell_type": "code", "input": ["a = 1\n", "b = 2"], "language": "python", "outputs": []}]
    data = json.dumps(
        {"worksheets": [{"cells": cells}, {"cells": cells}], "nbformat": 3, "metadata": {}}
    ).encode()
    read = read_notebook(data)
    assert read.text == "a = 1\nb = 2\n" * 2
    assert [cell.number for cell in read.cells] == [1, 2]
    changed = edit_notebook(data, [insertion(2, 1, 6, "  # here")])
    assert read_notebook(changed).text == "a = 1\nb = 2\na = 1  # here\nb = 2\n"


def test_line_ends_and_magics() -> None:
    read = read_notebook(notebook(code(["%time loss.backward()\r\n", "!ls"]), code("x = 1\ry = 2")))
    assert read.text == "if 1: loss.backward()\npass\nx = 1\ny = 2\n"
    assert read.written == "%time loss.backward()\n!ls\nx = 1\ny = 2\n"


@pytest.mark.parametrize(
    ("metadata", "language"),
    [
        ({}, "python"),
        ({"kernelspec": {"language": "julia"}}, "julia"),
        ({"language_info": {"name": "R"}}, "r"),
        ({"language_info": {"name": "ipython"}}, "python"),
        ({"kernelspec": {"name": "python3", "language": "python"}}, "python"),
        ({"kernelspec": "odd", "language_info": 3}, "python"),
    ],
)
def test_language_of_the_kernel(metadata: dict[str, object], language: str) -> None:
    assert read_notebook(notebook(code("x = 1"), **metadata)).language == language


def test_a_cell_in_another_language_is_left_out() -> None:
    cell = code("select 1", metadata={"vscode": {"languageId": "sql"}})
    assert read_notebook(notebook(cell, code("x = 1"))).cells == (Cell(2, 1, 1),)


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"[]",
        b"{}",
        b'{"cells": 3}',
        b'{"cells": [], "a": \xff}',
        b'{"cells": [{"cell_type": "code", "source": 3}]}',
        b'{"cells": [{"cell_type": "code", "source": [3]}]}',
        b"[" * 100_000,
    ],
)
def test_what_is_no_notebook_is_told(data: bytes) -> None:
    with pytest.raises(Unreadable):
        read_notebook(data)


@pytest.mark.parametrize("data", [b"", b"  \n", b'{"cells": []}', b'{"cells": [7, null, {}]}'])
def test_a_notebook_without_code_is_empty(data: bytes) -> None:
    assert read_notebook(data).text == ""


def test_half_a_surrogate_pair_is_replaced() -> None:
    read = read_notebook(b'{"cells": [{"cell_type": "code", "source": "x = \'\\ud800\'"}]}')
    assert read.text == "x = '\ufffd'\n"


AWKWARD = (
    b"\xef\xbb\xbf"
    + """{
 "metadata" : {"z": 1.50, "a": "\\u00e9", "source": ["not me"]},
   "cells": [
  {"source": "no code", "cell_type": "markdown"},
  {"outputs": [{"source": ["nor me"], "text": ["}{\\"]["]}],
   "cell_type": "code",
   "source": [
     "s = 'é\\t\\\\ \\ud83d\\ude00 \\u00e9'\\n",
     "loss.backward()\\r\\n",   "last = 1"
   ]},
  {"cell_type":"code","source":"one = 1\\ntwo = 2"}
 ],
 "nbformat": 4 }""".encode()
)


def test_edits_leave_every_other_byte_alone() -> None:
    edits = [
        insertion(2, 1, 14, "  # é"),
        insertion(2, 2, 16, "  # noqa: GRD101"),
        insertion(2, 3, 9, "  # end"),
        insertion(3, 2, 8, '  # "q"'),
    ]
    expected = (
        AWKWARD.replace(b"\\u00e9'\\n", "\\u00e9'  # é\\n".encode())
        .replace(b"backward()", b"backward()  # noqa: GRD101")
        .replace(b"last = 1", b"last = 1  # end")
        .replace(b"two = 2", b'two = 2  # \\"q\\"')
    )
    assert edit_notebook(AWKWARD, edits) == expected


def test_a_replacement_over_pieces_of_a_cell() -> None:
    edit = Edit(Span("n.ipynb", Position(2, 6), Position(3, 5), 2), "X")
    changed = read_notebook(edit_notebook(AWKWARD, [edit])).text
    assert changed.split("\n")[1] == "loss.X = 1"


def test_an_edit_without_a_place_is_refused() -> None:
    with pytest.raises(Unreadable, match="changed"):
        edit_notebook(AWKWARD, [insertion(3, 9, 1, "x")])


@given(st.lists(st.text(max_size=30), min_size=1, max_size=4), st.data())
def test_an_insertion_into_any_cell_is_read_back(sources: list[str], data: st.DataObject) -> None:
    cells = [{"cell_type": "code", "source": source} for source in sources]
    for ascii_only in (True, False):
        raw = json.dumps({"cells": cells}, ensure_ascii=ascii_only, indent=1).encode()
        number = data.draw(st.integers(1, len(sources)))
        rows = re.split(r"\r\n|\r|\n", sources[number - 1])
        row = data.draw(st.integers(1, len(rows)))
        if not sources[number - 1]:
            continue
        changed = json.loads(edit_notebook(raw, [insertion(number, row, len(rows[row - 1]) + 1, " # ü")]))
        rows[row - 1] += " # ü"
        assert re.split(r"\r\n|\r|\n", changed["cells"][number - 1]["source"]) == rows
