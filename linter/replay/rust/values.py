"""Values that Rust programs have and Python has not, and the ways in which control leaves a block.

Numbers, booleans and text are Python's own, `()` is None, a tuple is a tuple. What an `Ok` holds may also stand
without it: a method or a pattern that wants a `Result` takes any value for its inside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from gradguard.infer.rust.types import NO_TYPE, Type
from gradguard.replay.value import Value

if TYPE_CHECKING:
    from gradguard.infer.rust.spaces import Space, TypeInfo
    from gradguard.infer.sites import Site
    from gradguard.ir import nodes as ir
    from gradguard.runtime.tenferro import EagerNoGradGuard


class Panic(Exception):
    """The program panics."""


class Failure(Exception):
    """The program is left with an `Err`."""


@dataclass(eq=False)
class Leaving(BaseException):
    """A function is left with a value."""

    value: Value = None


@dataclass(eq=False)
class Jump(BaseException):
    """A loop or block is left with a value, or a turn of a loop ends."""

    label: str
    is_break: bool
    value: Value = None


@dataclass(frozen=True, eq=False)
class Variant:
    """A value of an enum: `Some`, `None`, `Ok`, `Err` or one of the tree's own."""

    name: str
    items: tuple[Value, ...] = ()
    owner: TypeInfo | None = None


NONE = Variant("None")


def some(value: Value) -> Variant:
    """`Some(value)`."""
    return Variant("Some", (value,))


def ok(value: Value) -> Variant:
    """`Ok(value)`."""
    return Variant("Ok", (value,))


@dataclass(eq=False)
class Struct:
    """A value with fields."""

    owner: TypeInfo | None
    fields: dict[str, Value] = field(default_factory=dict)


@dataclass(eq=False)
class Vec:
    """A vector, array or slice. `open`: how many there are was made up."""

    items: list[Value]
    open: bool = False


@dataclass(eq=False)
class Map:
    """A hash map, or a set whose values are None."""

    items: dict[Value, Value]


@dataclass(eq=False)
class Stream:
    """An iterator."""

    steps: Iterator[Value]
    open: bool = False
    waiting: list[Value] = field(default_factory=list)

    def __iter__(self) -> Iterator[Value]:
        """Give what was looked at already, then the rest."""
        while self.waiting:
            yield self.waiting.pop(0)
        yield from self.steps


@dataclass(eq=False)
class Plain:
    """An array without a graph: tenferro's `Tensor`."""

    array: npt.NDArray[np.float64]


@dataclass(eq=False)
class Closure:
    """A closure or function. `captured` are the names that it took with it."""

    function: ir.Function
    module: str
    space: Space
    owner: TypeInfo | None
    scopes: tuple[dict[str, Value], ...] = ()
    captured: dict[str, Value] | None = None
    inner: bool = False


@dataclass(eq=False)
class Native:
    """A function of a library, by its path."""

    path: str


@dataclass(eq=False)
class Held:
    """A guard. `site` is where it was made; one that is forgotten is never dropped."""

    guard: EagerNoGradGuard
    site: Site
    alive: bool = True
    forgotten: bool = False

    def drop(self) -> None:
        """Let recording go on, unless another guard stands against it."""
        if self.alive and not self.forgotten:
            self.alive = False
            self.guard.drop()


@dataclass(frozen=True, eq=False)
class Handle:
    """An object of a crate that holds no values: runtime, session, or any other by the name of its type."""

    kind: str


@dataclass(eq=False)
class Table:
    """What backward answers with: the leaves reached, by the identity of their engine tensors. `made_up`: it
    stands for one that came in from outside."""

    found: dict[int, Value]
    made_up: bool = False


@dataclass(eq=False)
class Wild:
    """Any value. `kind` is the type where it is known; fields and elements stay the same once they were asked
    for."""

    hint: str = ""
    kind: Type = NO_TYPE
    fields: dict[Value, Value] = field(default_factory=dict)


class Ref:
    """A place that holds a value that cannot be changed in itself."""

    def __init__(self, container: Value, key: Value) -> None:
        """Refer to an entry of a list or dict."""
        self.container = container
        self.key = key

    def get(self) -> Value:
        """What the place holds; unknown where it is gone."""
        try:
            return self.container[self.key]
        except (KeyError, IndexError):
            return Wild()

    def set(self, value: Value) -> None:
        """Put another value there."""
        self.container[self.key] = value


def bare(value: Value) -> Value:
    """A value behind all references."""
    while isinstance(value, Ref):
        value = value.get()
    return value


def opened(value: Value) -> Value:
    """A value without the `Ok` around it."""
    value = bare(value)
    while isinstance(value, Variant) and value.name == "Ok" and value.items:
        value = bare(value.items[0])
    return value


def is_failed(value: Value) -> bool:
    """Whether a value is an `Err`."""
    value = bare(value)
    return isinstance(value, Variant) and value.name == "Err"


def parts_of(value: Value) -> Iterable[Value]:
    """What a tuple, an enum's variant, a vector, a struct or a map holds; nothing for any other value."""
    match value:
        case tuple():
            return value
        case Variant(items=items):
            return items
        case Vec(items=inside):
            return inside
        case Struct(fields=fields) | Map(items=fields):
            return fields.values()
        case _:
            return ()
