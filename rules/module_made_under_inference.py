"""GRD311: a module built or converted inside inference_mode and trained later."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import ModuleMadeUnderInference
from gradguard.judge.draft import Draft, guard_step
from gradguard.rule import Rule


def check(event: ModuleMadeUnderInference) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    yield Draft(
        event.site,
        f"a module {event.how} under `{event.guard.name}` has inference tensors as weights, which never train",
        (
            *guard_step(event.guard),
            (event.site, f"the module is {event.how} here"),
            (event.trained, "it is trained here"),
        ),
        help="build and convert the module outside `inference_mode`, or use `no_grad`",
        sink=event.trained,
    )


RULE = Rule(
    "GRD311",
    "module-made-under-inference",
    "a module built or converted inside inference_mode and trained later",
    listens=(ModuleMadeUnderInference,),
    check=check,
)
