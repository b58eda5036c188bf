"""What the analysis of one file gives."""

from __future__ import annotations

from dataclasses import dataclass

from gradguard.discover.disk import Seen
from gradguard.findings import Failure, Finding


@dataclass(frozen=True, slots=True)
class Result:
    """The findings seen from a file, wherever they lie, unsuppressed; and what went wrong.

    `unparsed` is told when the file itself cannot be parsed (a GRD000 is then among the findings), `broken`
    when its analysis came to no end. `seen` is what the result was made from.
    """

    findings: tuple[Finding, ...] = ()
    unparsed: Failure | None = None
    broken: Failure | None = None
    seen: Seen | None = None
