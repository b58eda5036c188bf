"""Places in the program, without positions."""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """The node with handle `at` in the module named `module`."""

    module: str
    at: int
