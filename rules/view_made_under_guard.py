"""GRD108: a view of a tracked tensor made under a guard and differentiated later."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import BackwardAsked
from gradguard.infer.values import Track
from gradguard.judge.draft import Draft, cause_steps, guard_text
from gradguard.rule import Rule


def check(event: BackwardAsked) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    value, cause = event.value, event.value.cause
    if value.track is not Track.VIEW or cause is None:
        return
    guard = guard_text(cause.guard)
    own = cause.guard is not None and cause.guard.depth == cause.depth and cause.guard.form == "with"
    yield Draft(
        cause.site if cause.outside is None or own else cause.outside,
        f"`{cause.verb}` under {guard} makes a view that says `requires_grad=True` but passes no gradient on",
        (
            *cause_steps(value),
            (event.site, "`backward` runs without an error and reaches nothing behind the view"),
        ),
        help="make the view outside the guard",
        assumed=value.assumed,
        sink=event.site,
    )


RULE = Rule(
    "GRD108",
    "view-made-under-guard",
    "a view of a tracked tensor made under a guard and differentiated later",
    listens=(BackwardAsked,),
    check=check,
)
