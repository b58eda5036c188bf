"""Grad mode and inference mode, one pair for each thread (torch 2.13: new threads start on/off)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.profiles import Profile

SavedHooks = tuple[Callable[[Unchecked], Unchecked], Callable[[Unchecked], Unchecked]]


class ThreadModes(threading.local):
    """What decides whether an operation is recorded, for the running thread.

    ``no_grad_depth`` belongs to tenferro's guards, which count instead of remembering the
    previous mode; ``targeted`` tells a custom backward that the pass was asked for some
    inputs only, which reentrant checkpointing refuses; ``transforms`` counts the function
    transforms running.
    """

    grad: bool = True
    inference: bool = False
    no_grad_depth: int = 0
    saved_hooks: tuple[SavedHooks, ...] = ()
    profile: Profile | None = None
    pass_number: int = 0
    targeted: bool = False
    transforms: int = 0


modes = ThreadModes()


@dataclass(frozen=True)
class ModeState:
    """A snapshot of one thread's modes; the defaults are those of a new thread."""

    grad: bool = True
    inference: bool = False
    no_grad_depth: int = 0
    saved_hooks: tuple[SavedHooks, ...] = ()
    profile: Profile | None = None


def current_modes() -> ModeState:
    """Return the running thread's modes."""
    return ModeState(modes.grad, modes.inference, modes.no_grad_depth, modes.saved_hooks, modes.profile)


def restore_modes(state: ModeState) -> None:
    """Put the running thread into ``state``."""
    modes.grad = state.grad
    modes.inference = state.inference
    modes.no_grad_depth = state.no_grad_depth
    modes.saved_hooks = state.saved_hooks
    modes.profile = state.profile


@contextmanager
def fresh_modes(profile: Profile | None = None) -> Iterator[None]:
    """Run the block as a new thread would, under ``profile``; then put everything back.

    A replay wants this: a guard that the replayed program leaks must not reach the caller.
    """
    before = current_modes()
    restore_modes(ModeState(profile=profile))
    try:
        yield
    finally:
        restore_modes(before)


def recording() -> bool:
    """Tell whether this thread records operations on tracked tensors (grad on, inference off)."""
    return modes.grad and not modes.inference


def is_grad_enabled() -> bool:
    """Return the grad mode; under inference mode ``enable_grad`` makes it True without effect."""
    return modes.grad


def is_inference_mode_enabled() -> bool:
    """Return the inference mode."""
    return modes.inference


@contextmanager
def grad_mode(enabled: bool) -> Iterator[None]:
    """Run the block with the given grad mode, for the engine's own use."""
    before = modes.grad
    modes.grad = enabled
    try:
        yield
    finally:
        modes.grad = before
