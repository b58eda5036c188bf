"""How a facade answers for what the engine leaves out."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.runtime.errors import OutOfScope
from gradguard.runtime.unchecked import Unchecked


def absent(module: str) -> Callable[[str], Unchecked]:
    """Return the ``__getattr__`` of a facade module, whose error names the operation."""

    def __getattr__(name: str) -> Unchecked:
        if name.startswith("__"):
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        raise OutOfScope(f"{module}.{name}")

    return __getattr__
