"""GRD306: work handed to a thread from inside a guard."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import ThreadStarted
from gradguard.judge.draft import Draft, guard_step
from gradguard.rule import Rule


def check(event: ThreadStarted) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    target = f"`{event.target}`" if event.target != "the module" else event.target
    yield Draft(
        event.site,
        f"{target} runs in another thread, where `{event.guard.name}` does not hold: its work is recorded",
        (*guard_step(event.guard), (event.site, "the work is handed to a thread here")),
        help="enter the guard inside the function that the thread runs",
    )


RULE = Rule(
    "GRD306",
    "guard-not-inherited",
    "work handed to a thread from inside a guard",
    severity="warning",
    listens=(ThreadStarted,),
    check=check,
)
