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

_MANY = 1_000_000
"""New objects after which the collector runs: what lives is large, and next to nothing of it is ever garbage."""


class Server:
    """Answers file by file. The modules of a group that was not asked for last are let go."""

    def __init__(
        self, groups: Sequence[Group], seconds: float = CPU_SECONDS, tells_sights: bool = True
    ) -> None:
        """`seconds` are granted to each file; the sights are `NOTHING` unless `tells_sights`."""
        self._tells_sights = tells_sights
        self._groups = groups
        self._seconds = seconds
        self._current = -1
        self._analysis: Analysis | None = None
        # Each group has a memory of its own, which must be told everything.
        self._tellers: dict[int, Teller] = {}

    def answer(self, group: int, source: Source) -> tuple[Result, Sights]:
        """The result of a file (its `seen` is told by the sights); never raises."""
        if self._analysis is None or group != self._current:
            self._analysis, self._current = Analysis(self._groups[group], self._seconds), group
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            result = self._analysis.of(source)
            sights = self._sights(group, self._analysis, result) if self._tells_sights else NOTHING
        finally:
            if gc.get_count()[0] > _MANY:
                gc.collect()
            if was_enabled:
                gc.enable()
        return replace(result, seen=None), sights

    def _sights(self, group: int, analysis: Analysis, result: Result) -> Sights:
        teller = self._tellers.setdefault(group, Teller())
        outlined = analysis.outlined()
        return NOTHING if result.seen is None else teller.tell(analysis.disk, result.seen, outlined)
