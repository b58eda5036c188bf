"""GRD101: backward on a value made while recording was off."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import BackwardAsked
from gradguard.infer.values import Track
from gradguard.judge.draft import SILENT, Draft, cause_steps, guard_text
from gradguard.rule import Rule


def check(event: BackwardAsked) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    value, cause = event.value, event.value.cause
    if value.track is not Track.UNTRACKED or cause is None or cause.kind != "guard" or cause.guard is None:
        return
    guard = guard_text(cause.guard)
    subject = f"`{event.subject}`" if event.subject else "the value"
    steps = (*cause_steps(value), (event.site, "`backward` needs the graph that was never recorded"))
    notes = (SILENT[event.package],) if event.package in SILENT else ()
    held = cause.guard.depth
    under_caller = (
        cause.guard.form not in ("call", "hook") and held < len(event.chain.sites) and len(cause.calls) > held
    )
    same_call = under_caller and cause.calls[: held + 1] == event.chain.sites[: held + 1]
    if same_call and event.mode.records is False:
        call, function = event.chain.sites[held], event.chain.functions[held]
        yield Draft(
            call,
            f"`{function}` runs `backward` and is called under {guard}, so its loss has no graph",
            steps,
            notes,
            help=f"call `{function}` outside the guard"
            + (
                ", or switch gradients on again inside it with `enable_grad`"
                if event.package == "torch"
                else ""
            ),
            assumed=value.assumed,
            sink=event.site,
        )
        return
    yield Draft(
        event.site,
        f"{subject} was computed under {guard}, so `backward` has no graph to go through",
        steps,
        notes,
        help=_help(cause.guard.form),
        assumed=value.assumed,
        sink=event.site,
    )


def _help(form: str) -> str:
    match form:
        case "decorator":
            return "take the decorator off the function, or compute the loss in a function without it"
        case "call" | "entered":
            return "switch recording on again before the loss is computed"
        case _:
            return "compute the loss outside the guard"


RULE = Rule(
    "GRD101",
    "backward-untracked",
    "backward on a value made while gradient recording was off",
    listens=(BackwardAsked,),
    check=check,
)
