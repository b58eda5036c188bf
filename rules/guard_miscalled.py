"""GRD302: a guard that is written wrongly."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from gradguard.infer.events import GuardMiscalled
from gradguard.judge.draft import Draft
from gradguard.rule import Rule

_GUARDS = ("no_grad", "inference_mode", "set_grad_enabled", "enable_grad")


def check(event: GuardMiscalled) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    match event.how:
        case "uncalled":
            yield Draft(
                event.site,
                f"`{event.name}` is not called, so the with statement raises",
                help=f"write `{event.name}()`",
            )
        case "missing":
            yield Draft(
                event.site,
                f"`{event.name}` needs a mode: called without one it raises",
                help=f"write `{event.name}(False)`, or use `no_grad()`",
            )
        case "argument":
            yield Draft(
                event.site,
                f"`{event.name}` takes no argument: given one, it gives back a wrapped function and guards nothing",
                help=f"write `with {event.name}():` around the code",
            )
        case _:
            near = get_close_matches(event.name, _GUARDS, 1, 0.3) or ["no_grad"]
            yield Draft(
                event.site,
                f"there is no `{event.name}` in torch",
                help=f"did you mean `{near[0]}`?",
            )


RULE = Rule(
    "GRD302",
    "guard-miscalled",
    "a guard that is not called, called with an argument, or misspelt",
    listens=(GuardMiscalled,),
    check=check,
)
