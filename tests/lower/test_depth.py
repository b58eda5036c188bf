"""Code nested so deeply that a parser would crash, or take for ever, is told and costs nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from gradguard.lower.module import Module, Unreadable


def repeated(start: str, part: str, end: str, count: int) -> str:
    return start + part * count + end


SHAPES: dict[str, Callable[[int], str]] = {
    "sum": lambda n: repeated("x = a", " + a", "", n),
    "sum in rows": lambda n: repeated("x = (a", "\n + a", ")", n),
    "and": lambda n: repeated("x = a", " and a", "", n),
    "attribute": lambda n: repeated("x = a", ".b", "", n),
    "call": lambda n: repeated("x = a", "()", "", n),
    "subscript": lambda n: repeated("x = a", "[0]", "", n),
    "not": lambda n: repeated("x = ", "not ", "a", n),
    "power": lambda n: repeated("x = a", "**a", "", n),
    "parentheses": lambda n: "x = " + "(" * n + "a" + ")" * n,
    "lists": lambda n: "x = " + "[" * n + "a" + "]" * n,
    "lambda": lambda n: repeated("x = ", "lambda: ", "a", n),
    "choice": lambda n: repeated("x = ", "a if b else ", "c", n),
    "elif": lambda n: repeated("if a: pass\n", "elif b: pass\n", "", n),
    "strings": lambda n: repeated("x = (", "'a'\n", ")", n),
    "comparison": lambda n: repeated("x = a", " < a", "", n),
    "module name": lambda n: repeated("import a", ".a", "", n),
    "from module": lambda n: repeated("from a", ".a", " import b", n),
    "clauses": lambda n: repeated("x = [a", " for a in b", "]", n),
    "pattern in parentheses": lambda n: "match x:\n  case " + "(" * n + "1" + ")" * n + ": pass",
    "mapping pattern": lambda n: "match x:\n  case " + "{1: " * n + "a" + "}" * n + ": pass",
    "class pattern": lambda n: "match x:\n  case " + "A(" * n + ")" * n + ": pass",
    "blocks": lambda n: "".join(" " * i + "if a:\n" for i in range(n)) + " " * n + "pass",
    "decorators": lambda n: repeated("", "@a\n", "def f(): pass", n),
    "list": lambda n: repeated("x = [", "1, ", "]", n),
}


def outcome(opened: Callable[[str], Module], text: str) -> str:
    try:
        module = opened(text)
        for chunk in module.chunks:
            module.body(chunk.index)
            module.span(chunk.index * 1_000_000)
    except Unreadable as error:
        return error.reason
    return "lowered"


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("count", [5, 90, 3_000])
def test_nothing_crashes(opened: Callable[[str], Module], shape: str, count: int) -> None:
    started = time.process_time()
    told = outcome(opened, SHAPES[shape](count))
    assert time.process_time() - started < 10
    if count == 5:
        assert told == "lowered"


@pytest.mark.parametrize("shape", sorted(SHAPES.keys() - {"strings", "comparison", "decorators", "list"}))
def test_too_deep_is_told(opened: Callable[[str], Module], shape: str) -> None:
    assert outcome(opened, SHAPES[shape](1_000)) != "lowered"


@pytest.mark.parametrize(
    "shape", ["sum", "and", "attribute", "call", "choice", "lambda", "elif", "comparison"]
)
def test_what_people_write_is_lowered(opened: Callable[[str], Module], shape: str) -> None:
    assert outcome(opened, SHAPES[shape](90)) == "lowered"


def test_one_deep_chunk_leaves_the_others(opened: Callable[[str], Module]) -> None:
    module = opened("a = 1\n" + SHAPES["sum"](900) + "\nb = 2\n")
    with pytest.raises(Unreadable) as caught:
        module.body(1)
    assert caught.value.row == 2
    assert module.body(0)
    assert module.body(2)


def test_what_is_too_deep_to_be_measured_has_a_rough_place(
    opened: Callable[[str], Module], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradguard.lower.python.positions._FRAMES", 0)
    module = opened("a\nb = (" + "'b'\n" * 600 + ")\nc\n")
    at = module.body(1)[0].at
    span, extent = module.span(at), module.extent(at)
    assert (span.start.row, span.start.column, span.end.row, span.end.column) == (2, 1, 2, 9)
    assert (extent.start.row, extent.end.row, extent.end.column) == (2, 602, 2)
