"""GRD308: a trainable module whose every forward is under a guard."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import TrainableOnlyGuarded
from gradguard.judge.draft import Draft, guard_step
from gradguard.rule import Rule


def check(event: TrainableOnlyGuarded) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    yield Draft(
        event.site,
        f"trainable parameters are used only under `{event.guard.name}` here, so the optimizer never moves them",
        (
            *guard_step(event.guard),
            (event.site, "the forward pass of the trainable part runs under it"),
            (event.optimizer, "the optimizer is given its parameters here"),
        ),
        help="compute this part outside the guard, or freeze it and leave it out of the optimizer",
        sink=event.site,
    )


RULE = Rule(
    "GRD308",
    "trainable-only-under-guard",
    "a trainable module whose every forward is under a guard",
    severity="warning",
    preview=True,
    listens=(TrainableOnlyGuarded,),
    check=check,
)
