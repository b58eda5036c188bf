"""Room on the interpreter's stack for what recurses by its nature."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def room_for(frames: int) -> Iterator[None]:
    """Allow the scope at least so many frames."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, frames))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
