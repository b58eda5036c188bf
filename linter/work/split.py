"""How many processes a run deserves, and which files each gets."""

from __future__ import annotations

import os
from collections.abc import Sequence

WORTH_A_PROCESS = 1_000_000
"""Bytes of suspect sources that a further process must have to do before it pays to start one."""
MOST = 4
"""Processes that are started where nobody said how many: more wait for memory rather than work."""
SHARES = 12
"""Pieces that each process's part is cut into, so that none is left alone with a slow one."""


def processes_for(sizes: Sequence[int], jobs: int) -> int:
    """The number of processes for files of these sizes; `jobs` is the most that the user allows, 0 for any."""
    most = jobs or min(_processors(), MOST)
    return max(1, min(most, len(sizes), sum(sizes) // WORTH_A_PROCESS))


def pieces(sizes: Sequence[int], processes: int) -> list[list[int]]:
    """The numbers of the files in pieces of neighbours, the largest piece first.

    Neighbours import the same files, which are then opened once.
    """
    most = max(sum(sizes) // (processes * SHARES), 1)
    found: list[list[int]] = []
    filled = most
    for number, size in enumerate(sizes):
        if filled + size > most:
            found.append([])
            filled = 0
        found[-1].append(number)
        filled += size
    return sorted(found, key=lambda piece: -sum(sizes[number] for number in piece))


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        return os.cpu_count() or 1
