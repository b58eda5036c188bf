"""GRD304: await inside a guard's block, or a guard on a coroutine function."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import AwaitUnderGuard, CoroutineGuarded
from gradguard.judge.draft import Draft, guard_step
from gradguard.rule import Rule


def check(event: AwaitUnderGuard | CoroutineGuarded) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    match event:
        case AwaitUnderGuard(guard=guard, site=site, function=function):
            yield Draft(
                site,
                f"`{function}` awaits inside `{guard.name}`: other tasks run with recording off meanwhile",
                (
                    *guard_step(guard),
                    (site, "the event loop runs other tasks here, with recording still off"),
                ),
                help="leave the guard before the await",
            )
        case CoroutineGuarded(guard=guard, site=site, function=function):
            yield Draft(
                site,
                f"`{guard.name}` on the coroutine function `{function}` guards only the making of the coroutine",
                help=f"put `with {guard.name}():` around the parts of the body that do not await",
            )


RULE = Rule(
    "GRD304",
    "guard-leaks-across-await",
    "await inside a guard's block, or a guard decorator on a coroutine function",
    severity="warning",
    listens=(AwaitUnderGuard, CoroutineGuarded),
    check=check,
)
