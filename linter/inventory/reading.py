"""What the reading of one file has come to know."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradguard.inventory.found import Found, Loose
from gradguard.inventory.resolve import Resolver
from gradguard.inventory.senses import Local, Made, Scope, Senses
from gradguard.inventory.spread import Holder, Reach
from gradguard.ir import nodes as ir

NO_FRAME = 0


@dataclass(slots=True, eq=False)
class Frame:
    """One body that runs on its own: of the module, a function or a lambda.

    `branches` counts the open statements whose inside may not run; `prefix` starts the names of what is
    defined here.
    """

    number: int
    name: str | None
    scope: Scope
    body: ir.Body
    prefix: str = ""
    branches: int = 0

    def bind(self, name: str, senses: Senses) -> None:
        """Bind a name at this point."""
        self.scope.bind(name, senses, certain=not self.branches)


@dataclass(slots=True, eq=False)
class Reading:
    """The guards found so far, and what is left to be read.

    `entered` holds the calls that made guards which are entered somewhere; `ending` says which call ends
    which guard, `undoing` which of them do nothing else; `holders` are the statements that set the mode back
    where they end; `waiting` are the functions that are still to be read, `frames` those that were, by
    handle (None while one is being read).
    """

    resolver: Resolver
    found: list[Found] = field(default_factory=list)
    loose: list[Loose] = field(default_factory=list)
    entered: set[int] = field(default_factory=set)
    undoing: set[int] = field(default_factory=set)
    ending: dict[int, Made] = field(default_factory=dict)
    holders: set[int] = field(default_factory=set)
    waiting: list[Local] = field(default_factory=list)
    frames: dict[int, Frame | None] = field(default_factory=dict)
    depth: int = 0
    opened: int = 0

    def open_frame(self, name: str | None, scope: Scope, body: ir.Body, prefix: str = "") -> Frame:
        """A frame with a number of its own."""
        self.opened += 1
        return Frame(self.opened, name, scope, body, prefix)

    def note(
        self, frame: Frame, made: Made, form: str, at: int, reached: Reach, *, decorated: bool = False
    ) -> None:
        """A guard that takes effect."""
        self.entered.add(made.at)
        self.found.append(Found(made, form, at, frame.name, reached, frame.scope, frame.number, decorated))

    def restores(self, holder: Holder) -> bool:
        """Whether the end of this statement sets the mode back."""
        return holder.at in self.holders
