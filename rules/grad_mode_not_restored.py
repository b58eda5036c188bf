"""GRD305: recording switched off by a call and left off."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import ModeLeft
from gradguard.judge.draft import Draft
from gradguard.rule import Rule

_MESSAGES = {
    "raise": "`{function}` switches recording off and leaves it off when it raises",
    "some-ways": "`{function}` switches recording off and leaves it off on some ways out",
    "after-on": "`{function}` leaves recording off when it ends, whatever it was before",
    "end": "recording is switched off by `{function}` and still off where a gradient is needed",
}


def check(event: ModeLeft) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    after = ((event.asked, "a gradient is needed here"),) if event.asked is not None else ()
    yield Draft(
        event.guard.site,
        _MESSAGES[event.how].format(function=event.function),
        ((event.guard.site, "recording is switched off here"), *after),
        help="use `with torch.no_grad():`, which restores the mode on every way out",
        sink=event.asked,
    )


RULE = Rule(
    "GRD305",
    "grad-mode-not-restored",
    "recording switched off by a call and not switched on again",
    listens=(ModeLeft,),
    check=check,
)
