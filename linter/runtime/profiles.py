"""What frameworks do differently, as data.

Sources: torch 2.13.0 (ran), PaddlePaddle 3.3.1 (ran; ``RunBackward`` skips a root whose
stop_gradient is set), tenferro-ad 0.8.0 (the published experiment that gradguard starts
from: ``backward`` checks that the output is a scalar, nothing else).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal

from gradguard.runtime.modes import modes

Untracked = Literal["raises", "empty table", "none"]


@dataclass(frozen=True)
class Profile:
    """One framework.

    Attributes:
        name: its name in configuration and reports.
        untracked_backward: what backward on an untracked scalar does: ``raises`` torch's
            error, answers with an ``empty table`` of gradients, or returns ``none`` in silence.
        frees_graph: a second backward through saved tensors is an error.
        rebinds_augmented: ``w -= d`` makes a new value instead of writing into ``w``.
        gradient_query: how programs ask whether a value is tracked.
        clear_gradient: how programs empty a leaf's gradient.
    """

    name: str
    untracked_backward: Untracked
    frees_graph: bool
    rebinds_augmented: bool
    gradient_query: str = "requires_grad"
    clear_gradient: str = "zero_grad"


TORCH = Profile("torch", "raises", frees_graph=True, rebinds_augmented=False)
TENFERRO = Profile(
    "tenferro",
    "empty table",
    frees_graph=False,
    rebinds_augmented=True,
    gradient_query="tracks_grad",
    clear_gradient="clear_grad",
)
PADDLE = Profile(
    "paddle",
    "none",
    frees_graph=True,
    rebinds_augmented=True,
    gradient_query="stop_gradient",
    clear_gradient="clear_grad",
)

PROFILES = {p.name: p for p in (TORCH, TENFERRO, PADDLE)}


def active_profile() -> Profile:
    """Return the running thread's profile, torch unless one was chosen."""
    return modes.profile or TORCH


@contextmanager
def profile(chosen: Profile | str) -> Iterator[Profile]:
    """Run the block under a profile, given itself or by name.

    Raises:
        KeyError: there is no profile of that name.
    """
    selected = PROFILES[chosen] if isinstance(chosen, str) else chosen
    before = modes.profile
    modes.profile = selected
    try:
        yield selected
    finally:
        modes.profile = before
