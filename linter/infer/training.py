"""What a whole run says of training: modules that never learn."""

from __future__ import annotations

from gradguard.infer.bases import is_module
from gradguard.infer.classes import Forward
from gradguard.infer.events import TrainableOnlyGuarded
from gradguard.infer.modes import GuardSite
from gradguard.infer.run import Run
from gradguard.infer.sites import Site
from gradguard.infer.values import Instance, Klass


def note_training(run: Run) -> None:
    """Tell of modules that an optimizer was given and that cannot train."""
    for identity, event in run.made_under_inference.items():
        if identity in run.optimized:
            run.emit(event)
    for identity, forwards in run.module_calls.items():
        if identity in run.optimized and all(one.mode.records is False for one in forwards):
            _note_guarded(run, identity, forwards)


def _note_guarded(run: Run, identity: int, forwards: list[Forward]) -> None:
    """A module whose every forward was guarded, in a run that differentiates a loss built without it."""
    roots = {one.root for one in forwards}
    trained = {root for _, root in run.live}
    if not roots & trained:
        return
    for one in forwards:
        guard = one.mode.guard
        if guard is not None and guard.form != "hook" and not one.settled:
            site = _place(one, guard)
            run.emit(TrainableOnlyGuarded(_name(one), guard, site, run.optimized[identity]))


def _place(forward: Forward, guard: GuardSite) -> Site:
    """The call under the guard; the guard itself where it decorates a forward; the call of a guarded helper method."""
    calls = forward.frame.calls
    if guard.form == "decorator":
        if guard.function == "forward" or guard.depth > len(calls):
            return guard.site
        return calls[guard.depth - 1] if guard.depth else guard.site
    if guard.depth and _is_own_helper(forward, guard):
        return calls[guard.depth - 1]
    if guard.depth < len(calls):
        return calls[guard.depth]
    return forward.site


def _is_own_helper(forward: Forward, guard: GuardSite) -> bool:
    """Whether the guard stands in a method of the very module that runs under it, other than its forward."""
    frame = forward.frame
    if frame.depth != guard.depth or guard.function in ("forward", "__call__", ""):
        return False
    return isinstance(frame.klass, Klass) and is_module(frame, Instance(0, frame.klass))


def _name(forward: Forward) -> str:
    return forward.frame.name if isinstance(forward.frame.klass, Klass | Instance) else ""
