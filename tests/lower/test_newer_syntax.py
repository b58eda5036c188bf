"""Texts that an older Python's own parser refuses: the oldest supported Python has to cut them as well."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gradguard.ir.nodes import Attr, Const, Item, Name, Opaque
from gradguard.lower.module import Module, Unreadable

TEXT = """# head
import a as b, c.d

# lead
@deco
def f[T: int, *Ts, **P](x: T) -> T:
    return f"{x["a"]}"  # tail

x = 1; (y) = 2
type Z[T] = list[T]
try:
    q = 1
except* E as e:
    for (i, j) in x:
        with g() as (k, *l): m += 1
class G[T](Base[T]):
    pass
# end"""


def test_cut(opened: Callable[[str], Module]) -> None:
    module = opened(TEXT)
    told = [(c.first_row, c.last_row, c.kind, set(c.binds)) for c in module.chunks]
    assert told == [
        (2, 2, "import", {"b", "c"}),
        (5, 7, "function", {"f"}),
        (9, 9, "other", {"x", "y"}),
        (10, 10, "other", {"Z"}),
        (11, 15, "other", {"q", "e", "i", "j", "k", "l", "m"}),
        (16, 17, "class", {"G"}),
    ]


def test_lowered(opened: Callable[[str], Module]) -> None:
    module = opened(TEXT)
    (definition,) = module.body(1)
    (result,) = definition.function.body
    assert [param.name for param in definition.function.params] == ["x"]
    assert isinstance(result.value, Opaque)
    (operand,) = result.value.operands
    assert isinstance(operand, Item)
    assert isinstance(operand.index, Const)
    assert module.body(3) == ()
    (attempt,) = module.body(4)
    assert attempt.handlers[0].name == "e"


def test_positions(opened: Callable[[str], Module]) -> None:
    module = opened(TEXT)
    span = module.span(module.body(1)[0].at)
    assert (span.start.row, span.start.column, span.end.column) == (6, 1, 6)


@pytest.mark.parametrize("text", ["type X = 3 4\n", "def f[T]:\n    pass\n", "try: pass\nexcept* : pass\n"])
def test_still_wrong(opened: Callable[[str], Module], text: str) -> None:
    with pytest.raises(Unreadable):
        opened(text)


def test_words_that_are_keywords_only_in_places(opened: Callable[[str], Module]) -> None:
    module = opened("match = type = case = _\nmatch[type].case\n")
    assert module.chunks[0].binds == ("match", "type", "case")
    (statement,) = module.body(1)
    assert isinstance(statement.value, Attr)
    assert isinstance(statement.value.base, Item)
    assert isinstance(statement.value.base.base, Name)
