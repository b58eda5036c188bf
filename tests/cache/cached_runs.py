"""Runs over one folder with a cache, and what each of them analysed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import time_ns
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "work"))

from worked_projects import Answer, call, write_project

__all__ = ["Answer", "Runs", "call", "runs", "write_project"]

LATER = 10_000_000_000


class Runs:
    """Calls of `gradguard check` in `folder`. `analysed` names the files that the last call analysed."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self.analysed: list[str] = []
        self._patch = monkeypatch
        self._watch()
        self.set_clock(LATER)

    @property
    def cache(self) -> Path:
        return self.folder / ".gradguard_cache"

    @property
    def manifests(self) -> list[Path]:
        return sorted(self.cache.glob("*.runs*"))

    def set_clock(self, ahead: int) -> None:
        """Let runs think that they start so many nanoseconds from now: times of what was just written settle."""
        self._patch.setattr("gradguard.cache.memory.time_ns", lambda: time_ns() + ahead)

    def check(self, *arguments: str, within: str = ".") -> Answer:
        self.analysed = []
        return call(self.folder / within, "check", "--output-format", "json", *arguments)

    def fresh(self, *arguments: str, within: str = ".") -> Answer:
        """The same without a cache; `analysed` stays as it was."""
        analysed = self.analysed
        answer = self.check("--no-cache", *arguments, within=within)
        self.analysed = analysed
        return answer

    def _watch(self) -> None:
        from gradguard.work import spread

        analyse_all: Callable[..., None] = spread.analyse_all

        def noted(groups: Any, files: Sequence[Any], *others: Any, **named: Any) -> None:
            self.analysed = [source.filename for _, source in files]
            analyse_all(groups, files, *others, **named)

        self._patch.setattr(spread, "analyse_all", noted)


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    """Runs over the project with files that follow one another."""
    return Runs(write_project(tmp_path / "project"), monkeypatch)
