"""GRD107: a backward whose gradients nobody looks at, where an untracked value is no error."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import GradientsUnchecked
from gradguard.judge.draft import Draft
from gradguard.rule import Rule


def check(event: GradientsUnchecked) -> Iterator[Draft]:
    """A draft at the backward call."""
    yield Draft(
        event.site,
        "nothing looks at what `backward` found: on an untracked value that is nothing, and no error",
        help="compare the number of gradients with the number of parameters, ask `tracks_grad` first, "
        "or make a missing gradient an error",
        sink=event.site,
    )


RULE = Rule(
    "GRD107",
    "gradients-unchecked",
    "backward without a look at the gradients, where an untracked value is no error",
    severity="warning",
    listens=(GradientsUnchecked,),
    check=check,
)
