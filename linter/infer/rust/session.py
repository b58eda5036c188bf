"""What all calls of one run over a Rust file share."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradguard.facts.crates import Crate
from gradguard.infer.events import Event
from gradguard.infer.frames import Frame
from gradguard.infer.modes import GuardSite
from gradguard.infer.run import Run
from gradguard.infer.rust.relevance import Relevance
from gradguard.infer.rust.spaces import Space, Spaces, TypeInfo
from gradguard.infer.sites import Root, Site
from gradguard.infer.values import Guard

ALIVE = -1
"""The heap object that tells of each guard, by its origin, whether it is alive."""


@dataclass(slots=True)
class Statement:
    """A statement being executed: the guards made in it, and those that it took out of their names."""

    site: Site
    made: list[int] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Watch:
    """One call of a function, as far as gradients are looked at.

    `looked`: something asked for the table, the tracking state or the inside of an option; `counted`: the
    number of gradients was asked for, or an earlier loop opened each option; `backwards` are the tables that
    nobody has looked at yet, `asked` all places of backward.
    """

    alone: bool = False
    looked: bool = False
    counted: bool = False
    backwards: list[Site] = field(default_factory=list)
    asked: list[Site] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Session:
    """What a run has seen.

    `live` are the scopes of all calls under way, outermost first; `activity` counts what a guard could have
    been meant for; `expected` are backwards that are asserted to find nothing; `seen` tells of each place the
    contexts in which it was met: (on its own, event or None, root).
    """

    run: Run
    spaces: Spaces
    relevance: Relevance
    crates: dict[str, tuple[Crate, ...]] = field(default_factory=dict)
    guards: dict[int, Guard] = field(default_factory=dict)
    born: dict[int, int] = field(default_factory=dict)
    statements: list[Statement] = field(default_factory=list)
    live: list[int] = field(default_factory=list)
    captures: set[int] = field(default_factory=set)
    activity: int = 0
    loops: int = 0
    expected: set[Site] = field(default_factory=set)
    shadows: int = 0
    seen: dict[tuple[str, Site], list[tuple[bool, Event | None, Root]]] = field(default_factory=dict)

    def note(self, code: str, site: Site, alone: bool, event: Event | None) -> None:
        """Remember how a place was met; what is told of it is decided when all contexts are known."""
        self.seen.setdefault((code, site), []).append((alone, event, self.run.root))


@dataclass(slots=True)
class RustFrame(Frame):
    """A call of a Rust function. `space` and `owner` are where it is written, `watch` the function's,
    which its closures share."""

    session: Session = None  # type: ignore[assignment]
    space: Space = None  # type: ignore[assignment]
    owner: TypeInfo | None = None
    watch: Watch = field(default_factory=Watch)

    @property
    def crates(self) -> tuple[Crate, ...]:
        """The crates that differentiate and that the function's file uses."""
        return self.session.crates.get(self.module, ())


def guard_site(frame: RustFrame, name: str, site: Site, form: str = "with") -> GuardSite:
    """Where a guard of the function at hand starts."""
    return GuardSite(name, form, site, frame.depth, frame.name)
