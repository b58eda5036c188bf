"""How many processes a run deserves, and which files each gets."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Generic, TypeVar

Piece = TypeVar("Piece")

WORTH_A_PROCESS = 1_000_000
"""Bytes of suspect sources that a further process must have to do before it pays to start one."""
MOST = 4
"""Processes that are started where nobody said how many: more wait for memory rather than work."""
SHARES = 80
"""Pieces that each process's part is cut into, so that none is left alone with a slow one."""


def processes_for(sizes: Sequence[int], jobs: int) -> int:
    """The number of processes for files of these sizes; `jobs` is the most that the user allows, 0 for any."""
    most = jobs or min(processors(), MOST)
    return max(1, min(most, len(sizes), sum(sizes) // WORTH_A_PROCESS))


def pieces(sizes: Sequence[int], processes: int) -> list[list[int]]:
    """The numbers of the files in pieces of neighbours, in order."""
    most = max(sum(sizes) // (processes * SHARES), 1)
    found: list[list[int]] = []
    filled = most
    for number, size in enumerate(sizes):
        if filled + size > most:
            found.append([])
            filled = 0
        found[-1].append(number)
        filled += size
    return found


class Shares(Generic[Piece]):
    """Pieces of work, of which each process takes those that lie together: neighbours import the same files, which
    are then opened once. One that has done its own takes from the far end of what another has left."""

    def __init__(self, pieces: Sequence[Piece], processes: int) -> None:
        """Each process gets as many pieces, all of much the same size."""
        bounds = [len(pieces) * number // processes for number in range(processes + 1)]
        self._left = [deque(pieces[start:end]) for start, end in pairwise(bounds)]

    def next_for(self, process: int) -> Piece | None:
        """The next piece for a process, None if all are taken."""
        if self._left[process]:
            return self._left[process].popleft()
        longest = max(self._left, key=len)
        return longest.pop() if longest else None

    def give_back(self, process: int, piece: Piece) -> None:
        """Put back what a process has not done."""
        self._left[process].appendleft(piece)


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1
