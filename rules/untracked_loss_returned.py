"""GRD105: a hook whose result a trainer differentiates returns an untracked value."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import UntrackedReturned
from gradguard.judge.draft import Draft, cause_steps, guard_text
from gradguard.rule import Rule


def check(event: UntrackedReturned) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    cause = event.value.cause
    assert cause is not None
    why = f"computed under {guard_text(cause.guard)}" if cause.kind == "guard" else f"cut by `{cause.verb}`"
    yield Draft(
        event.site,
        f"`{event.function}` returns a loss that was {why}: the trainer's backward has no graph",
        cause_steps(event.value),
        help="return the loss with its graph",
        assumed=event.value.assumed,
        sink=event.site,
    )


RULE = Rule(
    "GRD105",
    "untracked-loss-returned",
    "a hook whose result a trainer differentiates returns an untracked value",
    listens=(UntrackedReturned,),
    check=check,
)
