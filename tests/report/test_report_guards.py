from __future__ import annotations

import json

import pytest
from report_samples import span

from gradguard.findings import GuardRecord, Position
from gradguard.report.guards import render_guards

OUTER = GuardRecord(
    "torch.no_grad",
    "with",
    span(5, 10, 25),
    Position(16, 30),
    "train",
    (
        ("value", span(6, 9, 13), "loss"),
        ("value", span(7, 9, 12), "out"),
        ("value", span(8, 9, 12), "out"),
        ("call", span(6, 16, 38), "criterion(model(x), y)"),
        ("backward", span(9, 9, 24), "loss.backward()"),
        ("update", span(10, 9, 17), "p -= lr * p.grad"),
        ("yield", span(12, 9, 14), "yield loss"),
        ("yield", span(11, 9, 14), "yield"),
        ("await", span(13, 9, 14), "await ready"),
    ),
)
INNER = GuardRecord("enable_grad", "call", span(8, 14, 25), None, None, (), depth=1)
CELL = GuardRecord("no_grad", "decorator", span(2, 1, 10, file="nb.ipynb", cell=4), Position(3, 9), "f")


def test_the_table_groups_by_file_and_tells_what_is_covered() -> None:
    assert render_guards([OUTER, INNER, CELL], width=96) == (
        """\
train.py
  lines  guard          form  function  covers
  5-16   torch.no_grad  with  train     values loss, out; calls criterion(model(x), y)
                                        backward at 9; updates at 10; yields at 11, 12
                                        awaits at 13
  8-?      enable_grad  call  (module)  nothing

nb.ipynb:cell 4
  lines  guard    form       function  covers
  2-3    no_grad  decorator  f         nothing
"""
    )


def test_many_values_are_counted_not_listed() -> None:
    covers = tuple(("value", span(row, 1, 2), f"v{row}") for row in range(1, 8))
    table = render_guards([GuardRecord("no_grad", "with", span(1, 1, 2), Position(9, 1), "f", covers)])
    assert "values v1, v2, v3, +4\n" in table


def test_a_narrow_screen_puts_the_covered_below() -> None:
    table = render_guards([OUTER], width=50)
    assert max(map(len, table.splitlines())) <= 50
    assert "\n      calls criterion(model(x), y); backward at 9\n" in table


def test_no_guard_is_said() -> None:
    assert render_guards([]) == "No guards found.\n"
    assert json.loads(render_guards([], "json")) == []


def test_json_holds_everything() -> None:
    first, second, third = json.loads(render_guards([OUTER, INNER, CELL], "json"))
    covers = first.pop("covers")
    assert first == {
        "guard": "torch.no_grad",
        "form": "with",
        "filename": "train.py",
        "cell": None,
        "location": {"row": 5, "column": 10},
        "end_location": {"row": 5, "column": 25},
        "ends": {"row": 16, "column": 30},
        "function": "train",
        "depth": 0,
    }
    assert len(covers) == len(OUTER.covers)
    assert covers[4] == {
        "kind": "backward",
        "filename": "train.py",
        "cell": None,
        "location": {"row": 9, "column": 9},
        "end_location": {"row": 9, "column": 24},
        "text": "loss.backward()",
    }
    assert (second["ends"], second["function"], second["depth"]) == (None, None, 1)
    assert third["cell"] == 4


def test_other_formats_are_refused_and_unknown_kinds_are_told() -> None:
    with pytest.raises(ValueError, match="unknown format 'csv'"):
        render_guards([OUTER], "csv")
    odd = GuardRecord("no_grad", "with", span(1, 1, 2), None, "f", (("spawn", span(3, 1, 2), "t.start()"),))
    assert "spawn at 3" in render_guards([odd])


def test_text_from_the_file_cannot_command_the_terminal() -> None:
    odd = GuardRecord(
        "no_grad", "with", span(1, 1, 2), None, "f", (("call", span(3, 1, 2), "d['\x1b[2J\n']"),)
    )
    assert r"calls d['\x1b[2J ']" in render_guards([odd])
