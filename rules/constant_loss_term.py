"""GRD109: a term of a differentiated loss that carries no gradient."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import ConstantTerm
from gradguard.judge.draft import Draft, guard_step, guard_text, trail_steps
from gradguard.rule import Rule


def check(event: ConstantTerm) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    term, cause = event.term, event.term.cause
    if cause.integer:
        return
    why = f"made under {guard_text(cause.guard)}" if cause.kind == "guard" else f"cut by `{cause.verb}`"
    place = cause.site
    if cause.kind == "guard" and term.depth < len(cause.calls):
        place = cause.calls[term.depth]
    yield Draft(
        place,
        f"a term of the loss is {why}, so it shifts the value and trains nothing",
        (
            *guard_step(cause.guard),
            *trail_steps(term.trail),
            (term.site, "it is added to the loss here"),
            (event.backward, "the sum is differentiated here"),
        ),
        help="compute the term with its graph, or leave it out of the loss and log it",
        assumed=term.assumed,
        sink=event.backward,
    )


RULE = Rule(
    "GRD109",
    "constant-loss-term",
    "a term of a differentiated loss that carries no gradient",
    severity="warning",
    listens=(ConstantTerm,),
    check=check,
)
