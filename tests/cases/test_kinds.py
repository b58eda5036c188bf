"""Many small programs of our own, several to a file, each a relative of a kind of fault or of a right purpose."""

from __future__ import annotations

from pathlib import Path

import pytest
from case_programs import Case, findings

KINDS = sorted((Path(__file__).resolve().parents[2] / "fixtures" / "kinds").glob("*.py"))


def test_the_kinds_are_there() -> None:
    assert len(KINDS) >= 16
    assert any(not Case(path).marks("expect") for path in KINDS)


@pytest.mark.parametrize("path", KINDS, ids=lambda path: path.stem)
def test_what_is_marked_is_reported_and_nothing_else(path: Path) -> None:
    case = Case(path)
    assert findings(case) == case.marks("expect")
