"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule as a value.

    `listens` are the event types (see `gradguard.infer.events`) it is asked about; `check` yields a
    `gradguard.judge.draft.Draft` for each fault. `severity` is error, warning or hint. A `preview` rule is off
    unless preview is asked for. Rules without `check` (GRD000, GRD001) are told by the pipeline itself.
    """

    code: str
    name: str
    summary: str
    severity: str = "error"
    preview: bool = False
    listens: tuple[type, ...] = ()
    check: Callable[[Any], Iterator[Any]] | None = None
