"""A run in a sentence, and its findings counted by rule."""

from __future__ import annotations

from collections import Counter

from gradguard.findings import Report
from gradguard.report.failures import UNREADABLE, unread_files, with_failures


def summary(report: Report) -> str:
    """One or two plain sentences on one line: what was found, in how many files, and what was not checked."""
    unread = len(unread_files(report))
    faults = [finding for finding in report.findings if finding.code != UNREADABLE]
    if faults:
        files = len({finding.span.filename for finding in faults})
        said = f"Found {_count(len(faults), 'fault')} in {_count(files, 'file')} ({report.checked} checked)."
    elif report.checked or unread:
        said = f"No faults found ({_count(report.checked, 'file')} checked)."
    else:
        return "No files to check."
    return f"{said} Not checked in full: {_count(unread, 'file')}." if unread else said


def statistics(report: Report, format: str = "text") -> str:
    """How often each rule spoke, most often first: a table as text, or a JSON array.

    Files that could not be read count as GRD000. Raises ValueError for another format.
    """
    counted = Counter((finding.code, finding.name) for finding in with_failures(report))
    ranked = sorted(counted.items(), key=lambda item: (-item[1], item[0]))
    if format == "json":
        import json

        rows = [{"code": code, "name": name, "count": count} for (code, name), count in ranked]
        return json.dumps(rows, indent=2) + "\n"
    if format != "text":
        raise ValueError(f"unknown format {format!r} of statistics, known are: text, json")
    digits = max((len(str(count)) for _, count in ranked), default=0)
    return "".join(f"{count:>{digits}}  {code}  {name}\n" for (code, name), count in ranked)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
