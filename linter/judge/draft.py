"""A finding before its places have positions."""

from __future__ import annotations

from dataclasses import dataclass

from gradguard.infer.modes import GuardSite
from gradguard.infer.sites import Site
from gradguard.infer.values import Cause, Tensor, Trail


@dataclass(frozen=True, slots=True)
class Draft:
    """What a rule found. `site` is the primary place; `steps` the witness, in program order; `assumed` what was
    taken for granted (none: the finding is certain). `value` is what the replay looks at."""

    site: Site
    message: str
    steps: tuple[tuple[Site, str], ...] = ()
    notes: tuple[str, ...] = ()
    help: str = ""
    assumed: tuple[str, ...] = ()
    sink: Site | None = None


FORMS = {
    "with": "`{name}` starts here",
    "decorator": "`{name}` guards the whole function",
    "call": "recording is switched off here",
    "helper": "`{name}` switches recording off here",
    "entered": "`{name}` is entered by hand here",
    "object": "`{name}` is made here",
}


SILENT = {
    "tenferro": "`backward` answers `Ok` with an empty table",
    "candle": "`backward` answers `Ok` with a store that holds no parameter's gradient",
    "burn": "`backward` runs, and no parameter gets a gradient",
}
"""What happens at run time, by profile, where an untracked value is no error."""


def guard_step(guard: GuardSite | None) -> tuple[tuple[Site, str], ...]:
    """The step at which a guard starts; none for a mode that a trainer sets."""
    if guard is None or guard.site.at < 0 or guard.form == "hook":
        return ()
    return ((guard.site, FORMS.get(guard.form, "`{name}`").format(name=guard.name)),)


def guard_text(guard: GuardSite | None) -> str:
    """The guard in a sentence: "`no_grad`"."""
    if guard is None:
        return "a guard"
    if guard.form == "call":
        return f"`{guard.name}(False)`"
    return f"`{guard.name}`" if guard.form != "hook" else guard.name


def trail_steps(trail: Trail | None) -> tuple[tuple[Site, str], ...]:
    """The steps of a trail, oldest first."""
    steps: list[tuple[Site, str]] = []
    while trail is not None:
        steps.append((trail.site, trail.text))
        trail = trail.before
    return tuple(reversed(steps))


def cause_steps(value: Tensor) -> tuple[tuple[Site, str], ...]:
    """The witness of an untracked value: its guard, the calls that lead from there, and how it came about."""
    cause = value.cause
    if cause is None:
        return ()
    return (*guard_step(cause.guard), *call_steps(cause), *trail_steps(value.trail))


def call_steps(cause: Cause) -> tuple[tuple[Site, str], ...]:
    """The calls from the guard's function down to where the value was made."""
    if cause.guard is None or cause.guard.form == "call":
        return ()
    return tuple((site, "this call runs under it") for site in cause.calls[cause.guard.depth :])


def distinct(steps: tuple[tuple[Site, str], ...]) -> tuple[tuple[Site, str], ...]:
    """The steps, each place once."""
    seen: dict[Site, str] = {}
    for site, text in steps:
        if site.at >= 0:
            seen.setdefault(site, text)
    return tuple(seen.items())
