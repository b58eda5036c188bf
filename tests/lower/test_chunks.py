from __future__ import annotations

import gc
import subprocess
import sys
import textwrap
import warnings
from collections.abc import Callable

import pytest

from gradguard.ir.nodes import CHUNK, Assign, Const, Evaluate
from gradguard.lower.module import Module, Unreadable, open_module
from gradguard.source import Cell, Source

Open = Callable[[str], Module]


def rows(module: Module) -> list[tuple[int, int]]:
    return [(chunk.first_row, chunk.last_row) for chunk in module.chunks]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("# only a comment\n", []),
        ("a\nb", [(1, 1), (2, 2)]),
        ("\n\na\n# between\n\nb\n", [(3, 3), (6, 6)]),
        ("a; b; c\nd\n", [(1, 1), (2, 2)]),
        ("a = (\n1); b = [\n2]; c\nd\n", [(1, 3), (4, 4)]),
        ("@one\n@two(\n)\ndef f():\n    pass\n\n# tail\nclass C: pass\n", [(1, 5), (8, 8)]),
        ("a = 1; \\\nb = 2\nc\n", [(1, 2), (3, 3)]),
        ("\\\na = 1\nb\n", [(1, 2), (3, 3)]),
        ("a = 1 \\\n\nb\n", [(1, 2), (3, 3)]),
        ("if a:\n    b\nelse:\n    c\nd\n", [(1, 4), (5, 5)]),
        ('a = """\nb\n"""\nc', [(1, 3), (4, 4)]),
        ("\fa\n\f\ndef f():\n\f    pass\n", [(1, 1), (3, 4)]),
        ("a\r\nb\rc\n", [(1, 1), (2, 2), (3, 3)]),
        ("\ufeffa\nb\n", [(1, 1), (2, 2)]),
        ("# coding: latin-1\na\n", [(2, 2)]),
        ("def f(a):\n    # type: (int) -> None\n    pass\nx = []  # type: list[int]\n", [(1, 3), (4, 4)]),
    ],
)
def test_rows(opened: Open, text: str, expected: list[tuple[int, int]]) -> None:
    module = opened(text)
    assert rows(module) == expected
    assert [chunk.index for chunk in module.chunks] == list(range(len(expected)))
    for chunk in module.chunks:
        assert module.text(chunk.index).count("\n") == chunk.last_row - chunk.first_row + 1
        module.body(chunk.index)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("def f(): pass", "function"),
        ("@a\nasync def f(): pass", "function"),
        ("class A: pass", "class"),
        ("import a", "import"),
        ("from a import b; import c", "import"),
        ("import a; b = a", "other"),
        ("if a:\n    import b\n", "other"),
        ("a = 1", "other"),
    ],
)
def test_kind(opened: Open, text: str, kind: str) -> None:
    (chunk,) = opened(text).chunks
    assert chunk.kind == kind


@pytest.mark.parametrize(
    ("text", "binds"),
    [
        ("def f(a=1): b = 2", ("f",)),
        ("class A:\n    b = 1\n    def c(self): pass", ("A",)),
        ("import a.b, c.d as e", ("a", "e")),
        ("from a import b, c as d", ("b", "d")),
        ("from a import *", ("*",)),
        ("a = b, *c = d[0] = e.f = []", ("a", "b", "c")),
        ("[a, (b, c)] = x", ("a", "b", "c")),
        ("a: int = 1", ("a",)),
        ("a: int", ()),
        ("a += 1", ("a",)),
        ("a.b += 1", ()),
        ("print(a)", ()),
        ("for a, b in c:\n    d = 1\nelse:\n    e = 1", ("a", "b", "d", "e")),
        ("while a:\n    b = 1", ("b",)),
        ("with a as b, c as (d, e):\n    f = 1", ("b", "d", "e", "f")),
        ("if a:\n    b = 1\nelif c:\n    d = 1\nelse:\n    def e(): f = 1", ("b", "d", "e")),
        (
            "try:\n    a = 1\nexcept E as e:\n    b = 1\nelse:\n    c = 1\nfinally:\n    d = 1",
            ("e", "a", "c", "d", "b"),
        ),
        (
            "match a:\n    case [b, *c] | {'k': b, **c}: d = 1\n    case A(e) as f: pass",
            ("b", "c", "e", "f", "d"),
        ),
        ("print(a := 1, [b := c for c in d])", ("a", "b")),
        ("x = lambda: (a := 1)", ("x",)),
        ("if a:\n    print(b := 1)", ("b",)),
        ("a = 1; a = 2; b = 3", ("a", "b")),
    ],
)
def test_binds(opened: Open, text: str, binds: tuple[str, ...]) -> None:
    (chunk,) = opened(text).chunks
    assert set(chunk.binds) == set(binds)
    assert len(chunk.binds) == len(binds)


