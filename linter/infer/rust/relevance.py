"""Which functions can matter, told from the names in them: most of a crate knows no gradients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradguard.facts.crates import Crate
from gradguard.infer.rust.spaces import Space, Spaces
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk

_WORD = re.compile(r"\w+")
_ASKING = ("guards.", "backward.")
_MAKING = ("leaves.", "constants.", "sessions.", "cuts.", "queries.", "gradient.")
_TYPES = ("tensor", "leaf", "runtime", "session", "guard", "table")


@dataclass(slots=True)
class Relevance:
    """`asking` are names that ask for a gradient or hold a guard; `making` those that make tensors, and the
    types they have."""

    spaces: Spaces
    asking: frozenset[str]
    making: frozenset[str]
    words: dict[int, frozenset[str]] = field(default_factory=dict)
    index: dict[str, list[ir.Function]] = field(default_factory=dict)
    indexed: set[int] = field(default_factory=set)
    told: dict[tuple[int, bool], bool] = field(default_factory=dict)

    def asks(self, function: ir.Function) -> bool:
        """Whether a function can lead to a guard or to a place that asks for a gradient."""
        return self._leads(function, self.asking, True)

    def matters(self, function: ir.Function) -> bool:
        """Whether a function can have to do with tensors at all."""
        return self._leads(function, self.asking | self.making, False)

    def _leads(self, function: ir.Function, wanted: frozenset[str], asks: bool) -> bool:
        key = (id(function), asks)
        if key not in self.told:
            self._index_all()
            self.told[key] = self._search(function, wanted)
        return self.told[key]

    def _search(self, function: ir.Function, wanted: frozenset[str]) -> bool:
        pending, seen = [function], {id(function)}
        while pending:
            words = self._words_of(pending.pop())
            if words & wanted:
                return True
            for word in words & self.index.keys():
                for callee in self.index[word]:
                    if id(callee) not in seen:
                        seen.add(id(callee))
                        pending.append(callee)
        return False

    def _words_of(self, function: ir.Function) -> frozenset[str]:
        found = self.words.get(id(function))
        if found is None:
            found = self.words[id(function)] = frozenset(_words(function))
        return found

    def _index_all(self) -> None:
        for space in self.spaces.known.values():
            if space is not None and id(space) not in self.indexed:
                self.indexed.add(id(space))
                for function in _functions(space):
                    self.index.setdefault(function.name, []).append(function)


def relevance_of(spaces: Spaces, crates: tuple[Crate, ...]) -> Relevance:
    """What the crates' tables make relevant."""
    asking: set[str] = set()
    making: set[str] = set()
    for crate in crates:
        for key, names in crate.lists.items():
            last = {name.rsplit("::", 1)[-1] for name in names}
            if key.startswith(_ASKING) or key == "gradient.reads":
                asking |= last
            elif key.startswith(_MAKING):
                making |= last
        asking |= crate.lists["types.table"] | crate.lists["types.guard"]
        making |= {name for kind in _TYPES for name in crate.lists[f"types.{kind}"]}
    return Relevance(spaces, frozenset(asking), frozenset(making - {"new", "from", "get", "remove"}))


def _words(function: ir.Function) -> Iterator[str]:
    for param in function.params:
        if isinstance(param.annotation, ir.Name):
            yield from _WORD.findall(param.annotation.id)
    if isinstance(function.returns, ir.Name):
        yield from _WORD.findall(function.returns.id)
    for node in walk(function.body):
        match node:
            case ir.Name(id=name):
                yield from name.split("::")
            case ir.Attr(name=name):
                yield name


def _functions(space: Space) -> Iterator[ir.Function]:
    yield from space.functions.values()
    for info in space.types.values():
        yield from info.methods.values()
    for inner in space.inner.values():
        yield from _functions(inner)
