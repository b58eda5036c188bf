"""Programs of the kind that people write, the faulty and the right ones, through the public interface."""

from __future__ import annotations

import pytest
from case_programs import Case, cases, findings

BAD, GOOD, RUST = cases("bad"), cases("good"), cases("rust")


def check(case: Case) -> None:
    """All that is expected is reported, and nothing that is not at least tolerated."""
    found = findings(case)
    expected = case.marks("expect")
    assert found - case.marks("also", "hard") == expected
    assert expected <= found


def test_the_cases_are_there_and_marked() -> None:
    assert len(BAD) >= 50 and len(GOOD) >= 25 and len(RUST) >= 10
    assert all(case.marks("expect", "hard") for case in BAD)
    assert not any(case.marks("expect", "also", "hard") for case in GOOD)
    assert {case.path.name.startswith("bad") for case in RUST if case.marks("expect")} == {True}


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.label)
def test_what_is_marked_in_a_bad_program_is_reported(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.label)
def test_nothing_is_reported_in_a_good_program(case: Case) -> None:
    assert findings(case) == set()


@pytest.mark.parametrize("case", [case for case in RUST if case.marks("expect")], ids=lambda case: case.label)
def test_what_is_marked_in_a_rust_program_is_reported(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "case", [case for case in RUST if not case.marks("expect")], ids=lambda case: case.label
)
def test_nothing_is_reported_in_a_good_rust_program(case: Case) -> None:
    assert findings(case) == set()
