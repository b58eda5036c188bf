"""What a run and its worker processes say to each other: pickled tuples over pipes, between own processes only."""

from __future__ import annotations

from dataclasses import dataclass

from gradguard.discover.disk import Stamp
from gradguard.source import Source
from gradguard.work.analysis import Group
from gradguard.work.result import Result
from gradguard.work.sights import Sights


@dataclass(frozen=True, slots=True)
class Job:
    """A file to analyse: its number in the run, and the number of its group."""

    number: int
    group: int
    source: Source


@dataclass(frozen=True, slots=True)
class Start:
    """The first message to a worker."""

    groups: tuple[Group, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Done:
    """A worker's answer to a job; `seen` of the result is told by `sights`."""

    number: int
    result: Result
    sights: Sights


__all__ = ["Done", "Job", "Stamp", "Start"]
