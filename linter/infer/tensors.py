"""What an operation on tensors gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from gradguard.frozen import dataclass
from gradguard.infer.frames import Frame
from gradguard.infer.joins import leaves_of, merge
from gradguard.infer.lineage import LESSENING, lineage_of
from gradguard.infer.modes import When
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import (
    Alternatives,
    Cause,
    Dict,
    Instance,
    Lineage,
    List,
    Literal,
    Tensor,
    Term,
    Track,
    Trail,
    Tuple,
    Unknown,
)

_TRAIL = 6
TENSOR_LIKE = (Track.TRACKED, Track.LEAF, Track.VIEW, Track.FORCED, Track.CONDITIONAL)


@dataclass(frozen=True, slots=True)
class Operation:
    """`name` as a user would write it; `linear` keeps the terms of a sum apart; `lossy` makes a loss of the result;
    `saves` keeps operands for backward."""

    name: str
    linear: bool = False
    lossy: bool = False
    saves: bool = False


def decided(tensor: Tensor, tracked: bool) -> Any:
    """A conditional tensor on a path that decides its condition."""
    if not tracked:
        return replace(tensor, track=Track.UNTRACKED, when=None)
    if tensor.opaque:
        return Unknown(-tensor.origin)
    return replace(tensor, track=Track.TRACKED, when=None, cause=None, trail=None)


def walk(state: State, value: Any, depth: int = 0) -> Iterable[Any]:
    """The tensors and unknowns inside a value, containers opened."""
    value = state.resolve(value)
    match value:
        case Tensor() | Unknown():
            yield value
        case Alternatives():
            merged = merge(*map(state.resolve, (value.then, value.other)))
            yield merged
        case Tuple(items=items) if depth < 3:
            for item in items:
                yield from walk(state, item, depth + 1)
        case List(id=identity) | Dict(id=identity) | Instance(id=identity) if depth < 3:
            if isinstance(value, Instance):
                return
            for key, field in list(state.fields(identity).items()):
                if key == "#items":
                    for item in field.items:
                        yield from walk(state, item, depth + 1)
                elif field is not None and not isinstance(field, Literal):
                    yield from walk(state, field, depth + 1)
        case _:
            return


def operate(frame: Frame, state: State, site: Site, operands: Iterable[Any], operation: Operation) -> Any:
    """The result of a differentiable operation without parameters of its own."""
    operands = tuple(operands)
    values = [one for operand in operands for one in walk(state, operand)]
    tensors = [v for v in values if isinstance(v, Tensor)]
    unknown = len(tensors) < len(values)
    records = state.mode.records
    if operation.saves and records is not False:
        _note_inference(frame, state, site, tensors, operation)
    if unknown and not tensors and records:
        return frame.run.unknown(operation.name)
    lineage = _lineage(state, operands, values, operation)
    if records is False:
        return _unrecorded(frame, state, site, tensors, operation, lineage)
    live = [t for t in tensors if t.track in (Track.TRACKED, Track.LEAF)]
    if live:
        result = _tracked(frame, site, tensors, operation, lineage)
        if records is None:
            return _conditional(frame, state, site, result, opaque=False)
        return result
    if unknown:
        if records is None:
            blank = Tensor(
                Track.UNTRACKED,
                frame.run.fresh(),
                made=True,
                lossy=operation.lossy,
                depth=frame.depth,
                lineage=lineage,
            )
            return _conditional(frame, state, site, blank, opaque=True)
        return frame.run.unknown(operation.name)
    return _dependent(frame, site, tensors, operation, lineage)


def _lineage(state: State, operands: tuple[Any, ...], values: list[Any], operation: Operation) -> Lineage:
    """What the result is computed from; a linear operation knows the signs of its operands."""
    if not operation.linear:
        return Lineage(operation.name, tuple([(lineage_of(value), 1) for value in values]))
    negative = [isinstance(one, Literal) and _is_negative(one.value) for one in operands]
    sign = -1 if operation.name == "neg" or negative.count(True) % 2 else 1
    parents: list[tuple[Lineage, int]] = []
    for position, operand in enumerate(operands):
        own = -sign if position and operation.name in LESSENING else sign
        parents.extend([(lineage_of(value), own) for value in walk(state, operand)])
    return Lineage(operation.name, tuple(parents), linear=True)


def _is_negative(constant: Any) -> bool:
    return isinstance(constant, int | float) and constant < 0


def _tracked(
    frame: Frame, site: Site, tensors: list[Tensor], operation: Operation, lineage: Lineage
) -> Tensor:
    terms: tuple[Term, ...] = ()
    parts: frozenset[int] = frozenset()
    if operation.linear:
        for tensor in tensors:
            terms += tensor.terms
            if tensor.track in (Track.TRACKED, Track.LEAF):
                parts |= tensor.parts | {tensor.origin}
    fresh = next((t for t in tensors if t.track is Track.LEAF and t.converted is not None), None)
    return Tensor(
        Track.TRACKED,
        frame.run.fresh(),
        converted=fresh.converted if fresh is not None and len(live_of(tensors)) == 1 else None,
        made=True,
        would=True,
        lossy=operation.lossy or (operation.linear and any(t.lossy for t in tensors)),
        views=tuple(
            view for t in tensors for view in ((t,) if t.track is Track.VIEW and t.views else t.views)
        )[:2],
        terms=terms[:8],
        parts=parts,
        depth=frame.depth,
        lineage=lineage,
    )


def live_of(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors that carry a graph or ask for gradients."""
    return [t for t in tensors if t.track in (Track.TRACKED, Track.LEAF)]


