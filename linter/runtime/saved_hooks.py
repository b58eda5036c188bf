"""Hooks on what operations save for backward."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.runtime.modes import modes
from gradguard.runtime.unchecked import Unchecked


class saved_tensors_hooks:
    """Inside the block, pass each saved tensor through ``pack_hook``, and back in backward.

    With hooks in place versions are not checked (torch 2.13).
    """

    def __init__(
        self,
        pack_hook: Callable[[Unchecked], Unchecked],
        unpack_hook: Callable[[Unchecked], Unchecked],
    ) -> None:
        """Keep the hooks."""
        self._hooks = (pack_hook, unpack_hook)

    def __enter__(self) -> None:
        """Put the hooks in place."""
        modes.saved_hooks = (*modes.saved_hooks, self._hooks)

    def __exit__(self, *exc: object) -> None:
        """Take the hooks away."""
        modes.saved_hooks = modes.saved_hooks[:-1]


class save_on_cpu(saved_tensors_hooks):
    """Save copies."""

    def __init__(self, pin_memory: bool = False) -> None:
        """Copy on saving."""
        super().__init__(lambda tensor: tensor.clone(), lambda tensor: tensor)
