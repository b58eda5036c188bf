"""What a name may stand for, as far as guards are concerned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradguard.ir import nodes as ir


@dataclass(frozen=True, slots=True)
class Path:
    """Something imported, by its dotted name: `torch`, `torch.no_grad`."""

    name: str


@dataclass(frozen=True, slots=True)
class Made:
    """A guard object. `at` is the call that made it, `helper` tells that a function of the file did."""

    guard: str
    effect: str
    at: int
    call: ir.Call | None = field(default=None, compare=False)
    helper: bool = False


@dataclass(frozen=True, slots=True)
class Saved:
    """The grad mode as it was, kept to be set again."""


@dataclass(frozen=True, slots=True)
class Weight:
    """A parameter, as a loop over parameters yields it."""


@dataclass(frozen=True, slots=True)
class Optimizer:
    """An optimizer that the file builds."""


@dataclass(frozen=True, slots=True)
class Decorating:
    """A guard at a decorator's place; an idle one is left again before the body of the function runs."""

    made: Made
    at: int
    idle: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Local:
    """A function of the file, where its free names are looked up, and the class that it is a method of."""

    function: ir.Function
    scope: Scope
    owner: Space | None = None
    prefix: str = ""
    decorators: tuple[Decorating, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Space:
    """A class of the file, and any instance of it. `guards` are the guard classes that it derives from."""

    name: str
    names: dict[str, Senses]
    bases: tuple[Space, ...] = ()
    guards: tuple[Path, ...] = ()

    def get(self, name: str) -> Senses:
        """What an attribute may be, looked up in the bases too."""
        pending = [self]
        seen: set[int] = set()
        while pending:
            space = pending.pop(0)
            if name in space.names:
                return space.names[name]
            if id(space) not in seen:
                seen.add(id(space))
                pending.extend(space.bases)
        return ()


@dataclass(frozen=True, slots=True)
class Called:
    """The result of calling a function or class of the file, not worked out yet."""

    target: Local | Space
    at: int


Sense = Path | Made | Saved | Weight | Optimizer | Local | Space | Called
Senses = tuple[Sense, ...]


@dataclass(slots=True, eq=False)
class Scope:
    """The names of one function, class or module.

    `stars` are the modules that everything is imported from; `declared` are the names that a `global` or
    `nonlocal` statement gives to another scope.
    """

    parent: Scope | None = None
    names: dict[str, Senses] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    declared: dict[str, Scope] = field(default_factory=dict)

    def look_up(self, name: str) -> Senses | None:
        """What a name may be; None if nothing in the file binds it."""
        stars: list[str] = []
        for scope in self._outward():
            if name in scope.names:
                return scope.names[name]
            stars.extend(scope.stars)
        return tuple(Path(f"{module}.{name}") for module in stars) or None

    def bind(self, name: str, senses: Senses, certain: bool) -> None:
        """Bind a name; where the binding is not certain to happen, what it was before stays possible."""
        target = self.declared.get(name, self)
        before = () if certain and target is self else target.names.get(name, ())
        target.names[name] = tuple(dict.fromkeys((*before, *senses)))

    def declare(self, kind: str, name: str) -> None:
        """Heed `global name` or `nonlocal name`."""
        around = list(self._outward())[1:]
        if around:
            holding = next((scope for scope in around if name in scope.names), around[0])
            self.declared[name] = around[-1] if kind == "global" else holding

    def _outward(self) -> Iterator[Scope]:
        scope: Scope | None = self
        while scope is not None:
            yield scope
            scope = scope.parent