def _conditional(frame: Frame, state: State, site: Site, result: Tensor, opaque: bool) -> Any:
    mode = state.mode
    if mode.when is None or mode.guard is None:
        return frame.run.unknown()
    cause = Cause(
        "guard", site, guard=mode.guard, depth=frame.depth, calls=frame.calls, function=frame.identity
    )
    return replace(
        result,
        track=Track.CONDITIONAL,
        when=mode.when,
        cause=cause,
        opaque=opaque,
        terms=(),
        trail=Trail(site, "made here, while recording may be off"),
    )


def guard_cause(frame: Frame, state: State, site: Site, verb: str = "") -> Cause:
    """The cause of what is made here under the present guard."""
    return Cause("guard", site, verb, state.mode.guard, frame.depth, frame.calls, function=frame.identity)


def _unrecorded(
    frame: Frame,
    state: State,
    site: Site,
    tensors: list[Tensor],
    operation: Operation,
    lineage: Lineage,
) -> Tensor:
    would = any(t.track in TENSOR_LIKE or t.would for t in tensors)
    earlier = [t for t in tensors if t.track is Track.UNTRACKED and t.would and t.cause is not None]
    blank = Tensor(
        Track.UNTRACKED,
        frame.run.fresh(),
        made=True,
        would=would,
        lossy=operation.lossy or (operation.linear and any(t.lossy for t in tensors)),
        inference=site if state.mode.inference else None,
        number=bool(tensors) and all(t.number for t in tensors),
        depth=frame.depth,
        lineage=lineage,
    )
    if earlier:
        return replace(blank, cause=earlier[0].cause, trail=earlier[0].trail, assumed=())
    return replace(
        blank,
        cause=guard_cause(frame, state, site),
        trail=Trail(site, "made here, while recording is off"),
    )


def _dependent(
    frame: Frame, site: Site, tensors: list[Tensor], operation: Operation, lineage: Lineage
) -> Any:
    """Nothing tracked went in: the result is what its operands are."""
    run = frame.run
    forced = [t for t in tensors if t.track is Track.FORCED]
    if forced:
        if operation.linear:
            return replace(forced[0], origin=run.fresh(), made=True, lineage=lineage)
        return Tensor(Track.TRACKED, run.fresh(), made=True, depth=frame.depth, lineage=lineage)
    made = partial(
        replace,
        origin=run.fresh(),
        made=True,
        lossy=operation.lossy or (operation.linear and any(t.lossy for t in tensors)),
        assumed=tuple(dict.fromkeys(a for t in tensors for a in t.assumed)),
        depth=frame.depth,
        opaque=False,
        size=None,
        lineage=lineage,
    )
    views = [t for t in tensors if t.track is Track.VIEW]
    if views:
        return made(views[0], number=False)
    conditional = [t for t in tensors if t.track is Track.CONDITIONAL]
    if conditional:
        if len({t.when for t in conditional}) > 1:
            return run.unknown()
        return made(conditional[0], opaque=any(t.opaque for t in conditional), inference=None)
    number = bool(tensors) and all(t.number for t in tensors)
    untracked = [t for t in tensors if t.track is Track.UNTRACKED]
    if untracked:
        first = next((t for t in untracked if t.would), untracked[0])
        return made(
            first,
            would=any(t.would for t in untracked),
            rebound=tuple(dict.fromkeys(r for t in untracked for r in t.rebound)),
            integer=all(t.integer for t in untracked) and operation.name == "index",
            inference=None,
            number=number,
        )
    return made(Tensor(Track.DATA, 0), number=number)


def _note_inference(
    frame: Frame, state: State, site: Site, tensors: list[Tensor], operation: Operation
) -> None:
    from gradguard.infer.sinks import inference_saved

    saved = [t for t in tensors if t.inference is not None]
    if saved and any(t.track in (Track.TRACKED, Track.LEAF) for t in tensors):
        inference_saved(frame, state, saved[0], operation.name, site)


