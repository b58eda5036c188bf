"""A text that is cut by its rows is cut as the parser cuts it, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_standard_library import sample
from test_triage import LONG_CLASS, OURS, made

from gradguard.lower import module as modules
from gradguard.lower.module import Miscut, Module, Unreadable, open_module
from gradguard.lower.reading import Reading
from gradguard.lower.rough import Rows, Unclear
from gradguard.lower.rough_cut import RoughCut
from gradguard.source import Source


@pytest.fixture(autouse=True)
def short_ones_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "LONG", 0)


def opened(text: str, reading: Reading) -> Module:
    return open_module(Source("file.py", "", text), reading)


def is_rough(module: Module) -> bool:
    return isinstance(vars(module)["_cut"], RoughCut)


def bodies(module: Module) -> Any:
    return [made(module.body(chunk.index)) for chunk in module.chunks]


CLEAR = {
    "decorators": "@a\n\n# why\n@b(\n    c,\n)\nasync def f(\n    x,\n):\n    pass\n    # so\n\n# not so\nx = 1\n"
    * 3,
    "strings at the margin": "def f():\n    \"\"\"\ndef g(): no\n@h\n    \"\"\"\n    return '''\n\nclass D:'''\n\ny = 2\n",
    "quotes in strings": "def f():\n    a('\"\"\"')\n    # '''\n    b(\"'''\")\n\ndef g(): return '''\ndef h():'''\n",
    "backslashes": "x = 1 + \\\n  2\ndef f():\n    return 'a\\\nb' + \\\n        c\nz = 3\n",
    "class with comments": "class A(\n    B['x'],  # (\n    *C(1),\n):  # d\n\n    # e\n    'doc'\n    x = 1; y = 2\n"
    + "    def f(self):\n        if x:\n            pass\n    # g\n\n    @h\n    class I:\n        j = 1\n"
    * 4,
    "try and if": "try:\n    import a\nexcept E:\n    a = None\nelse:\n    b = a\n\ndef f(): pass\nif f:\n    def g(): pass\n",
    "blanks in rows": "class A:\n    \n    def f(self):\n        pass\n    \n"
    + "    \n    def g(self): yield 1\n" * 9,
}


@pytest.mark.parametrize("name", CLEAR)
def test_clear_texts_are_cut_by_their_rows(name: str) -> None:
    exact, rough = opened(CLEAR[name], Reading.TREE), opened(CLEAR[name], Reading.ROWS)
    assert is_rough(rough)
    assert rough.chunks == exact.chunks
    assert bodies(rough) == bodies(exact)


@pytest.mark.parametrize("path", [*OURS, *sample(40_000, 60)], ids=lambda path: path.name)
def test_the_pieces_of_real_files_are_those_that_the_parser_finds(path: Path) -> None:
    try:
        text = path.read_text(encoding="utf-8")
        exact = opened(text, Reading.TREE)
    except (UnicodeDecodeError, Unreadable):
        pytest.skip("not a text of this Python")
    rough = opened(text, Reading.ROWS)
    assert rough.chunks == exact.chunks
    try:
        assert bodies(rough) == bodies(exact)
    except Miscut:
        pytest.skip("a text that is parsed whole")


def test_most_of_real_files_are_cut_by_their_rows() -> None:
    cut = [is_rough(opened(path.read_text(encoding="utf-8"), Reading.ROWS)) for path in OURS]
    assert sum(cut) > 0.95 * len(cut)


def test_positions_are_the_same() -> None:
    def places(reading: Reading) -> list[Any]:
        module = opened(LONG_CLASS, reading)
        (whole,) = module.body(0)
        handles = [whole.at, *(inner.at for inner in whole.body)]  # type: ignore[union-attr]
        return [(at, module.span(at), module.extent(at)) for at in handles]

    assert places(Reading.ROWS) == places(Reading.LIBCST)


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    return '''\n",
        "@a\nx = 1\n",
        "def f():\n    pass\n\f\nclass A: pass\n",
        'def f(): return \'a\\\n"""\\\n\'\n',
        'def f(): return """\\""""\n',
    ],
)
def test_unclear_rows_are_left_to_the_parser(text: str) -> None:
    with pytest.raises(Unclear):
        Rows(text).blocks()


def test_broken_statements_between_functions_are_told() -> None:
    with pytest.raises(Unreadable, match="2:"):
        opened("def f(): pass\nx = = 1\ndef g(): pass\n", Reading.ROWS)


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    return (\n",
        "def f():\n    x = = 1\n",
        "class A:\n    def f(self):\n        )\n" + "    def g(self): pass\n" * 12,
        "class A:\n    def f(\n    self):\n        pass\n" + "    def g(self): pass\n" * 12,
    ],
)
def test_pieces_that_are_something_else_are_found_out_when_they_are_read(text: str) -> None:
    module = opened(text, Reading.ROWS)
    with pytest.raises(Miscut):
        bodies(module)
