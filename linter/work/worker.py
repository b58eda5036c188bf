"""A process that analyses the files it is given."""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import BinaryIO

from gradguard.work.messages import Done, Job, Start
from gradguard.work.serving import Server


def main() -> None:
    """Answer each job on what was standard output, until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "wb")
    # Nothing that runs here may write between the answers.
    os.dup2(2, 1)
    try:
        serve(sys.stdin.buffer, answers)
    except (BrokenPipeError, EOFError):
        return


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Read a `Start` and then tuple after tuple of `Job`s; write a `Done` for each of these."""
    start: Start = pickle.load(jobs)
    server = Server(start.groups, start.seconds, start.tells_sights)
    while True:
        try:
            piece: tuple[Job, ...] = pickle.load(jobs)
        except EOFError:
            return
        for job in piece:
            result, sights = server.answer(job.group, job.source)
            pickle.dump(Done(job.number, result, sights), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
