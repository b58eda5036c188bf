"""A second process that reads files of a large run from the far end, and tells which of them hold nothing.

Reading all files, and looking for words in them, comes before all else; it takes a tenth of such a run.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

from gradguard.discover.load import Clean, load_file
from gradguard.work.split import processors

if TYPE_CHECKING:
    from gradguard.discover.walk import Target
    from gradguard.run import Suspects
    from gradguard.settings.model import Settings

AT_ONCE = 40
"""Files that are told of together."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Files, each with the number of the settings that hold for it; `suspects` is a function of a module."""

    files: tuple[tuple[Target, int], ...]
    settings: tuple[Settings, ...]
    suspects: Suspects


class Skim:
    """Reads files elsewhere, the last one first, from its making to its end.

    `told` says of more and more paths whether the file holds nothing. Nobody has to wait for that: a file that was
    not told of can as well be read by who asks.
    """

    def __init__(self, files: Sequence[tuple[Target, Settings]], suspects: Suspects, jobs: int = 0) -> None:
        """Starts a process where `jobs`, the most processes to use (0: any), and the machine have one more."""
        self.told: dict[str, bool] = {}
        self._process: subprocess.Popen[bytes] | None = None
        if min(jobs or processors(), processors()) < 2 or not sys.executable:
            return
        program = f"import sys; sys.path[:] = {sys.path!r}; from gradguard.work.skim import main; main()"
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except OSError:
            return
        asked = _asked(files[::-1], suspects)
        threading.Thread(target=self._ask, args=(self._process, asked), daemon=True).start()

    def end(self) -> None:
        """No more is to be read."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _ask(self, process: subprocess.Popen[bytes], asked: Asked) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            with process.stdin as asks, process.stdout as answers:
                pickle.dump(asked, asks, pickle.HIGHEST_PROTOCOL)
                asks.flush()
                while True:
                    self.told.update(pickle.load(answers))
        except (OSError, EOFError, pickle.PickleError, AttributeError):
            # All is told, or the process has ended, or it cannot be asked.
            return


def _asked(files: Sequence[tuple[Target, Settings]], suspects: Suspects) -> Asked:
    numbers: dict[Settings, int] = {}
    numbered = tuple((target, numbers.setdefault(settings, len(numbers))) for target, settings in files)
    return Asked(numbered, tuple(numbers), suspects)


def main() -> None:
    """Answer what is asked on standard input."""
    try:
        skim(sys.stdin.buffer, sys.stdout.buffer)
    except BrokenPipeError:
        return


def skim(asks: BinaryIO, answers: BinaryIO) -> None:
    """Read an `Asked`; write, some at a time, which of its paths are of files that hold nothing."""
    asked: Asked = pickle.load(asks)
    suspect = [asked.suspects(settings) for settings in asked.settings]
    for start in range(0, len(asked.files), AT_ONCE):
        told = {
            target.path: isinstance(load_file(target, suspect[number]), Clean)
            for target, number in asked.files[start : start + AT_ONCE]
        }
        pickle.dump(told, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()
