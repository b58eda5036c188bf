"""A name for a finding that outlives edits elsewhere in its file."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from gradguard.findings import Finding
from gradguard.report.place import Lines, relative
from gradguard.report.view import View


def fingerprints(findings: Iterable[Finding], view: View) -> list[str]:
    """A hexadecimal fingerprint for each finding, all different.

    It is made from the rule, the file, the headline and the text of the line, not from the row: lines that
    come or go above change nothing. Equal findings of one file are told apart by their order.
    """
    lines = Lines(view.sources)
    before: Counter[str] = Counter()
    names: list[str] = []
    for finding in findings:
        span = finding.span
        line = lines.get(span.filename, span.cell, span.start.row) or ""
        parts = (finding.code, relative(span.filename, view.root), finding.message, "".join(line.split()))
        key = _digest("\0".join(parts))
        names.append(_digest(f"{key}\0{before[key]}") if before[key] else key)
        before[key] += 1
    return names


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
