"""A small eager autograd engine over numpy with PyTorch's semantics of grad modes.

Importing this package loads neither numpy nor any other part of the engine: names are
resolved on first use.  ``import gradguard.runtime.torch as torch`` gives the facade that
stands in for torch, ``gradguard.runtime.tenferro`` the one for tenferro.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.errors import OutOfScope
    from gradguard.runtime.modes import ModeState, current_modes, fresh_modes, restore_modes
    from gradguard.runtime.profiles import PADDLE, TENFERRO, TORCH, Profile, active_profile, profile
    from gradguard.runtime.tensor import Tensor

__all__ = [
    "PADDLE",
    "TENFERRO",
    "TORCH",
    "ModeState",
    "OutOfScope",
    "Profile",
    "Tensor",
    "active_profile",
    "current_modes",
    "fresh_modes",
    "profile",
    "restore_modes",
]

_HOMES = {
    "PADDLE": "profiles",
    "TENFERRO": "profiles",
    "TORCH": "profiles",
    "ModeState": "modes",
    "OutOfScope": "errors",
    "Profile": "profiles",
    "Tensor": "tensor",
    "active_profile": "profiles",
    "current_modes": "modes",
    "fresh_modes": "modes",
    "profile": "profiles",
    "restore_modes": "modes",
}


def __getattr__(name: str) -> Unchecked:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
