"""What a replay saw at the places that it was asked to watch."""

from __future__ import annotations

from dataclasses import dataclass, field

from gradguard.infer.sites import Site
from gradguard.replay.value import Value


@dataclass(frozen=True, slots=True)
class Modes:
    """The grad mode and the inference mode, as the framework's own queries tell them."""

    grad: bool
    inference: bool

    @property
    def records(self) -> bool:
        """Whether operations on tracked tensors are recorded."""
        return self.grad and not self.inference


@dataclass(slots=True)
class Seen:
    """One passage through a watched place.

    `kind` is node (an expression or statement), read (an attribute), enter and leave (a function), element
    (of a lazy expression), entered (a with item) or suspended (a yield or an await gave control away).
    `resumed` are the modes in which a generator or coroutine was last given control. At a sink `missing`
    names the leaves without a gradient, `reached` are those with one. `value` is what came out, None where
    `error` came.
    """

    site: Site
    kind: str
    before: Modes
    after: Modes
    value: Value = None
    error: BaseException | None = None
    resumed: Modes | None = None
    operands: tuple[Value, ...] = ()
    tracked: bool | None = None
    missing: tuple[str, ...] = ()
    reached: tuple[Value, ...] = ()


@dataclass(slots=True)
class Trace:
    """All passages in order, and how the run ended: `error` left the root, `stopped` says why it stopped.

    `exact`: nothing was made up. `chose`: an unknown condition was answered at will."""

    seen: list[Seen] = field(default_factory=list)
    error: BaseException | None = None
    stopped: str = ""
    modes: Modes = field(default_factory=lambda: Modes(True, False))
    returned: Value = None
    chose: bool = False
    exact: bool = True
    facts: dict[str, Value] = field(default_factory=dict)

    def at(self, site: Site | None, *kinds: str) -> list[Seen]:
        """The passages through a place, of the given kinds where some are given."""
        return [one for one in self.seen if one.site == site and (not kinds or one.kind in kinds)]
