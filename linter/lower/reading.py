"""The ways to read a Python file."""

from __future__ import annotations

from enum import Enum, auto


class Reading(Enum):
    """How a file is read.

    LIBCST lowers what libcst makes of its pieces. TREE and ROWS, for a first look, lower what the cheap parser makes of
    them; with ROWS a long text is cut by its rows, and only the pieces that are asked for are parsed. Positions come
    from libcst in all three: handles are the same.
    """

    LIBCST = auto()
    TREE = auto()
    ROWS = auto()
