"""Analysing files of several groups in one process, without holding up the collector of garbage."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from dataclasses import replace

from gradguard.source import Source
from gradguard.work.analysis import Analysis, Group
from gradguard.work.limits import CPU_SECONDS
from gradguard.work.result import Result
from gradguard.work.sights import NOTHING, Sights, Teller

_ROUNDS = 20
"""Files between two full collections: what lives is large, and next to nothing of it is ever garbage."""


class Server:
    """Answers file by file. The modules of a group that was not asked for last are let go."""

    def __init__(self, groups: Sequence[Group], seconds: float = CPU_SECONDS) -> None:
        """`seconds` are granted to each file."""
        self._groups = groups
        self._seconds = seconds
        self._current = -1
        self._analysis: Analysis | None = None
        # Each group has a memory of its own, which must be told everything.
        self._tellers: dict[int, Teller] = {}
        self._answered = 0

    def answer(self, group: int, source: Source) -> tuple[Result, Sights]:
        """The result of a file (its `seen` is told by the sights); never raises."""
        if self._analysis is None or group != self._current:
            self._analysis, self._current = Analysis(self._groups[group], self._seconds), group
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            result = self._analysis.of(source)
            teller = self._tellers.setdefault(group, Teller())
            outlined = self._analysis.outlined()
            sights = (
                NOTHING if result.seen is None else teller.tell(self._analysis.disk, result.seen, outlined)
            )
        finally:
            self._answered += 1
            gc.collect(2 if self._answered % _ROUNDS == 0 else 1)
            if was_enabled:
                gc.enable()
        return replace(result, seen=None), sights
