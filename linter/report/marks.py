"""What a code frame has to point at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradguard.findings import Finding, Span
from gradguard.report.layout import one_line

Place = tuple[str, int | None]


@dataclass(frozen=True, slots=True)
class Mark:
    """A span to underline and what to say of it; the finding's own span is `primary`."""

    span: Span
    label: str
    primary: bool

    @property
    def place(self) -> Place:
        """The file and notebook cell that the mark stands in."""
        return self.span.filename, self.span.cell


def marks_of(finding: Finding) -> tuple[Mark, ...]:
    """The witness in its order, numbered where it has more than one step, and the finding's own span."""
    return tuple(_marks(finding))


def _marks(finding: Finding) -> Iterator[Mark]:
    numbered = len(finding.witness) > 1
    told = False
    for number, step in enumerate(finding.witness, 1):
        primary = (step.span.filename, step.span.cell, step.span.start) == (
            finding.span.filename,
            finding.span.cell,
            finding.span.start,
        )
        told = told or primary
        message = one_line(step.message)
        yield Mark(step.span, f"{number}. {message}" if numbered else message, primary)
    if not told:
        yield Mark(finding.span, "", True)


def by_place(marks: tuple[Mark, ...]) -> dict[Place, list[Mark]]:
    """The marks of each file and cell, places in the order in which the chain comes to them."""
    places: dict[Place, list[Mark]] = {}
    for mark in marks:
        places.setdefault(mark.place, []).append(mark)
    return places
