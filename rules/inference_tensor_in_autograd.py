"""GRD106: an inference tensor used where autograd must save it."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import InferenceTensorSaved
from gradguard.judge.draft import Draft, cause_steps
from gradguard.rule import Rule


def check(event: InferenceTensorSaved) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    made = event.value.inference
    assert made is not None
    yield Draft(
        event.site,
        f"a tensor made under `inference_mode` goes into `{event.subject}`, which must save it for backward",
        (
            (made, "the inference tensor is made here"),
            *cause_steps(event.value),
            (event.site, "autograd saves it here"),
        ),
        help="use `no_grad` instead of `inference_mode`, or `clone()` the tensor outside",
        assumed=event.value.assumed,
        sink=event.site,
    )


RULE = Rule(
    "GRD106",
    "inference-tensor-in-autograd",
    "an inference tensor used where autograd must save it",
    listens=(InferenceTensorSaved,),
    check=check,
)
