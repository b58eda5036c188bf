"""GRD202: a parameter's name bound to a new, untracked value."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import ParameterRebound
from gradguard.judge.draft import Draft, cause_steps
from gradguard.rule import Rule


def check(event: ParameterRebound) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    name = event.rebound.name
    steps = (
        *cause_steps(event.value),
        (event.rebound.site, f"`{name}` is bound to a new tensor that asks for no gradient"),
        (event.asked, "a gradient is asked of it here"),
    )
    yield Draft(
        event.rebound.site,
        f"`{name}` is rebound under a guard: the new `{name}` is no leaf and gets no gradient",
        steps,
        help=_help(event.package, name),
        sink=event.asked,
    )


def _help(package: str, name: str) -> str:
    if package == "tenferro":
        return "make a variable of the new value: `variable_from`"
    return f"update it in place (`{name} -= ...`), or call `{name}.requires_grad_()` on the new tensor"


RULE = Rule(
    "GRD202",
    "parameter-rebound",
    "a parameter's name bound to a new, untracked value under a guard",
    listens=(ParameterRebound,),
    check=check,
)
