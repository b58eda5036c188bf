"""Workflow commands: GitHub Actions turns each line into an annotation of the changed file."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.findings import Finding, Report
from gradguard.report.concise import headline
from gradguard.report.failures import with_failures
from gradguard.report.layout import one_line
from gradguard.report.place import in_cell, relative, spell
from gradguard.report.view import View

_COMMANDS = {"error": "error", "warning": "warning", "hint": "notice"}
_DATA = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(report: Report, view: View) -> str:
    """One command a finding; the witness follows the headline within the annotation."""
    return "".join(_command(finding, view) + "\n" for finding in with_failures(report))


def _command(finding: Finding, view: View) -> str:
    properties = {
        "title": f"{finding.code} {finding.name}",
        "file": relative(finding.span.filename, view.root),
    }
    properties.update(_region(finding))
    listed = ",".join(
        f"{key}={_surrogates_out(value).translate(_PROPERTY)}" for key, value in properties.items()
    )
    body = "\n".join(_body(finding)).translate(_DATA)
    return f"::{_COMMANDS.get(finding.severity, 'warning')} {listed}::{body}"


def _region(finding: Finding) -> dict[str, str]:
    span = finding.span
    if span.cell is not None:  # rows within a cell are no lines of the file
        return {}
    region = {"line": str(span.start.row)}
    # Columns are only taken where start and end share a line.
    if span.end.row > span.start.row:
        return {**region, "endLine": str(span.end.row)}
    last = max(span.end.column - 1, span.start.column)
    return {**region, "endLine": region["line"], "col": str(span.start.column), "endColumn": str(last)}


def _body(finding: Finding) -> Iterator[str]:
    where = in_cell(finding.span)
    yield f"{spell(finding.span)}: {headline(finding)}" if not where else f"{where}: {headline(finding)}"
    for number, step in enumerate(finding.witness, 1):
        yield f"{number}. {spell(step.span)}: {one_line(step.message)}"
    if finding.help:
        yield f"help: {one_line(finding.help)}"


def _surrogates_out(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode("utf-8")
