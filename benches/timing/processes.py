"""Whole processes, measured in turn."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROUNDS = 5


@dataclass(frozen=True, slots=True)
class Usage:
    """What one process took: seconds on the wall and of the processor, and the most memory, in bytes, that it or
    one of its children held."""

    wall: float
    processor: float
    memory: int
    finished: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """A command, and what is done before each of its runs. `codes` are the exit codes of a run that went well."""

    command: Sequence[str | Path]
    before: Callable[[], None] = lambda: None
    codes: frozenset[int] = frozenset({0, 1})


@dataclass(frozen=True, slots=True)
class Series:
    """The runs of one call."""

    runs: tuple[Usage, ...]

    @property
    def wall(self) -> float:
        """The median of the seconds on the wall."""
        return median(run.wall for run in self.runs)

    @property
    def processor(self) -> float:
        """The median of the seconds of the processor."""
        return median(run.processor for run in self.runs)

    @property
    def memory(self) -> int:
        """The most bytes that a process held in any of the runs."""
        return max(run.memory for run in self.runs)


class Failed(Exception):
    """A command that did not do its work; the argument tells what it said."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Runs calls in `folder`, with `environment`."""

    folder: Path
    environment: Mapping[str, str]
    rounds: int = ROUNDS

    def in_turn(self, calls: Mapping[str, Call]) -> dict[str, Series]:
        """One warm-up of each, and then rounds of A B A B ..."""
        for call in calls.values():
            self.once(call)
        runs: dict[str, list[Usage]] = {name: [] for name in calls}
        for _ in range(self.rounds):
            for name, call in calls.items():
                runs[name].append(self.once(call))
        return {name: Series(tuple(series)) for name, series in runs.items()}

    def once(self, call: Call, limit: float | None = None) -> Usage:
        """One run, stopped after `limit` seconds. Raises Failed."""
        call.before()
        with (self.folder / "errors").open("w+b") as errors:
            start = time.perf_counter()
            process = subprocess.Popen(
                list(map(str, call.command)),
                cwd=self.folder,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
            if limit is not None and not _ends_within(process.pid, start + limit):
                process.kill()
                process.wait()
                return Usage(time.perf_counter() - start, 0.0, 0, finished=False)
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.perf_counter() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            if process.returncode not in call.codes:
                errors.seek(0)
                told = errors.read().decode(errors="replace")[-2000:]
                raise Failed(f"{' '.join(map(str, call.command))}: exit code {process.returncode}\n{told}")
        return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)


def _ends_within(process: int, end: float) -> bool:
    while time.perf_counter() < end:
        # The status is left to be asked for once more.
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        time.sleep(0.05)
    return False
