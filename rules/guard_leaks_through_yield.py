"""GRD303: yield inside a guard's block."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import YieldUnderGuard
from gradguard.judge.draft import Draft, guard_step
from gradguard.rule import Rule


def check(event: YieldUnderGuard) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    if event.manager:
        return
    yield Draft(
        event.site,
        f"`{event.function}` yields inside `{event.guard.name}`: its consumer runs with recording off",
        (
            *guard_step(event.guard),
            (event.site, "control goes to the consumer here, with recording still off"),
        ),
        help="leave the guard before the yield, or put the guard on the function as a decorator",
    )


RULE = Rule(
    "GRD303",
    "guard-leaks-through-yield",
    "yield inside a guard's block",
    severity="warning",
    listens=(YieldUnderGuard,),
    check=check,
)
