"""GRD310: an optimizer's step that calls its closure under a guard."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import ClosureUnderGuard
from gradguard.judge.draft import Draft, guard_step
from gradguard.rule import Rule


def check(event: ClosureUnderGuard) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    owner = f"`{event.klass}.step`" if event.klass else "`step`"
    yield Draft(
        event.site,
        f"{owner} calls `{event.name}` under `{event.guard.name}`, so the closure's backward has no graph",
        (*guard_step(event.guard), (event.site, "the closure computes its loss here, with recording off")),
        help=f"write `with torch.enable_grad(): loss = {event.name}()`, as torch's own optimizers do",
        assumed=()
        if event.known
        else (f"`{event.name}` computes the loss and its gradients, as torch asks of a closure",),
    )


RULE = Rule(
    "GRD310",
    "closure-under-guard",
    "an optimizer's step that calls its closure under a guard",
    listens=(ClosureUnderGuard,),
    check=check,
)
