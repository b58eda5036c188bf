"""The first look at a file reads in it what the second one does."""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from test_standard_library import sample

from gradguard.ir.nodes import Body, Function
from gradguard.lower.later import LaterFunction
from gradguard.lower.module import Unreadable, open_module
from gradguard.lower.python.parsing import lower_text
from gradguard.lower.reading import Reading
from gradguard.lower.triage.lowering import lower_statements
from gradguard.source import Source

ROOT = Path(__file__).parents[2]
OURS = sorted([*(ROOT / "fixtures").rglob("*.py"), *(ROOT / "linter").rglob("*.py")])

FORMS = """
f(a, *b, k=1, *c, **d)
class A(B, *C, metaclass=M, **kw): x: int; y: int = 1
x[1], x[1:2, ...], x[(1, 2)], x[:], x[a,]
(a and b) and c or (d or e)
a < b < c, not a, -1, -a, -True, +1.5, ~2j
f"{a!r:>{width}} {b=}" "tail" f'{c:{d}}'
"a" 'b' u"c"
b"x" b"y\\n"
lambda a, /, b=1, *c, d, e=2, **f: (yield)
{**a, 1: 2, "k": [*b]}, {1, *c}, {k: v for k, v in d for w in e if w if v}
[x async for x in y]
async def g(a: int, b: str = "", *, c=None) -> int:
    async with a as b, c: pass
    async for i in a: await i
    else: return
    return (yield from_)
def h():
    global u, v
    del a, (b, [c.d, e[0]])
    if a: pass
    elif b: x = y = z
    else:
        if c: x += 1
        else: x @= 2
    while (n := f()): break
    else: continue_
    for i, *j in k:
        continue
    try: raise E from e
    except (A, B) as error: pass
    except C: raise
    else: ...
    finally: assert a, "told"
    import a.b, c.d as e
    from . import f as g, h
    from ..m.n import *
    yield from a
@d(1)
def k(): 'doc'
match p:
    case 1 | -2 | "s" | None: pass
    case {"k": v, **rest}: pass
    case [a, *_, b] if a: pass
    case P(q, r=s) as t: pass
    case (_ as whole): pass
    case _: pass
match p:
    case True as yes: pass
    case u.v: pass
ﬁ = ﬁ.ﬁ
if a:
    def nested(ﬁ=1): return 0xFF, 1_000, 1e3, ..., None
"""


def read(text: str) -> Body:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return lower_statements(ast.parse(text).body, 7)


@pytest.mark.parametrize("path", OURS, ids=lambda path: str(path.relative_to(ROOT)))
def test_our_own_files_are_lowered_the_same(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert read(text) == lower_text(text, 7, 0).body


def test_every_form_is_lowered_the_same() -> None:
    triaged, full = read(FORMS), lower_text(FORMS, 7, 0).body
    assert len(triaged) > 15
    for ours, theirs in zip(triaged, full, strict=True):
        assert ours == theirs


@pytest.mark.skipif(sys.version_info < (3, 11), reason="newer syntax")
def test_a_star_in_a_subscript_is_lowered_the_same() -> None:
    text = "x[*a], x[1, *b]\n"
    assert read(text) == lower_text(text, 7, 0).body


@pytest.mark.parametrize("path", sample(longest=30_000, count=60), ids=lambda path: path.stem)
def test_the_standard_library_is_lowered_the_same(path: Path) -> None:
    try:
        text = path.read_text(encoding="utf-8")
        triaged = read(text)
    except (UnicodeDecodeError, SyntaxError):
        pytest.skip("not a text of this Python")
    assert triaged == lower_text(text, 7, 0).body


def test_deep_and_long_expressions_are_given_up_at_the_same_place() -> None:
    nested = "x = " + "[" * 180 + "]" * 180 + "\n"
    chain = "y = " + " + ".join(f"a{n}" for n in range(120)) + "\n"
    for text in (nested, chain):
        assert read(text) == lower_text(text, 7, 0).body


LONG_CLASS = "@a\nclass A(B, metaclass=C):\n    x = 1; y = 2\n" + "".join(
    f"\n    @a.b\n    def f{n}(self, a=1) -> int:\n        yield self.g({n})\n"
    f"\n    async def h{n}(self):\n        return 1\n" + "        x = 1\n" * 8
    for n in range(20)
)


def made(node: Any) -> Any:
    """A tree with functions that can wait made."""
    match node:
        case tuple():
            return tuple(map(made, node))
        case LaterFunction():
            return Function(**{one.name: made(getattr(node, one.name)) for one in fields(Function)})
        case _ if hasattr(node, "__dataclass_fields__"):
            return type(node)(**{one.name: made(getattr(node, one.name)) for one in fields(node)})
        case _:
            return node


@pytest.mark.parametrize("text", [LONG_CLASS, "\n\nx = 1\n" + LONG_CLASS.replace("@a\n", "", 1)])
def test_what_waits_is_lowered_the_same(text: str) -> None:
    def whole(reading: Reading, first: Callable[[Function], object]) -> Any:
        module = open_module(Source("file.py", "", text), reading)
        bodies = [module.body(chunk.index) for chunk in module.chunks]
        for statement in bodies[-1][0].body:  # type: ignore[union-attr]
            if function := getattr(statement, "function", None):
                first(function)
        return made(tuple(bodies))

    header_first = whole(Reading.TREE, lambda function: function.params)
    assert header_first == whole(Reading.LIBCST, lambda function: function.params)
    assert header_first == whole(Reading.TREE, lambda function: function.body)


@pytest.mark.parametrize("text", [FORMS, LONG_CLASS, "\n\nx = 1\n" + LONG_CLASS])
def test_positions_are_the_same(text: str, below: Callable[[Any], Any]) -> None:
    def places(reading: Reading) -> list[Any]:
        module = open_module(Source("file.py", "", text), reading)
        bodies = [module.body(chunk.index) for chunk in module.chunks]
        handles = [node.at for node in below(made(tuple(bodies))) if hasattr(node, "at")]
        return [(at, module.span(at), module.extent(at)) for at in handles]

    assert len(places(Reading.TREE)) > 100
    assert places(Reading.TREE) == places(Reading.LIBCST)


def test_what_libcst_must_not_see_is_somewhere_in_its_chunk() -> None:
    source = Source("file.py", "", "x = 1\n\ny = f" + ".a" * 450 + "\n")
    with pytest.raises(Unreadable):
        open_module(source).body(1)
    module = open_module(source, Reading.TREE)
    [statement] = module.body(1)
    assert module.span(statement.at).start.row == 3


def test_a_chunk_that_only_libcst_can_read_is_read_by_it() -> None:
    text = "type X[T] = list[T]\nwith a:\n    type Y = b\n    c.d()\n"
    module = open_module(Source("file.py", "", text), Reading.TREE)
    assert [type(made).__name__ for chunk in module.chunks for made in module.body(chunk.index)] == ["With"]
