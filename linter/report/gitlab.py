"""GitLab's code quality report."""

from __future__ import annotations

import json
from typing import Any

from gradguard.findings import Finding, Report
from gradguard.report.failures import with_failures
from gradguard.report.fingerprint import fingerprints
from gradguard.report.layout import one_line
from gradguard.report.place import in_cell, relative
from gradguard.report.view import View

_SEVERITIES = {"error": "major", "warning": "minor", "hint": "info"}


def render(report: Report, view: View) -> str:
    """A JSON array of issues."""
    findings = with_failures(report)
    issues = [
        _issue(finding, mark, view)
        for finding, mark in zip(findings, fingerprints(findings, view), strict=True)
    ]
    return json.dumps(issues, indent=2) + "\n"


def _issue(finding: Finding, mark: str, view: View) -> dict[str, Any]:
    span = finding.span
    where = in_cell(span)
    # The first line stands for a notebook, whose lines on disk are JSON.
    begin, end = (1, 1) if where else (span.start.row, max(span.end.row, span.start.row))
    return {
        "type": "issue",
        "check_name": finding.code,
        "description": f"{finding.code}: {one_line(finding.message)}" + (f" ({where})" if where else ""),
        "categories": ["Bug Risk"],
        "severity": _SEVERITIES.get(finding.severity, "minor"),
        "fingerprint": mark,
        "location": {"path": relative(span.filename, view.root), "lines": {"begin": begin, "end": end}},
    }
