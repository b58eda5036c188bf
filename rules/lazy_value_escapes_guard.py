"""GRD307: a lazy expression made inside a guard and consumed outside it."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import LazyEscaped
from gradguard.judge.draft import Draft, guard_step
from gradguard.rule import Rule


def check(event: LazyEscaped) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    yield Draft(
        event.site,
        f"the {event.kind} is made inside `{event.guard.name}` and runs only after it has ended, with recording on",
        (
            *guard_step(event.guard),
            (event.site, "nothing is computed yet"),
            (event.consumed, "it leaves the guard here"),
        ),
        help="build a list inside the guard",
    )


RULE = Rule(
    "GRD307",
    "lazy-value-escapes-guard",
    "a lazy expression made inside a guard and consumed outside it",
    severity="warning",
    listens=(LazyEscaped,),
    check=check,
)
