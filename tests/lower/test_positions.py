from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from gradguard.findings import Span
from gradguard.lower.module import Module

Open = Callable[[str], Module]

# Each program marks with «» what the one node of the given type must cover; the marks are taken out first.
PROGRAMS = [
    ("Name", "f(«a»)"),
    ("Name", "\tb = 0\n".join(["if 1:\n", "\tf(«a»)\n"])),
    ("Const", "f(«'''ä\n中'''»)"),
    ("Attr", "x = ('ä中', «a\n.b»)"),
    ("Attr", "x = (\n    «(a).b»)"),
    ("Call", "x = «f(\n    a,\n    b=c,\n)»  # tail"),
    ("Call", "x = (  «f(a)»  )"),
    ("Call", "@ «a.b(c)»\ndef f(): pass"),
    ("Call", "with «f()» as g: pass"),
    ("Item", "«a[b, :]»"),
    ("Slice", "a[«b : c»]"),
    ("Op", "x = («a + b»)"),
    ("Op", "«-a»"),
    ("Compare", "if «a is not b»: pass"),
    ("Logic", "if («a and\n    b»): pass"),
    ("Choice", "f(«a if b else c»)"),
    ("Star", "a = [«*b»]"),
    ("Sequence", "a = «(b, c)»"),
    ("Sequence", "a = «b, c»"),
    ("Sequence", "a = («(b, c)»)"),
    ("Sequence", "a = «[b]»"),
    ("Sequence", "for «a, b» in c: pass"),
    ("Mapping", "a = «{b: c}»"),
    ("Comprehension", "a = «(b for b in c)»"),
    ("Comprehension", "a = «[b for b in c]»"),
    ("Comprehension", "f(«b for b in c»)"),
    ("Lambda", "f(«lambda x: x»)"),
    ("Walrus", "if («a := b»): pass"),
    ("Await", "async def f():\n    x = «await g()»"),
    ("Yield", "def f():\n    x = («yield a»)"),
    ("Opaque", "x = «f'{a}'»"),
    ("Assign", "x; «a = b»; y"),
    ("Assign", "class A:\n\n    # lead\n    «a: int = b»  # tail"),
    ("Update", "«a.b += c»"),
    ("Evaluate", "«f(a)»;"),
    ("Return", "def f():\n    «return (\n        a)»\n"),
    ("Raise", "«raise A from b»"),
    ("Assert", "«assert a, b»"),
    ("Delete", "«del a, b»"),
    ("Declare", "def f(): «global a, b»"),
    ("Import", "import «a.b as c»"),
    ("Import", "from a import (\n    «b as c»,\n)"),
    ("Import", "«from a import *»"),
    ("FunctionDef", "@a\n@b\n«def f»(x):\n    pass"),
    ("FunctionDef", "«async def f»(): pass"),
    ("FunctionDef", "class A:\n    @a\n    «def f»(self): pass"),
    ("ClassDef", "@a\n«class A»(B):\n    pass"),
    ("With", "«with a as b, c»:\n    pass"),
    ("With", "«with a»: pass"),
    ("Entry", "with «a.b()» as c: pass"),
    ("For", "«for a in (b)»:\n    pass\nelse:\n    pass"),
    ("While", "«while a»: pass"),
    ("If", "«if (a)»:\n    pass\nelse:\n    pass"),
    ("Try", "«try»:\n    pass\nfinally:\n    pass"),
    ("Handler", "try: pass\n«except A as e»:\n    pass"),
    ("Handler", "try: pass\n«except»: pass"),
    ("Match", "«match a»:\n    case 1: pass"),
    ("Case", "match a:\n    «case [b] if c»:\n        pass"),
]


def marked(program: str) -> tuple[str, tuple[int, int], tuple[int, int]]:
    """The program without its marks, and where they were: rows and columns from 1."""
    before, inside, after = re.split("[«»]", program)
    start = place_after(before)
    return before + inside + after, start, place_after(before + inside)


def place_after(text: str) -> tuple[int, int]:
    return text.count("\n") + 1, len(text) - text.rfind("\n")


def corners(span: Span) -> tuple[tuple[int, int], tuple[int, int]]:
    return (span.start.row, span.start.column), (span.end.row, span.end.column)


