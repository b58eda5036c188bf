"""One run of the interpreter over a program."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from gradguard.facts.tables import Facts
from gradguard.infer.events import Event, ModuleMadeUnderInference
from gradguard.infer.modes import GuardSite, Mode, When
from gradguard.infer.sites import Root, Site
from gradguard.infer.values import Closure, Unknown
from gradguard.sift.tokens import Clues

if TYPE_CHECKING:
    from gradguard.infer.program import Program
    from gradguard.infer.state import State

STEPS = 2_000
SHARING_DEPTH = 1
"""Each call that a root makes itself gets half of the steps that are left, so that none of them ends the root."""
CALL_DEPTH = 14
RECURSION = 2


class Exhausted(Exception):
    """The budget of a root is used up."""


class Ended(Exception):
    """The path being evaluated does not go on (a call that never returns)."""


@dataclass(slots=True)
class Run:
    """Shared by all frames: the program, the facts, what was seen so far. `roots` tells of each event in which
    root it was seen. `constants` are the constant terms that were differentiated, `holdings` what each optimizer
    holds, by its id."""

    program: Program
    facts: Facts
    events: list[Event] = field(default_factory=list)
    root: Root = field(default_factory=lambda: Root("module", ""))
    roots: list[Root] = field(default_factory=list)
    covered: set[Site] = field(default_factory=set)
    steps: int = STEPS
    ids: Iterator[int] = field(default_factory=lambda: count(1))
    leaks: dict[Site, tuple[str, GuardSite]] = field(default_factory=dict)
    reported_leaks: set[Site] = field(default_factory=set)
    after_on: set[Site] = field(default_factory=set)
    call_sites: dict[Site, tuple[str, set[Site]]] = field(default_factory=dict)
    pending: list[tuple[Closure, State]] = field(default_factory=list)
    binding: set[tuple[int, int]] = field(default_factory=set)
    imported: set[str] = field(default_factory=set)
    classes: list[tuple[Any, str]] = field(default_factory=list)
    live: list[tuple[Site, Root]] = field(default_factory=list)
    made_under_inference: dict[int, ModuleMadeUnderInference] = field(default_factory=dict)
    clues: dict[str, Clues] = field(default_factory=dict)
    suspects: dict[str, frozenset[int]] = field(default_factory=dict)
    reporting: dict[Site, bool] = field(default_factory=dict)
    importing: set[Any] = field(default_factory=set)
    module_scopes: dict[str, int] = field(default_factory=dict)
    optimized: dict[int, Site] = field(default_factory=dict)
    entered: set[Site] = field(default_factory=set)
    owners: dict[int, Any] = field(default_factory=dict)
    tracked_made: int = 0
    quiet: int = 0
    shallow: bool = False
    expected: list[int] = field(default_factory=list)
    grad_of: dict[int, tuple[Any, str, Site]] = field(default_factory=dict)
    statement_start: int = 0
    returned: dict[int, list[tuple[Site, Any]]] = field(default_factory=dict)
    forced: dict[int, Any] = field(default_factory=dict)
    hooked: set[int] = field(default_factory=set)
    stack: list[Site] = field(default_factory=list)
    modes_before: dict[Site, Mode] = field(default_factory=dict)
    module_calls: dict[int, Any] = field(default_factory=dict)
    constants: list[Any] = field(default_factory=list)
    holdings: dict[int, Any] = field(default_factory=dict)

    def fresh(self) -> int:
        """A new id, higher than all before."""
        return next(self.ids)

    def unknown(self, hint: str = "", role: str = "") -> Unknown:
        """A new value of which nothing is known."""
        return Unknown(self.fresh(), hint, role)

    def tick(self) -> None:
        """Count one step; raises `Exhausted` when the budget is used up."""
        self.steps -= 1
        if self.steps < 0:
            raise Exhausted

    def emit(self, event: Event) -> None:
        """Tell an event, unless what runs is only a trial."""
        if not self.quiet:
            self.events.append(event)
            self.roots.append(self.root)


__all__ = ["CALL_DEPTH", "RECURSION", "Ended", "Exhausted", "Run", "When"]
