"""What a run and its worker processes say to each other over pipes, pickled.

Both ends are processes of one run. Nothing of this is ever read from a file.
"""

from __future__ import annotations

from dataclasses import dataclass

from gradguard.source import Source
from gradguard.work.analysis import Group
from gradguard.work.result import Result
from gradguard.work.sights import Sights


@dataclass(frozen=True, slots=True)
class Start:
    """The first message to a worker: the groups of the run, the seconds granted to each file, and whether it is to
    tell what results were made from."""

    groups: tuple[Group, ...]
    seconds: float
    tells_sights: bool = True


@dataclass(frozen=True, slots=True)
class Job:
    """A file to analyse: its number in the run, and the number of its group."""

    number: int
    group: int
    source: Source


@dataclass(frozen=True, slots=True)
class Done:
    """A worker's answer to a job. The sights stand for the `seen` of the result."""

    number: int
    result: Result
    sights: Sights
