"""GRD102: backward on a value whose graph was cut."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import ActivationCut, BackwardAsked, ConstantTerm
from gradguard.infer.values import Track
from gradguard.judge.draft import SILENT, Draft, trail_steps
from gradguard.rule import Rule


def check(event: BackwardAsked | ActivationCut | ConstantTerm) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    match event:
        case BackwardAsked():
            yield from _backward(event)
        case ActivationCut(subject=subject, verb=verb, site=site):
            what = f"`{subject}`" if subject else "the activation"
            yield Draft(
                site,
                f"`{verb}` detaches {what}, so nothing before this point gets a gradient",
                help=f"use the value itself: `{verb}` has been a copy without a graph since torch 0.4",
            )
        case ConstantTerm(term=term, backward=backward) if term.cause.integer:
            yield Draft(
                term.cause.site,
                f"`{term.cause.verb}` has no gradient, so this term of the loss trains nothing",
                (*trail_steps(term.trail), (backward, "the sum is differentiated here")),
                help="build the term from the scores themselves, or from a soft version of them",
                assumed=term.assumed,
                sink=backward,
            )


def _backward(event: BackwardAsked) -> Iterator[Draft]:
    value, cause = event.value, event.value.cause
    if value.track is not Track.UNTRACKED or cause is None or cause.kind not in ("cut", "data"):
        return
    subject = f"`{event.subject}`" if event.subject else "the value"
    steps = (*trail_steps(value.trail), (event.site, f"`backward` on {subject} finds no graph"))
    place = event.site if event.shared else cause.site
    notes = (SILENT[event.package],) if event.package in SILENT else ()
    if cause.kind == "data":
        yield Draft(
            place,
            f"{subject} is built from constants alone, so `backward` reaches no parameter",
            steps,
            notes,
            help="make the values that are to be trained variables",
            assumed=value.assumed,
            sink=event.site,
        )
        return
    yield Draft(
        place,
        f"`{cause.verb}` cuts the graph of what {subject} is built from, so `backward` reaches no parameter",
        steps,
        notes,
        help="differentiate the value before the cut, and keep the cut copy for logging",
        assumed=value.assumed,
        sink=event.site,
    )


RULE = Rule(
    "GRD102",
    "backward-graph-cut",
    "backward on a value whose graph was cut",
    listens=(BackwardAsked, ActivationCut, ConstantTerm),
    check=check,
)
