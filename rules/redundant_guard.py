"""GRD312: a guard inside one of the same effect."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import GuardRepeated
from gradguard.judge.draft import Draft, guard_step
from gradguard.rule import Rule


def check(event: GuardRepeated) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    yield Draft(
        event.site,
        f"`{event.guard.name}` stands inside `{event.outer.name}` and changes nothing",
        guard_step(event.outer),
        help="leave the inner guard out",
    )


RULE = Rule(
    "GRD312",
    "redundant-guard",
    "a guard inside one of the same effect",
    severity="hint",
    listens=(GuardRepeated,),
    check=check,
)
