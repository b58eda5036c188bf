"""SARIF 2.1.0, as code scanning services read it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gradguard import __version__
from gradguard.findings import Edit, Failure, Finding, Fix, Report, Span
from gradguard.report.failures import UNREADABLE
from gradguard.report.fingerprint import fingerprints
from gradguard.report.layout import one_line
from gradguard.report.pages import page_text, read_page, what_it_does
from gradguard.report.place import Lines, in_cell, uri
from gradguard.report.record import position_record
from gradguard.report.view import View

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "hint": "note"}
_HOW_MORE = "Run `gradguard rule {}` for the whole page."
_NOT_CHECKED = "A file was not checked"


def render(report: Report, view: View) -> str:
    """One run with its results; files that were not read are notifications of the tool."""
    rules = _first_of_each_rule(report.findings)
    marks = fingerprints(report.findings, view)
    draw = _Results(view, Lines(view.sources))
    run = {
        "tool": {"driver": _driver(list(rules.values()), view)},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(report.failures, view)],
        "results": [
            draw.result(finding, list(rules).index(finding.code), mark)
            for finding, mark in zip(report.findings, marks, strict=True)
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _first_of_each_rule(findings: Sequence[Finding]) -> dict[str, Finding]:
    first: dict[str, Finding] = {}
    for finding in findings:
        first.setdefault(finding.code, finding)
    return dict(sorted(first.items()))


def _driver(findings: Sequence[Finding], view: View) -> dict[str, Any]:
    return {
        "name": "gradguard",
        "version": __version__,
        "rules": [_rule(finding, view) for finding in findings],
        "notifications": [
            {
                "id": UNREADABLE,
                "name": "Unreadable",
                "shortDescription": {"text": _NOT_CHECKED},
                "fullDescription": {"text": f"{_NOT_CHECKED}: whatever is wrong in it was not looked for."},
                "help": {"text": _HOW_MORE.format(UNREADABLE)},
            }
        ],
    }


def _rule(finding: Finding, view: View) -> dict[str, Any]:
    rule = view.rules.get(finding.code)
    summary = rule.summary if rule else finding.name
    severity = rule.severity if rule else finding.severity
    page = read_page(rule) if rule else ""
    more = _HOW_MORE.format(finding.code)
    described: dict[str, Any] = {
        "id": finding.code,
        "name": finding.name.title().replace("-", ""),
        "shortDescription": {"text": summary},
        "fullDescription": {"text": what_it_does(page) or summary},
        "help": {"text": page_text(page) or more, "markdown": page or more},
        "defaultConfiguration": {"level": _LEVELS.get(severity, "warning")},
        "properties": {"tags": ["correctness", "autograd"], "shownName": finding.name},
    }
    url = view.url(finding.code)
    return {**described, "helpUri": url} if url else described


def _invocation(failures: Sequence[Failure], view: View) -> dict[str, Any]:
    return {
        "executionSuccessful": not failures,
        "toolExecutionNotifications": [
            {
                "descriptor": {"id": UNREADABLE, "index": 0},
                "level": "error",
                "message": {"text": one_line(failure.reason)},
                "locations": [{"physicalLocation": {"artifactLocation": _artifact(failure.filename, view)}}],
            }
            for failure in failures
        ],
    }


@dataclass(frozen=True, slots=True)
class _Results:
    view: View
    lines: Lines

    def result(self, finding: Finding, index: int, mark: str) -> dict[str, Any]:
        where = in_cell(finding.span)
        result: dict[str, Any] = {
            "ruleId": finding.code,
            "ruleIndex": index,
            "level": _LEVELS.get(finding.severity, "warning"),
            "message": {"text": one_line(finding.message) + (f" ({where})" if where else "")},
            "locations": [self.location(finding.span)],
            "partialFingerprints": {"gradguard/v1": mark},
            "properties": _properties(finding),
        }
        if finding.witness:
            steps = [self.location(step.span, step.message) for step in finding.witness]
            flow = [{"executionOrder": number, "location": step} for number, step in enumerate(steps, 1)]
            result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
            result["relatedLocations"] = [{"id": number, **step} for number, step in enumerate(steps, 1)]
        if finding.fix and all(edit.span.cell is None for edit in finding.fix.edits):
            result["fixes"] = [_fix(finding.fix, self.view)]
        return result

    def location(self, span: Span, message: str = "") -> dict[str, Any]:
        region: dict[str, Any] = dict(_region(span))
        snippet = self.lines.snippet(span)
        if snippet is not None:
            region["snippet"] = {"text": snippet}
        location: dict[str, Any] = {
            "physicalLocation": {"artifactLocation": _artifact(span.filename, self.view), "region": region}
        }
        where = in_cell(span)
        if where:
            location["logicalLocations"] = [{"name": f"cell {span.cell}", "fullyQualifiedName": where}]
        if message:
            location["message"] = {"text": one_line(message)}
        return location


def _properties(finding: Finding) -> dict[str, Any]:
    return {
        "confidence": finding.confidence,
        "replays": [
            {"profile": r.profile, "outcome": r.outcome, "detail": r.detail} for r in finding.replays
        ],
        "notes": list(finding.notes),
        "help": finding.help,
        "cell": finding.span.cell,
    }


def _region(span: Span) -> dict[str, int]:
    # A region counts the lines of the file as it is on disk. For a notebook these are lines of JSON, of which
    # a finding knows nothing; services want a region all the same.
    if span.cell is not None:
        return {"startLine": 1, "startColumn": 1, "endLine": 1, "endColumn": 1}
    start, end = position_record(span.start), position_record(max(span.end, span.start))
    return {
        "startLine": start["row"],
        "startColumn": start["column"],
        "endLine": end["row"],
        "endColumn": end["column"],
    }


def _artifact(filename: str, view: View) -> dict[str, str]:
    return {"uri": uri(filename, view.root)}


def _fix(fix: Fix, view: View) -> dict[str, Any]:
    edits: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        edits.setdefault(edit.span.filename, []).append(edit)
    changes = [
        {
            "artifactLocation": _artifact(filename, view),
            "replacements": [
                {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}} for edit in here
            ],
        }
        for filename, here in edits.items()
    ]
    return {"description": {"text": fix.description}, "artifactChanges": changes}
