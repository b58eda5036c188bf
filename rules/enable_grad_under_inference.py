"""GRD309: enable_grad inside inference_mode."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import EnabledUnderInference
from gradguard.judge.draft import Draft, guard_step
from gradguard.rule import Rule


def check(event: EnabledUnderInference) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    yield Draft(
        event.site,
        f"`{event.guard.name}` cannot bring recording back inside `{event.outer.name}`",
        (
            *guard_step(event.outer),
            (event.site, "`is_grad_enabled()` says True here, and nothing is recorded"),
        ),
        help="use `no_grad` outside, or `inference_mode(False)` inside",
    )


RULE = Rule(
    "GRD309",
    "enable-grad-under-inference",
    "enable_grad inside inference_mode",
    listens=(EnabledUnderInference,),
    check=check,
)
