"""A function while it runs, and the run it belongs to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gradguard.infer.modes import Mode
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import Closure

if TYPE_CHECKING:
    from gradguard.infer.run import Run


@dataclass(slots=True)
class Exit:
    """A way out of a block: `kind` is return, break, continue or raise."""

    kind: str
    state: State
    value: Any = None
    site: Site | None = None
    name: str = ""


@dataclass(slots=True)
class Yielded:
    """What a generator gave, and the state in which it did."""

    value: Any
    state: State


@dataclass(slots=True)
class Frame:
    """One call. `scopes` are heap ids, innermost last; `calls` the call sites that lead here, outermost first.

    `settled` counts the branches around the present place that a setting has decided.
    """

    run: Run
    module: str
    scopes: tuple[int, ...]
    name: str
    entry: Mode
    closure: Closure | None = None
    calls: tuple[Site, ...] = ()
    functions: tuple[str, ...] = ()
    klass: Any = None
    identity: int = 0
    is_class: bool = False
    exits: list[Exit] = field(default_factory=list)
    yields: list[Yielded] = field(default_factory=list)
    outer_names: dict[str, int] = field(default_factory=dict)
    guards: list[Any] = field(default_factory=list)
    statement: Site | None = None
    settled: int = 0

    @property
    def depth(self) -> int:
        """How many calls lead here."""
        return len(self.calls)

    def site(self, at: int) -> Site:
        """The place of a node of this module."""
        return Site(self.module, at)
