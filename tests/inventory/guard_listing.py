"""The inventory of a text, in a shape that is easy to compare."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

from gradguard.findings import GuardRecord
from gradguard.pipeline import inventory
from gradguard.source import Source


def records(text: str, frameworks: Mapping[str, Any] | None = None) -> tuple[GuardRecord, ...]:
    """The guards of a text, which must be readable."""
    source = Source("t.py", "", dedent(text).lstrip("\n"))
    found, failures = inventory([source], SimpleNamespace(frameworks=frameworks or {}))
    assert failures == ()
    return found


def rows(text: str, frameworks: Mapping[str, Any] | None = None) -> list[str]:
    """One line a guard: `first-last form guard`."""
    return [
        f"{one.span.start.row}-{one.ends.row if one.ends else '?'} {one.form} {one.guard}"
        for one in records(text, frameworks)
    ]


def covers(record: GuardRecord) -> dict[str, list[str]]:
    """The texts of what a guard covers, by kind."""
    told: dict[str, list[str]] = {}
    for kind, _, text in record.covers:
        told.setdefault(kind, []).append(text)
    return told
