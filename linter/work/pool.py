"""Worker processes, each fed by a thread of the run.

They are started afresh rather than forked: a fork copies whatever locks the caller's threads hold, and a
fresh process is the same on every system. A process that dies or falls silent costs the file it had in hand,
nothing else.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from typing import IO

from gradguard.findings import Failure
from gradguard.work.messages import Done, Job, Start
from gradguard.work.result import Result
from gradguard.work.sights import NOTHING, Sights
from gradguard.work.split import Shares

SILENCE = 900.0
"""Seconds after which a worker that gives no answer is taken for dead."""

Answer = Callable[[int, int, Result, Sights], None]
"""Takes the number of a job, that of the worker's process (for its sights), and what came out."""


class Pool:
    """Runs jobs in `processes` worker processes and hands each result to `answer`, one at a time."""

    def __init__(self, processes: int, start: Start, answer: Answer, silence: float = SILENCE) -> None:
        """Starts nothing yet."""
        self._processes = processes
        self._start = start
        self._answer = answer
        self._silence = silence
        self._lock = threading.Lock()
        self._workers: set[_Worker] = set()
        self._started = 0
        self._stopped = False
        self._error: BaseException | None = None

    def run(self, pieces: Sequence[Sequence[Job]]) -> None:
        """Do all jobs; those of a piece go to the same process, one after the other.

        What `answer` raises ends the run and is raised here.
        """
        shares = Shares(pieces, self._processes)
        threads = [
            threading.Thread(target=self._feed, args=(number, shares), daemon=True)
            for number in range(self._processes)
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        finally:
            with self._lock:
                self._stopped = True
                for worker in self._workers:
                    worker.kill()
        if self._error is not None:
            raise self._error

    def _feed(self, number: int, shares: Shares[Sequence[Job]]) -> None:
        worker: _Worker | None = None
        try:
            while (piece := self._next(number, shares)) is not None:
                worker = worker or self._new_worker()
                if worker is None:
                    return
                worker.begin(piece)
                for position, job in enumerate(piece):
                    done = worker.answer(job)
                    self._tell(job, worker, done)
                    if done is None:
                        self._forget(worker)
                        worker = None
                        # What else it held goes on elsewhere.
                        with self._lock:
                            shares.give_back(number, piece[position + 1 :])
                        break
        except BaseException as error:
            with self._lock:
                self._error, self._stopped = error, True
        finally:
            if worker is not None:
                self._forget(worker)

    def _next(self, number: int, shares: Shares[Sequence[Job]]) -> Sequence[Job] | None:
        with self._lock:
            return None if self._stopped else shares.next_for(number)

    def _tell(self, job: Job, worker: _Worker, done: Done | None) -> None:
        with self._lock:
            if self._stopped:
                return
            if done is None:
                reason = f"the process that analysed it {worker.fate}"
                broken = Result(broken=Failure(job.source.filename, reason))
                self._answer(job.number, worker.number, broken, NOTHING)
            else:
                self._answer(job.number, worker.number, done.result, done.sights)

    def _new_worker(self) -> _Worker | None:
        with self._lock:
            if self._stopped:
                return None
            worker = _Worker(self._started, self._start, self._silence)
            self._started += 1
            self._workers.add(worker)
        return worker

    def _forget(self, worker: _Worker) -> None:
        with self._lock:
            self._workers.discard(worker)
        worker.kill()


class _Worker:
    """One process, spoken to over its standard streams."""

    def __init__(self, number: int, start: Start, silence: float) -> None:
        self.number = number
        self.fate = "died"
        self._silence = silence
        self._greeting: Start | None = start
        self._process = subprocess.Popen(
            [sys.executable, "-c", _program()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def begin(self, piece: Sequence[Job]) -> None:
        """Hand over all jobs of a piece: a process that had to ask for each would wait for a tenth of its time."""
        stream = _stream(self._process.stdin)
        try:
            if self._greeting is not None:
                pickle.dump(self._greeting, stream, pickle.HIGHEST_PROTOCOL)
                self._greeting = None
            pickle.dump(tuple(piece), stream, pickle.HIGHEST_PROTOCOL)
            stream.flush()
        except OSError:
            # It has died, as its answer will show.
            return

    def answer(self, job: Job) -> Done | None:
        """The answer to the next job; None if the process has died of it or fell silent."""
        watch = threading.Timer(self._silence, self._give_up)
        watch.daemon = True
        watch.start()
        try:
            answer = pickle.load(_stream(self._process.stdout))
        except (OSError, EOFError, pickle.UnpicklingError):
            return None
        finally:
            watch.cancel()
        return answer if isinstance(answer, Done) and answer.number == job.number else None

    def kill(self) -> None:
        """End the process, if it still runs, and what is left of it."""
        self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            try:
                _stream(stream).close()
            except OSError:
                continue
        self._process.wait()

    def _give_up(self) -> None:
        self.fate = f"gave no answer in {self._silence:.0f} seconds"
        self._process.kill()


def _program() -> str:
    """What a worker runs; it finds modules where this process does."""
    return f"import sys; sys.path[:] = {sys.path!r}; from gradguard.work.worker import main; main()"


def _stream(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None
    return stream
