"""GRD201: an update loop that passes over a missing gradient in silence."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import UpdateSkips
from gradguard.judge.draft import Draft
from gradguard.rule import Rule

_HELP = {
    "torch": "raise if a trainable parameter has no gradient, or leave frozen ones out by `requires_grad`",
    "tenferro": "return an error if a gradient is missing; leave frozen parameters out by `tracks_grad`",
    "candle": "return an error if a gradient is missing: `ok_or`",
    "burn": "stop if a gradient is missing: `expect`",
}


def check(event: UpdateSkips) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    yield Draft(
        event.site,
        f"the update passes over `{event.parameter}` in silence when its gradient is missing",
        (
            (event.site, "a missing gradient is skipped here"),
            (event.write, f"`{event.parameter}` is updated here"),
        ),
        assumed=(f"every `{event.parameter}` of the loop is meant to get a gradient",),
        help=_HELP.get(event.package, _HELP["torch"]),
        sink=event.site,
    )


RULE = Rule(
    "GRD201",
    "update-skips-missing-grad",
    "an update loop that silently passes over a missing gradient",
    severity="warning",
    listens=(UpdateSkips,),
    check=check,
)
