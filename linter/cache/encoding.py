"""Findings and rules as plain lists, and back."""

from __future__ import annotations

from typing import Any

from gradguard.findings import Edit, Failure, Finding, Fix, Position, Replay, Span, WitnessStep
from gradguard.rule import Rule


def finding_to_list(finding: Finding) -> list[Any]:
    """A finding as lists, texts, numbers, true, false and null."""
    return [
        finding.code,
        finding.name,
        finding.message,
        _from_span(finding.span),
        finding.severity,
        finding.confidence,
        [[_from_span(step.span), step.message] for step in finding.witness],
        list(finding.notes),
        finding.help,
        [[replay.profile, replay.outcome, replay.detail] for replay in finding.replays],
        None if finding.fix is None else _from_fix(finding.fix),
    ]


def finding_from_list(told: list[Any]) -> Finding:
    """The inverse of `finding_to_list`; raises TypeError or ValueError on anything else."""
    code, name, message, span, severity, confidence, witness, notes, help, replays, fix = told
    return Finding(
        _text(code),
        _text(name),
        _text(message),
        _to_span(span),
        _text(severity),
        _text(confidence),
        tuple(WitnessStep(_to_span(where), _text(text)) for where, text in witness),
        tuple(map(_text, notes)),
        _text(help),
        tuple(Replay(_text(profile), _text(outcome), _text(detail)) for profile, outcome, detail in replays),
        None if fix is None else _to_fix(fix),
    )


def failure_to_list(failure: Failure | None) -> list[str] | None:
    """A failure as a pair of texts."""
    return None if failure is None else [failure.filename, failure.reason]


def failure_from_list(told: list[Any] | None) -> Failure | None:
    """The inverse of `failure_to_list`; raises TypeError or ValueError on anything else."""
    if told is None:
        return None
    filename, reason = told
    return Failure(_text(filename), _text(reason))


def rule_to_list(rule: Rule) -> list[Any]:
    """What is said of a rule; what it listens to and how it checks is left out."""
    return [rule.code, rule.name, rule.summary, rule.severity, rule.preview]


def rule_from_list(told: list[Any]) -> Rule:
    """The inverse of `rule_to_list`; raises TypeError or ValueError on anything else."""
    code, name, summary, severity, preview = told
    return Rule(_text(code), _text(name), _text(summary), _text(severity), bool(preview))


def _from_span(span: Span) -> list[Any]:
    return [span.filename, span.start.row, span.start.column, span.end.row, span.end.column, span.cell]


def _to_span(told: list[Any]) -> Span:
    filename, *places, cell = told
    row, column, last_row, last_column = map(_number, places)
    return Span(
        _text(filename),
        Position(row, column),
        Position(last_row, last_column),
        None if cell is None else _number(cell),
    )


def _from_fix(fix: Fix) -> list[Any]:
    return [fix.description, [[_from_span(edit.span), edit.text] for edit in fix.edits], fix.safe]


def _to_fix(told: list[Any]) -> Fix:
    description, edits, safe = told
    return Fix(
        _text(description), tuple(Edit(_to_span(span), _text(text)) for span, text in edits), bool(safe)
    )


def _text(told: object) -> str:
    if not isinstance(told, str):
        raise TypeError("not a text")
    return told


def _number(told: object) -> int:
    if not isinstance(told, int):
        raise TypeError("not a number")
    return told
