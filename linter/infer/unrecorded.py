"""What comes of calls that are not followed while recording may be off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer.frames import Frame
from gradguard.infer.lineage import lineage_of
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.tensors import Operation, guard_cause, operate, walk
from gradguard.infer.values import (
    Lineage,
    Tensor,
    Track,
    Trail,
)


def unknown_unrecorded(frame: Frame, state: State, operands: list[Any], site: Site, name: str) -> Any:
    """The result of an unknown function called while recording is off, where that can be a tensor."""
    if not name or name.startswith("__"):
        return frame.run.unknown()
    tensors = [v for o in operands for v in walk(state, o) if isinstance(v, Tensor)]
    earlier = next(
        (t for t in tensors if t.track is Track.UNTRACKED and t.would and t.cause is not None), None
    )
    cause = earlier.cause if earlier else guard_cause(frame, state, site)
    trail = earlier.trail if earlier else Trail(site, "made here, while recording is off")
    would = any(t.track in (Track.TRACKED, Track.LEAF) or t.would for t in tensors)
    return Tensor(
        Track.UNTRACKED,
        frame.run.fresh(),
        cause=cause,
        trail=trail,
        assumed=(f"`{name}` returns what it computes and does not switch gradients on itself",),
        made=True,
        opaque=True,
        would=would,
        lossy="loss" in name.lower() or frame.run.facts.has("assume.criteria", name.lower()),
        inference=site if state.mode.inference else None,
        depth=frame.depth,
        lineage=Lineage(name, tuple([(lineage_of(one), 1) for one in tensors])),
    )


def assumed_criterion(frame: Frame, state: State, operands: list[Any], site: Site, name: str) -> Any:
    """The result of something unknown that is named as losses are: it passes on what goes in."""
    result = operate(frame, state, site, operands, Operation(name, lossy=True))
    if isinstance(result, Tensor) and result.track in (Track.UNTRACKED, Track.CONDITIONAL):
        note = f"`{name}` has no parameters of its own"
        return replace(result, assumed=tuple(dict.fromkeys((*result.assumed, note))))
    if isinstance(result, Tensor) and result.track is Track.DATA:
        return frame.run.unknown(name)
    return result


def not_followed(
    frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site, name: str
) -> Any:
    """The result of a call that is not followed."""
    if state.mode.records is False:
        return unknown_unrecorded(frame, state, [*args, *keywords.values()], site, name)
    return frame.run.unknown(name)
