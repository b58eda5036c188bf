"""Abstract values that only Rust has. A `Result` that is `Ok` is its inside."""

from __future__ import annotations

from typing import Any

from gradguard.frozen import dataclass
from gradguard.infer.sites import Site


@dataclass(frozen=True, slots=True)
class Variant:
    """A value of an enum: `Some`, `None`, `Err` or one of the tree's own."""

    name: str
    items: tuple[Any, ...] = ()


ABSENT = Variant("None")


@dataclass(frozen=True, slots=True)
class Handle:
    """An object of a crate that holds no values: `kind` is runtime, session or plain."""

    kind: str


@dataclass(frozen=True, slots=True)
class Table:
    """The answer of the backward at `site`."""

    site: Site


@dataclass(frozen=True, slots=True)
class Slot:
    """A gradient that was read and may be missing: `layers` (result, option) are still to be opened,
    outermost first. `mapped`: a closure ran on it."""

    parameter: str
    site: Site
    layers: tuple[str, ...]
    mapped: bool = False


@dataclass(frozen=True, slots=True)
class Presence:
    """A boolean that is `positive` exactly where the gradient of the slot is there."""

    slot: Slot
    positive: bool


@dataclass(frozen=True, slots=True)
class Counted:
    """How many gradients a table holds, or a test of that: `empty` says that it holds of one without any
    (False: of one with some, None: neither)."""

    table: Table
    empty: bool | None = None


@dataclass(frozen=True, slots=True)
class Stream:
    """An iterator: the known items, or one that stands for all; `steps` are closures still to be run on each,
    `skips` the gradients that were left out on the way."""

    items: tuple[Any, ...]
    exact: bool
    steps: tuple[Any, ...] = ()
    skips: tuple[tuple[Slot, Site], ...] = ()