def spans(module: Module, kind: str, below: Callable) -> list[tuple]:
    found = [node for chunk in module.chunks for node in below(module.body(chunk.index))]
    return [corners(module.span(node.at)) for node in found if type(node).__name__ == kind]


@pytest.mark.parametrize(("kind", "program"), PROGRAMS)
def test_span(opened: Open, below: Callable, kind: str, program: str) -> None:
    text, start, end = marked(program)
    assert (start, end) in spans(opened(text), kind, below)


@pytest.mark.parametrize(("kind", "program"), PROGRAMS)
def test_span_below_other_chunks(opened: Open, below: Callable, kind: str, program: str) -> None:
    text, start, end = marked("import a\n\n\n# lead\n" + program)
    assert (start, end) in spans(opened(text), kind, below)


@pytest.mark.parametrize(
    ("kind", "program"),
    [
        ("With", "«with a as b:\n    c\n    d»\n\n# tail\ne"),
        ("FunctionDef", "@a\n«def f(\n    x):\n    return x»  # tail\n\nb"),
        ("FunctionDef", "class A:\n    «def f(self):\n        b»\n\n    c = 1\n"),
        ("ClassDef", "«class A:\n    b = 1\n\n    def c(self):\n        d»\n\n\n# tail\n"),
        ("If", "«if a:\n    b\nelif c:\n    d\nelse:\n    e»\n"),
        ("Try", "«try:\n    a\nexcept:\n    b\nfinally:\n    c»\n"),
        ("Handler", "try:\n    a\n«except E:\n    b»\nfinally:\n    c\n"),
        ("For", "«for a in b:\n    c\nelse:\n    d»\n"),
        ("Match", "«match a:\n    case 1:\n        b»\n"),
        ("Entry", "with «a» as b:\n    c"),
        ("Call", "«f(\n    a)»\n"),
    ],
)
def test_extent(opened: Open, below: Callable, kind: str, program: str) -> None:
    text, start, end = marked(program)
    module = opened(text)
    found = [node for chunk in module.chunks for node in below(module.body(chunk.index))]
    extents = [corners(module.extent(node.at)) for node in found if type(node).__name__ == kind]
    assert (start, end) in extents


def test_a_handle_of_its_own_for_each_node(opened: Open, below: Callable) -> None:
    module = opened("with a() as b:\n    c = d.e(f[1:], *g, h=[i for i in j])\n")
    handles = [node.at for node in below(module.body(0)) if hasattr(node, "at")]
    missing_bounds = 2
    assert len(set(handles)) == len(handles) - missing_bounds


def test_positions_do_not_depend_on_the_order_of_questions(opened: Open) -> None:
    text = "def f(a):\n    return a.b(c)\n\nx = f(1)\n"
    first, second = opened(text), opened(text)
    last: Any = first.body(1)[0]
    assert second.span(last.at) == first.span(last.at)
    assert [second.span(n) for n in range(5)] == [first.span(n) for n in range(5)]


LONG_CLASS = (
    "import a\n\n\n@a\n@b(1)\nclass A(B, metaclass=C):\n    '''doc'''\n    x = 1; y = 2\n"
    + "".join(
        f"\n    @a.b\n    def f{n}(self):\n        # lead\n        return self.g({n})\n" for n in range(40)
    )
    + "\n    if a:\n        z = (\n            3)\n"
)


def test_members_of_a_long_class_are_placed_as_in_the_whole(
    opened: Open, below: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    def places() -> list[tuple[Span, Span]]:
        module = opened(LONG_CLASS)
        handles = [node.at for node in below(module.body(1)) if hasattr(node, "at")]
        return [(module.span(at), module.extent(at)) for at in handles]

    by_member = places()
    monkeypatch.setattr("gradguard.lower.parts.SHORT", 10_000)
    assert len(by_member) > 200
    assert by_member == places()


def test_a_method_is_placed_without_parsing_the_class_again(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    from gradguard.lower.python import positions

    parsed = []
    original = positions.lower_text

    def counted(text: str, base: int, rows_before: int) -> Any:
        parsed.append(text)
        return original(text, base, rows_before)

    monkeypatch.setattr(positions, "lower_text", counted)
    module = opened(LONG_CLASS)
    method = module.body(1)[0].body[10]
    assert module.span(method.at).start.row == 11 + 5 * (method.function.body[0].value.args[0].value.value)
    assert max(text.count("\n") for text in parsed) < 10
