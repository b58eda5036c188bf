"""One JSON object a line and finding."""

from __future__ import annotations

import json

from gradguard.findings import Report
from gradguard.report.failures import with_failures
from gradguard.report.record import record_of
from gradguard.report.view import View


def render(report: Report, view: View) -> str:
    """A finding record on each line, nothing where nothing was found."""
    return "".join(json.dumps(record_of(finding, view)) + "\n" for finding in with_failures(report))
