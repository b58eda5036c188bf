"""A finding as plain JSON data."""

from __future__ import annotations

from typing import Any

from gradguard.findings import Edit, Finding, Fix, Position, Replay, Span, WitnessStep
from gradguard.report.view import View


def record_of(finding: Finding, view: View) -> dict[str, Any]:
    """The finding as the JSON formats show it: rows and columns from 1, in characters, ends exclusive.

    `replay` is the first of `replays`, or null where nothing was replayed; `cell` is null outside notebooks.
    """
    replays = [_replay(replay) for replay in finding.replays]
    return {
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        **span_record(finding.span),
        "severity": finding.severity,
        "confidence": finding.confidence,
        "witness": [_step(step) for step in finding.witness],
        "replay": replays[0] if replays else None,
        "replays": replays,
        "notes": list(finding.notes),
        "help": finding.help or None,
        "fix": _fix(finding.fix) if finding.fix else None,
        "url": view.url(finding.code),
    }


def span_record(span: Span) -> dict[str, Any]:
    """`filename`, `cell`, `location` and `end_location` of a span."""
    return {
        "filename": span.filename,
        "cell": span.cell,
        "location": position_record(span.start),
        "end_location": position_record(span.end),
    }


def position_record(position: Position) -> dict[str, int]:
    """Row and column, both from 1."""
    return {"row": position.row, "column": position.column}


def _step(step: WitnessStep) -> dict[str, Any]:
    return {**span_record(step.span), "message": step.message}


def _replay(replay: Replay) -> dict[str, str]:
    return {"profile": replay.profile, "outcome": replay.outcome, "detail": replay.detail}


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "description": fix.description,
        "applicability": "safe" if fix.safe else "unsafe",
        "edits": [_edit(edit) for edit in fix.edits],
    }


def _edit(edit: Edit) -> dict[str, Any]:
    return {**span_record(edit.span), "content": edit.text}
