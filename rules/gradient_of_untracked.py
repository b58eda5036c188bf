"""GRD104: a gradient asked of what cannot have one."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import GradientAsked, GradRead, HookRegistered
from gradguard.judge.draft import Draft, cause_steps, guard_text
from gradguard.rule import Rule


def check(event: GradientAsked | GradRead | HookRegistered) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    match event:
        case GradientAsked():
            yield from _asked(event)
        case HookRegistered():
            yield from _hook(event)
        case GradRead(value=value, subject=subject, site=site) if value.converted is not None:
            name = f"`{subject}`" if subject else "this tensor"
            yield Draft(
                value.converted,
                f"{name} is a converted copy of the leaf, so its `.grad` stays None",
                (
                    (value.converted, "the leaf is hidden behind the conversion"),
                    (site, "`.grad` is read here"),
                ),
                help="convert first and set `requires_grad` on the result",
                sink=site,
            )
        case GradRead(subject=subject, site=site):
            name = f"`{subject}`" if subject else "this tensor"
            yield Draft(
                site,
                f"{name} is computed, not a leaf, and did not keep its gradient: `.grad` is None",
                ((site, "`.grad` is read here"),),
                help=f"call `{subject or 'value'}.retain_grad()` before the backward pass",
                assumed=event.value.assumed,
                sink=site,
            )


def _asked(event: GradientAsked) -> Iterator[Draft]:
    value, cause = event.value, event.value.cause
    if cause is None:
        return
    subject = f"`{event.subject}`" if event.subject else ("the input" if event.is_input else "the output")
    why = f"computed under {guard_text(cause.guard)}" if cause.kind == "guard" else f"cut by `{cause.verb}`"
    what = "does not ask for gradients" if event.is_input else "has no graph"
    yield Draft(
        event.site,
        f"the gradient of {subject} is asked for, but {subject} was {why} and {what}"
        if not event.is_input
        else f"the gradient with respect to {subject} is asked for, but it was {why} and {what}",
        (*cause_steps(value), (event.site, "the gradient is asked for here")),
        help="compute it with recording on: wrap the computation in `enable_grad`"
        if cause.kind == "guard"
        else "use the value before the cut, or call `requires_grad_()` on the input before it is used",
        assumed=value.assumed,
        sink=event.site,
    )


def _hook(event: HookRegistered) -> Iterator[Draft]:
    value, cause = event.value, event.value.cause
    if cause is None:
        return
    subject = f"`{event.subject}`" if event.subject else "the value"
    steps = (*cause_steps(value), (event.site, "the hook is registered here"))
    place = event.site
    if cause.guard is not None and cause.guard.form != "call" and cause.guard.depth < len(event.chain.sites):
        place = event.chain.sites[cause.guard.depth]
    why = f"computed under {guard_text(cause.guard)}" if cause.kind == "guard" else f"cut by `{cause.verb}`"
    yield Draft(
        place,
        f"a gradient hook is registered on {subject}, which was {why}: it raises",
        steps,
        help="run the forward pass with recording on",
        assumed=value.assumed,
        sink=event.site,
    )


RULE = Rule(
    "GRD104",
    "gradient-of-untracked",
    "a gradient asked of a value that cannot have one",
    listens=(GradientAsked, GradRead, HookRegistered),
    check=check,
)
