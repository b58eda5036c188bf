"""When a guard is alive, form by form, against what the compiler makes of each."""

from __future__ import annotations

import pytest
from guard_forms import BODIES, Row, certain, program, read_table

import gradguard

ROWS = read_table()


def rows_of(text: str, mark: str) -> set[int]:
    return {row for row, line in enumerate(text.splitlines(), start=1) if line.endswith(f"// {mark}")}


def found(text: str) -> set[tuple[int, str]]:
    findings = gradguard.check_text(text, filename="forms.rs", preview=True, isolated=True)
    return {(finding.span.start.row, finding.code) for finding in findings}


def test_every_form_has_a_program() -> None:
    assert [row.form for row in ROWS] == list(BODIES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.form)
def test_recording_at_the_operation(row: Row) -> None:
    """Where recording is on, the analysis is sure of it: the probe's backward is never reached."""
    text = program(BODIES[row.form])
    reached = {(line, "GRD102") for line in rows_of(text, "probe")} & found(text)
    assert bool(reached) == row.off


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.form)
def test_certainty_at_the_operation(row: Row) -> None:
    """Where recording is off, the analysis is sure of that too."""
    text = certain(BODIES[row.form])
    told = {code for line, code in found(text) if line in rows_of(text, "sure")}
    assert ("GRD101" in told) == row.off


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.form)
def test_recording_behind_the_block(row: Row) -> None:
    text = program(BODIES[row.form])
    reached = {(line, "GRD102") for line in rows_of(text, "after")} & found(text)
    assert bool(reached) == row.after


DROPPED_AT_ONCE = {
    "let _: Guard = rt.no_grad(); OP",
    "let _ = rt.no_grad(); OP",
    "let _ = id(rt.no_grad()); OP",
    "_ = rt.no_grad(); OP",
    "rt.no_grad(); OP",
    "let (_, _n) = (rt.no_grad(), 1); OP",
    "let Some(_) = Some(rt.no_grad()) else {..}; OP",
    "drop(rt.no_grad()); OP",
    "let Holder{n, ..} = Holder{_g: rt.no_grad()}; OP",
    "make(&rt); OP",
}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.form)
def test_a_guard_dropped_in_its_own_statement_is_told(row: Row) -> None:
    told = any(code == "GRD301" for _, code in found(program(BODIES[row.form])))
    assert told == (row.form in DROPPED_AT_ONCE)
