"""One replay: its budgets, what it watches, and what it has made up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

from gradguard.infer.sites import Site
from gradguard.replay.backend import Backend
from gradguard.replay.limits import CALL_DEPTH, SECONDS, STEPS, Stopped
from gradguard.replay.trace import Modes, Seen, Trace
from gradguard.replay.value import Value

if TYPE_CHECKING:
    from gradguard.facts.tables import Facts
    from gradguard.infer.program import Program

_LAST_STEPS = 500
_NOTHING: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Policy:
    """How the replay decides what nobody knows.

    `truth` answers an unknown condition that the witness leaves open. `forced`: conditions on known
    values follow the witness too, except those that ask for the tracking state. `tracked`: unknown tensors
    carry a graph. `fails`: the first call behind the site raises.
    """

    truth: bool = True
    forced: bool = False
    tracked: bool = True
    fails: Site | None = None


@dataclass
class Session:
    """Shared by all frames of a replay. `watched` maps a module's key to the handles to be noted."""

    program: Program
    facts: Facts
    backend: Backend
    watched: Mapping[str, frozenset[int]]
    policy: Policy = field(default_factory=Policy)
    sinks: frozenset[Site] = frozenset()
    missing_grads: Site | None = None
    filling: bool | None = None
    seconds: float = SECONDS
    steps: int = STEPS
    depth: int = 0
    trace: Trace = field(default_factory=Trace)
    reached: set[Site] = field(default_factory=set)
    modules: dict[str, Value] = field(default_factory=dict)
    handed: list[Value] = field(default_factory=list)
    functions: dict[int, Value] = field(default_factory=dict)
    classes: dict[Site, Value] = field(default_factory=dict)
    leaves: dict[int, tuple[str, Value]] = field(default_factory=dict)
    backwards: set[Site] = field(default_factory=set)
    entered: dict[int, Value] = field(default_factory=dict)
    suspended: list[Value] = field(default_factory=list)
    made_up: dict[int, Value] = field(default_factory=dict)
    lazies: list[Value] = field(default_factory=list)
    kept: list[Value] = field(default_factory=list)
    contains: dict[tuple[int, str], frozenset[int]] = field(default_factory=dict)
    surrogates: dict[str, Value] = field(default_factory=dict)
    resumed: list[Modes] = field(default_factory=list)
    loop: Value = None
    armed: bool = False
    rebinds: bool = False
    operands: tuple[Value, ...] = ()
    assigned: Value = None
    ends: float = 0.0

    def __post_init__(self) -> None:
        """Start the clock."""
        self.ends = perf_counter() + self.seconds

    def tick(self) -> None:
        """Count a step; raises Stopped when the steps or the time are used up."""
        self.steps -= 1
        if self.steps < 0:
            raise Stopped("the replay takes too many steps")
        if not self.steps & 63 and perf_counter() > self.ends:
            raise Stopped("the replay takes too long")

    def close(self) -> None:
        """End what is suspended, now and in this thread rather than whenever it is collected."""
        self.steps = _LAST_STEPS
        self.ends = perf_counter() + self.seconds
        for steps in self.suspended:
            try:
                steps.close()
            except (Exception, Stopped):
                continue
        for manager in self.entered.values():
            scope = getattr(manager, "_scope", None)
            if self.backend.embedded and scope is not None and hasattr(scope, "leave"):
                scope.leave()

    def descend(self) -> None:
        """Enter a call; raises Stopped when calls nest too deeply."""
        self.depth += 1
        if self.depth > CALL_DEPTH:
            raise Stopped("the calls nest too deeply")

    def watched_in(self, module: str) -> frozenset[int]:
        """The watched handles of a module."""
        return self.watched.get(module, _NOTHING)

    def note(
        self,
        site: Site,
        kind: str,
        before: Modes,
        value: Value = None,
        error: BaseException | None = None,
        resumed: Modes | None = None,
        operands: tuple[Value, ...] = (),
    ) -> None:
        """Add a passage through a watched place."""
        self.reached.add(site)
        tracked = self.is_tracked(value)
        modes = self.backend.modes()
        seen = Seen(site, kind, before, modes, value, error, resumed, operands, tracked)
        if site in self.sinks or self.is_backward(seen):
            seen.missing, seen.reached = self.without_gradient(), self.with_gradient()
        self.trace.seen.append(seen)

    def is_tracked(self, value: Value) -> bool | None:
        """Whether a tensor, or what stands for one, is tracked; None for anything else."""
        tensor = self.tensor_of(value)
        return None if tensor is None else bool(tensor.requires_grad)

    def tensor_of(self, value: Value) -> Value:
        """The tensor that a value is or has become, None where it is none."""
        if self.backend.is_tensor(value):
            return value
        from gradguard.replay.wild import Wild

        return value.source if isinstance(value, Wild) else None

    def name(self, value: Value, name: str) -> None:
        """Remember what a leaf, or a module's parameters, are called in the program; the first name stays."""
        if self.backend.is_tensor(value):
            if id(value) not in self.leaves and value.requires_grad and self._is_leaf(value):
                self.leaves[id(value)] = (name, value)
        elif isinstance(value, self.backend.torch.nn.Module) and hasattr(value, "_parameters"):
            for inner, parameter in value.named_parameters():
                self.leaves.setdefault(id(parameter), (f"{name}.{inner}", parameter))

    def _is_leaf(self, tensor: Value) -> bool:
        try:
            return bool(tensor.is_leaf)
        except RuntimeError:
            return False

    def without_gradient(self) -> tuple[str, ...]:
        """The names of the leaves that have no gradient now."""
        return tuple(
            dict.fromkeys(
                name for name, leaf in self.leaves.values() if leaf.requires_grad and leaf.grad is None
            )
        )

    def with_gradient(self) -> tuple[Value, ...]:
        """The leaves that have a gradient now."""
        return tuple(leaf for _, leaf in self.leaves.values() if leaf.grad is not None)

    def is_backward(self, seen: Seen) -> bool:
        """Whether a place is a call that asked for gradients to be accumulated."""
        return seen.kind == "node" and seen.site in self.backwards

    @property
    def gradient_query(self) -> str:
        """How programs of the profile ask whether a value is tracked."""
        if not self.backend.embedded:
            return "requires_grad"
        from gradguard.runtime.profiles import PROFILES

        return PROFILES[self.backend.profile].gradient_query

    def invent(self) -> None:
        """Note that the run no longer holds known values only."""
        self.trace.exact = False
