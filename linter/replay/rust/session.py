"""One run of a Rust program, and its calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from gradguard.facts.crates import Crate
from gradguard.infer.rust.spaces import Space, Spaces, TypeInfo
from gradguard.infer.sites import Site
from gradguard.replay.backend import Backend
from gradguard.replay.rust.values import Closure, Held, opened
from gradguard.replay.session import Session
from gradguard.replay.trace import Modes
from gradguard.replay.value import Value
from gradguard.runtime.modes import fresh_modes, modes
from gradguard.runtime.profiles import PROFILES
from gradguard.runtime.tenferro import EagerRuntime, EagerTensor

QUERIES = {"tenferro": "tracks_grad", "burn": "is_require_grad", "candle": "tracks"}


@dataclass(frozen=True)
class RustBackend(Backend):
    """The embedded runtime for a crate's profile; guards count."""

    def modes(self) -> Modes:
        """The modes of the running thread."""
        return Modes(modes.grad and not modes.no_grad_depth, modes.inference)

    @contextmanager
    def thread(self) -> Iterator[None]:
        """Run the block in the modes of a new thread, and leave none of its own behind."""
        with fresh_modes(PROFILES.get(self.profile)):
            yield


def backend_of(profile: str) -> RustBackend:
    """The embedded runtime for a crate's profile."""
    import gradguard.runtime.torch as facade

    return RustBackend(facade, profile)


@dataclass
class Statement:
    """A statement under way: the guards made in it, and those that it took out of their places."""

    owned: list[Held] = field(default_factory=list)


@dataclass
class RustSession(Session):
    """Shared by all calls.

    `goals` are the places that the run is about. `missing`: which gradients are taken away: none for "", "all", or
    that of the one leaf with this number; `absent` counts the readings that found none. `off`: the run stands
    under a guard of its own. `seeded` are the tensors that stand for unknown ones, by identity; `asked`: backward
    was called; `rerun` is what the run was started with. `told` are the places where something was printed or
    logged, `usual` those where that happens with all gradients there.
    """

    spaces: Spaces = None  # type: ignore[assignment]
    crates: dict[str, tuple[Crate, ...]] = field(default_factory=dict)
    default_crates: tuple[Crate, ...] = ()
    runtime: EagerRuntime = field(default_factory=EagerRuntime)
    guards: list[Held] = field(default_factory=list)
    live: list[dict[str, Value]] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)
    goals: frozenset[Site] = frozenset()
    missing: str = ""
    absent: int = 0
    off: bool = False
    seeded: dict[int, Value] = field(default_factory=dict)
    asked: bool = False
    rerun: Value = None
    told: set[Site] = field(default_factory=set)
    usual: frozenset[Site] = frozenset()

    def crates_of(self, module: str) -> tuple[Crate, ...]:
        """The crates that differentiate and that a file uses; one that names none has the root's."""
        from gradguard.infer.rust.roots import used_crates

        if module not in self.crates:
            from gradguard.facts.crates import load_crates

            known = load_crates(self.facts.rust)
            self.crates[module] = used_crates(self.program, None, module, known) or self.default_crates
        return self.crates[module]

    def tensor_of(self, value: Value) -> Value:
        """The engine's tensor behind a value, None where there is none."""
        value = opened(value)
        return value._inner if isinstance(value, EagerTensor) else None

    def name(self, value: Value, name: str) -> None:
        """Remember what a leaf is called in the program; the first name stays."""
        tensor = self.tensor_of(value)
        if tensor is None or not name or not tensor.requires_grad or not tensor.is_leaf:
            return
        present = self.leaves.get(id(tensor))
        if present is None or not present[0]:
            self.leaves[id(tensor)] = (name, tensor)

    @property
    def gradient_query(self) -> str:
        """How programs of the crate ask whether a value is tracked."""
        return QUERIES.get(self.backend.profile, "requires_grad")


@dataclass
class Frame:
    """One call: where its code is written, and the names it sees, innermost last."""

    session: RustSession
    module: str
    space: Space
    owner: TypeInfo | None
    scopes: tuple[dict[str, Value], ...]
    watched: frozenset[int] = frozenset()

    @property
    def crates(self) -> tuple[Crate, ...]:
        """The crates that differentiate and that the code's file uses."""
        return self.session.crates_of(self.module)

    def site(self, at: int) -> Site:
        """The place of a node of this code."""
        return Site(self.module, at)

    def scope_of(self, name: str) -> dict[str, Value] | None:
        """The innermost scope that binds a name."""
        return next((scope for scope in reversed(self.scopes) if name in scope), None)


def frame_of(session: RustSession, closure: Closure, scopes: tuple[dict[str, Value], ...]) -> Frame:
    """The frame of a call of a function or closure."""
    watched = session.watched_in(closure.module)
    return Frame(session, closure.module, closure.space, closure.owner, scopes, watched)
