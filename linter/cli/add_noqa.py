"""`gradguard check --add-noqa`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from gradguard.discover.decoding import Unreadable
from gradguard.discover.rewrite import rewrite_file
from gradguard.discover.walk import reason
from gradguard.findings import Failure
from gradguard.judge.silence import noqa_edits
from gradguard.run import Opened, Outcome
from gradguard.source import Source


@dataclass(frozen=True, slots=True)
class Written:
    """How many comments went into how many files, as words, and the files that could not be written."""

    comments: str
    files: str
    failures: tuple[Failure, ...]


def write_comments(opened: Sequence[Opened], outcome: Outcome) -> Written:
    """Write a comment at each finding of the outcome."""
    comments = files = 0
    failures: list[Failure] = []
    sources = {
        file.loaded.filename: (file.path, file.loaded) for file in opened if isinstance(file.loaded, Source)
    }
    for filename, findings in groupby(outcome.report.findings, key=lambda finding: finding.span.filename):
        path, source = sources[filename]
        edits = noqa_edits(source, list(findings))
        if not edits:
            continue
        try:
            rewrite_file(path, edits)
        except OSError as error:
            failures.append(Failure(filename, f"cannot be written: {reason(error)}"))
        except Unreadable as error:
            failures.append(Failure(filename, f"cannot be written: {error}"))
        else:
            comments += len(edits)
            files += 1
    return Written(_count(comments, "comment"), _count(files, "file"), tuple(failures))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
