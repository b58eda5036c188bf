"""Failures as findings, so that no format can forget a file that was not read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradguard.findings import Failure, Finding, Position, Report, Span

UNREADABLE = "GRD000"
_TOP = Position(1, 1)


def with_failures(report: Report) -> tuple[Finding, ...]:
    """All findings, and a GRD000 for each failure that the findings do not tell of yet."""
    return report.findings + tuple(map(_as_finding, _untold(report)))


def unread_files(report: Report) -> set[str]:
    """The names of the files that could not be checked, or not in full."""
    told = {finding.span.filename for finding in report.findings if finding.code == UNREADABLE}
    return told | {failure.filename for failure in report.failures}


def _untold(report: Report) -> Iterator[Failure]:
    # A file that cannot be parsed may come both as a finding and as a failure: tell it once.
    told = Counter(finding.span.filename for finding in report.findings if finding.code == UNREADABLE)
    for failure in report.failures:
        if told[failure.filename]:
            told[failure.filename] -= 1
        else:
            yield failure


def _as_finding(failure: Failure) -> Finding:
    return Finding(UNREADABLE, "unreadable", failure.reason, Span(failure.filename, _TOP, _TOP))
