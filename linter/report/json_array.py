"""One JSON array of findings."""

from __future__ import annotations

import json

from gradguard.findings import Report
from gradguard.report.failures import with_failures
from gradguard.report.record import record_of
from gradguard.report.view import View


def render(report: Report, view: View) -> str:
    """An array of finding records; ASCII, so that any stream can carry it."""
    return json.dumps([record_of(finding, view) for finding in with_failures(report)], indent=2) + "\n"