def test_bodies_are_lowered_once_and_numbered_by_chunk(opened: Open) -> None:
    module = opened("a = 1\n\nb\n")
    first, second = module.body(0), module.body(1)
    assert isinstance(first[0], Assign)
    assert isinstance(second[0], Evaluate)
    assert first[0].at // CHUNK == 0
    assert second[0].at // CHUNK == 1
    assert module.body(0) is first


@pytest.mark.parametrize(
    ("text", "row", "column"),
    [
        ("a\nb = = 1\n", 2, 5),
        ("def f(:\n", 1, 7),
        ("a = (1,\n", 1, 5),
        ("if a:\nb\n", 2, 1),
        ("print 'a'\n", 1, 1),
        ("a\nb\0c\n", 2, 2),
        ("x = 'ä中' + '\ud800'\n", 1, 13),
        ("a = '''\n", 1, 5),
    ],
)
def test_unreadable(opened: Open, text: str, row: int, column: int) -> None:
    with pytest.raises(Unreadable) as caught:
        opened(text)
    assert (caught.value.row, caught.value.column) == (row, column)
    assert caught.value.reason
    assert not caught.value.reason.endswith(".")


@pytest.mark.parametrize("text", [r"a = '\d'", "a = 1if b else c", "a is 1", "assert (a, b)"])
def test_no_warning_is_shown(opened: Open, text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        module = opened(text)
        module.body(0)
        module.span(0)


def test_opening_imports_no_tree_parser() -> None:
    program = """
        import sys
        from gradguard.lower.module import open_module
        from gradguard.source import Source
        module = open_module(Source("a.py", "", "import torch\\nx = 1\\n"))
        assert "libcst" not in sys.modules, "opened"
        module.body(0)
        assert "libcst" in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], check=True)


def test_collector_is_left_as_it_was(opened: Open) -> None:
    opened("a = 1").body(0)
    assert gc.isenabled()
    gc.disable()
    try:
        opened("a = 1").body(0)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_cell_of_a_notebook() -> None:
    text = "a = 1\nb\n\nc = (\n  d)\n"
    module = open_module(Source("n.ipynb", "", text, cells=(Cell(1, 1, 2), Cell(2, 4, 2))))
    span = module.span(module.body(2)[0].at)
    assert (span.cell, span.start.row, span.end.row, span.end.column) == (2, 1, 2, 5)


def test_a_statement_beyond_libcst_is_replaced(opened: Open) -> None:
    module = opened("def f():\n    a = 1\n    (b): int\n    (c): int = (\n        2)\n    return a\n")
    first, third, last = module.body(0)[0].function.body
    assert first.value == Const(1, first.value.at)
    assert third.targets[0].id == "c"
    assert module.span(last.at).start.row == 6


def test_a_chunk_beyond_libcst_is_unreadable(opened: Open) -> None:
    module = opened("a = 1\nclass A(b, c=d, *e): pass\nf = 2\n")
    with pytest.raises(Unreadable) as caught:
        module.body(1)
    assert caught.value.row == 2
    assert module.body(2)
