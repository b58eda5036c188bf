"""One line a finding, in the shape that flake8 gave editors and scripts to read."""

from __future__ import annotations

from gradguard.findings import Finding, Report
from gradguard.report.failures import with_failures
from gradguard.report.layout import one_line
from gradguard.report.paint import Paint
from gradguard.report.place import spell
from gradguard.report.view import View


def headline(finding: Finding) -> str:
    """`CODE [name] message`, on one line."""
    return f"{finding.code} [{finding.name}] {one_line(finding.message)}"


def render(report: Report, view: View) -> str:
    """`path:row:column: CODE [name] message` for each finding."""
    paint = Paint(view.color)
    return "".join(_line(finding, paint) + "\n" for finding in with_failures(report))


def _line(finding: Finding, paint: Paint) -> str:
    code, text = headline(finding).split(" ", 1)
    return f"{paint('bold', spell(finding.span))}: {paint(finding.severity, code)} {text}"