SHARING = ("detach", "detach_", ".data")
"""Steps whose result is the same memory, an inference tensor if that is one."""


def cut(
    frame: Frame,
    state: State,
    site: Site,
    value: Any,
    verb: str,
    *,
    number: bool = False,
    integer: bool = False,
) -> Any:
    """The result of a step that drops the graph of `value`: `detach`, `item`, an integer result ..."""
    values = list(walk(state, value))
    tensors = [v for v in values if isinstance(v, Tensor)]
    source = next((t for t in tensors if t.track in TENSOR_LIKE or t.would), tensors[0] if tensors else None)
    unknown = next((v for v in values if isinstance(v, Unknown)), None)
    run = frame.run
    lineage = Lineage(verb, tuple([(lineage_of(one), 1) for one in values]), linear=not integer, cut=True)
    inference = source.inference if source is not None and verb in SHARING else None
    if state.mode.inference and verb != "detach":
        inference = site
    if source is not None and source.track is Track.UNTRACKED and source.cause is not None:
        return replace(
            source,
            origin=run.fresh(),
            number=number,
            integer=integer or source.integer,
            inference=inference,
            opaque=False,
            size=None,
            lineage=lineage,
        )
    if source is not None and source.track is Track.DATA and unknown is None:
        return replace(source, origin=run.fresh(), number=number, integer=integer, made=True, lineage=lineage)
    origin = source.origin if source is not None else (unknown.origin if unknown else 0)
    would = source is not None and source.track in TENSOR_LIKE
    cause = Cause("cut", site, verb, None, frame.depth, frame.calls, origin, integer, function=frame.identity)
    if source is not None and source.depth < frame.depth and frame.calls:
        cause = replace(cause, outside=frame.calls[min(source.depth, len(frame.calls) - 1)])
    return Tensor(
        Track.UNTRACKED,
        run.fresh(),
        cause=cause,
        trail=Trail(site, f"its graph is cut here by `{verb}`"),
        number=number,
        integer=integer,
        inference=inference,
        would=would,
        made=True,
        lossy=source.lossy if source is not None else False,
        depth=frame.depth,
        opaque=unknown is not None,
        lineage=lineage,
    )


def sum_of(frame: Frame, state: State, site: Site, left: Any, right: Any, name: str) -> Any:
    """Addition or subtraction: remembers constant summands of a tracked sum."""
    result = operate(frame, state, site, (left, right), Operation(name, linear=True))
    if not isinstance(result, Tensor) or result.track is not Track.TRACKED:
        return result
    terms = list(result.terms)
    for side in (left, right):
        for tensor in walk(state, side):
            if _is_constant_term(tensor):
                terms.append(
                    Term(tensor.cause, tensor.trail, tensor.assumed, site, frame.depth, tensor.lineage)
                )
    return replace(result, terms=tuple(terms[:8]))


def _is_constant_term(tensor: Any) -> bool:
    return (
        isinstance(tensor, Tensor)
        and tensor.track is Track.UNTRACKED
        and tensor.cause is not None
        and tensor.would
        and tensor.lossy
    )


def guarded_view(frame: Frame, state: State, site: Site, base: Tensor, name: str) -> Any:
    """A view of a tracked tensor made while recording is off (torch 2.13: requires_grad stays True, no edge)."""
    cause = guard_cause(frame, state, site, name)
    if base.depth < frame.depth and frame.calls:
        cause = replace(cause, outside=frame.calls[min(base.depth, len(frame.calls) - 1)])
    nameless = cause.outside is not None and not base.bound
    return Tensor(
        Track.VIEW,
        frame.run.fresh(),
        views=(base,) if nameless else (),
        cause=cause,
        trail=Trail(site, f"`{name}` makes a view here, while recording is off"),
        would=True,
        made=True,
        depth=frame.depth,
        inference=None,
        lineage=lineage_of(base),
    )


def longer(trail: Trail | None, site: Site, text: str) -> Trail | None:
    """The trail with one more step, unless it is long already or ends at this place."""
    if trail is None or trail.length >= _TRAIL or trail.site == site:
        return trail
    return Trail(site, text, trail, trail.length + 1)


def conditional_on(tensor: Tensor, when: When) -> Tensor:
    """The tensor, tracked only under a condition."""
    return replace(tensor, track=Track.CONDITIONAL, when=when)


def tensor_of(state: State, value: Any) -> Tensor | None:
    """The tensor that a value is, alternatives merged; None where it is none or unknown."""
    value = state.resolve(value)
    if isinstance(value, Alternatives):
        options = [state.resolve(one) for one in leaves_of(value)]
        merged = options[0]
        for option in options[1:]:
            merged = merge(merged, option)
        value = merged
    return value if isinstance(value, Tensor) else None
