"""The arithmetic of the speed bench, its order of runs, and how it writes tables. Nothing is timed."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from timing.corpora import copy, joined, size_of, with_statement
from timing.processes import Bench, Call, Failed, Series, Usage
from timing.tables import Row, number, put, ratio, seconds, table


def series(*walls: float) -> Series:
    return Series(tuple(Usage(wall, wall / 2, int(wall * 100)) for wall in walls))


def test_medians() -> None:
    odd = series(5.0, 1.0, 100.0)
    assert (odd.wall, odd.processor, odd.memory) == (5.0, 2.5, 10_000)
    assert series(4.0, 1.0, 2.0, 90.0).wall == 3.0


def test_ratios() -> None:
    assert ratio(3.0, 2.0) == 1.5
    with pytest.raises(ValueError, match="nothing was measured"):
        ratio(3.0, 0.0)


@pytest.mark.parametrize(
    ("at_least", "at_most", "measured", "holds"),
    [
        (None, None, 5.0, None),
        (None, 10, 10.0, True),
        (None, 10, 10.01, False),
        (1.7, None, 1.7, True),
        (1.7, None, 1.69, False),
        (0.85, 1.15, 0.8, False),
        (0.85, 1.15, 1.0, True),
        (0.85, 1.15, 1.2, False),
        (0, None, -1.0, False),
    ],
)
def test_limits(at_least: float | None, at_most: float | None, measured: float, holds: bool | None) -> None:
    assert Row("run", "1 s", "", measured, at_least=at_least, at_most=at_most).holds is holds


def test_a_comparison_with_what_was_stopped() -> None:
    stopped = [Row("run", "1 s", "", value, "times", at_least=100, is_bound=True) for value in (60.0, 120.0)]
    assert [row.holds for row in stopped] == [None, True]
    assert stopped[0].cells()[3:] == ("60.0 times or more", "at least 100", "")


def test_numbers() -> None:
    assert [number(value) for value in (0.123, 1.0, 12.34, 123.4, 1_234_567.0)] == [
        "0.12",
        "1.00",
        "12.3",
        "123",
        "1,234,567",
    ]
    assert [seconds(value) for value in (0.0214, 0.9994, 1.0, 61.2)] == [
        "21 ms",
        "999 ms",
        "1.00 s",
        "61.2 s",
    ]


def test_a_table() -> None:
    rows = [
        Row("cold, torch", "4.00 s", "ruff, 400 ms", 10.0, at_most=10),
        Row("memory", "500 MB", "", 500.0, "MB", at_most=400),
        Row("Rust", "1 s", "10 lines", 10.0, "lines/s"),
    ]
    assert table(rows).splitlines() == [
        "| run         | took   | compared with | measured     | limit        |                   |",
        "| ----------- | ------ | ------------- | ------------ | ------------ | ----------------- |",
        "| cold, torch | 4.00 s | ruff, 400 ms  | 10.0 times   | at most 10.0 | holds             |",
        "| memory      | 500 MB |               | 500 MB       | at most 400  | **does not hold** |",
        "| Rust        | 1 s    | 10 lines      | 10.0 lines/s |              |                   |",
    ]


def test_tables_are_put_between_their_markers(tmp_path: Path) -> None:
    document = tmp_path / "speed.md"
    document.write_text("# Title\n\n<!-- a -->\nold\n<!-- /a -->\n\ntext\n\n<!-- b -->\n<!-- /b -->\n")
    put(document, "a", r"new \1 table" + "\n")
    assert document.read_text() == (
        "# Title\n\n<!-- a -->\n\nnew \\1 table\n\n<!-- /a -->\n\ntext\n\n<!-- b -->\n<!-- /b -->\n"
    )
    put(document, "a", "newer\n")
    put(document, "b", "other\n")
    assert "new \\1" not in document.read_text()
    assert "<!-- a -->\n\nnewer\n\n<!-- /a -->" in document.read_text()
    assert "<!-- b -->\n\nother\n\n<!-- /b -->" in document.read_text()
    with pytest.raises(ValueError, match="no place for `c`"):
        put(document, "c", "")


def test_every_part_has_a_place_in_the_document() -> None:
    from speed import DOCUMENT, PARTS

    text = DOCUMENT.read_text(encoding="utf-8")
    for part in (*PARTS, "machine", "corpora"):
        assert f"<!-- {part} -->\n" in text
        assert f"<!-- /{part} -->\n" in text


def bench(folder: Path, rounds: int = 3) -> Bench:
    return Bench(folder, {"PATH": os.environ.get("PATH", "")}, rounds)


def writing(text: str, **others: object) -> Call:
    code = f"open('log', 'a').write({text!r})"
    return Call([sys.executable, "-c", code], **others)  # type: ignore[arg-type]


def test_calls_are_run_in_turn_after_a_warm_up(tmp_path: Path) -> None:
    prepared: list[str] = []
    calls = {"a": writing("a", before=lambda: prepared.append("a")), "b": writing("b")}
    found = bench(tmp_path).in_turn(calls)
    assert (tmp_path / "log").read_text() == "ab" + "ababab"
    assert prepared == ["a"] * 4
    assert {name: len(one.runs) for name, one in found.items()} == {"a": 3, "b": 3}
    assert all(run.wall > 0 and run.memory > 1_000_000 and run.finished for run in found["a"].runs)


def test_a_call_that_fails_ends_the_bench(tmp_path: Path) -> None:
    failing = Call([sys.executable, "-c", "import sys; sys.exit('the reason')"], codes=frozenset({0}))
    with pytest.raises(Failed, match="the reason"):
        bench(tmp_path).in_turn({"a": failing})


def test_a_call_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    usage = bench(tmp_path).once(Call([sys.executable, "-c", "import time; time.sleep(600)"]), limit=0.2)
    assert not usage.finished
    assert bench(tmp_path).once(writing("x"), limit=600).finished


def test_corpora(tmp_path: Path) -> None:
    (tmp_path / "from/inner").mkdir(parents=True)
    for name, text in (("a.py", "x = 1\n"), ("inner/b.pyi", "y: int\nz: int\n"), ("c.txt", "no\n")):
        (tmp_path / "from" / name).write_text(text)
    copied = copy(tmp_path / "from", tmp_path / "to")
    assert sorted(path.name for path in copied.rglob("*") if path.is_file()) == ["a.py", "b.pyi"]
    assert size_of(copied) == (2, 3)
    files = [tmp_path / "from/a.py", tmp_path / "from/inner/b.pyi"]
    assert joined(files, 1) == "x = 1\n\n\n"
    assert joined(files, 100).count("\n") == 7


def test_a_statement_is_added_to_the_last_function() -> None:
    text = (
        "def f():\n    return 1\n\n\nclass C:\n    def g(self):\n        x = 1\n        return x\n\n\ny = 1\n"
    )
    assert with_statement(text, "_ = 1") == text.replace(
        "        return x", "        _ = 1\n        return x"
    )
    with pytest.raises(ValueError, match="no function"):
        with_statement("def f(): return 1\n", "_ = 1")
