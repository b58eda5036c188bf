"""GRD103: a computed value told to require gradients."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import FlagForced
from gradguard.judge.draft import Draft, cause_steps
from gradguard.rule import Rule


def check(event: FlagForced) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    subject = f"`{event.subject}`" if event.subject else "the value"
    steps = cause_steps(event.value) if event.value is not None else ()
    after = ((event.backward, "`backward` stops at the flagged value"),) if event.backward is not None else ()
    if event.raises:
        message = (
            f"`{event.form.strip('.')}` on {subject}, a computed value: it raises if tracked "
            "and trains nothing if not"
        )
    else:
        message = (
            f"`{event.form.strip('.')}` makes {subject} a leaf of its own, so `backward` runs "
            "and no parameter is reached"
        )
    yield Draft(
        event.site,
        message,
        (*steps, (event.site, "the flag is set here"), *after),
        help="take the flag away and find out why the value is not tracked",
        assumed=event.value.assumed if event.value is not None else (),
        sink=event.backward or event.site,
    )


RULE = Rule(
    "GRD103",
    "forced-requires-grad",
    "requires_grad set on a computed value",
    listens=(FlagForced,),
    check=check,
)
