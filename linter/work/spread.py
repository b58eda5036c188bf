"""Analysing the files of a run, over as many processes as it is worth."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from gradguard.source import Source
from gradguard.work.analysis import Group
from gradguard.work.limits import CPU_SECONDS
from gradguard.work.messages import Job, Start
from gradguard.work.result import Result
from gradguard.work.serving import Server
from gradguard.work.sights import Sights
from gradguard.work.split import pieces, processes_for

Take = Callable[[int, int, Result, Sights], None]
"""Takes the number of a file, the number of the process that did it, its result, and what it was made from."""


def analyse_all(
    groups: Sequence[Group],
    files: Sequence[tuple[int, Source]],
    take: Take,
    jobs: int = 0,
    seconds: float = CPU_SECONDS,
    tells_sights: bool = True,
) -> None:
    """Analyse `files`, each with the number of its group, and hand each result to `take` in any order.

    `jobs` is the most processes to use, 0 leaves it to the machine; `seconds` are granted to each file. What
    results were made from is told only if `tells_sights`.
    """
    sizes = [len(source.text) for _, source in files]
    processes = processes_for(sizes, jobs) if sys.executable else 1
    if processes == 1:
        server = Server(groups, seconds, tells_sights)
        for number, (group, source) in enumerate(files):
            take(number, 0, *server.answer(group, source))
        return
    from gradguard.work.pool import Pool

    work = [Job(number, group, source) for number, (group, source) in enumerate(files)]
    shares = [[work[number] for number in piece] for piece in pieces(sizes, processes)]
    Pool(processes, Start(tuple(groups), seconds, tells_sights), take).run(shares)
