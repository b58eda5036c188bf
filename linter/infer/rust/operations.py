"""Operations on tensors, and what happens to values that leave the analysis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gradguard.infer import tensors
from gradguard.infer.joins import leaves_of
from gradguard.infer.modes import When
from gradguard.infer.rust import lifetimes
from gradguard.infer.rust.places import items_of, type_of
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.values import Counted, Presence, Slot, Stream, Table, Variant
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import Alternatives, Cause, Instance, List, Tensor, Track, Trail, Tuple, Unknown

_DEPTH = 3


def is_tensor(frame: RustFrame, value: Any) -> bool:
    """Whether a value is a tensor of a crate that differentiates, tracked or not."""
    if isinstance(value, Alternatives):
        return all(is_tensor(frame, one) for one in leaves_of(value))
    if isinstance(value, Tensor):
        return True
    name = type_of(frame, value).name if isinstance(value, Unknown) else ""
    return any(crate.has("types.tensor", name) or crate.has("types.leaf", name) for crate in frame.crates)


def operate(frame: RustFrame, state: State, operands: Iterable[Any], name: str, site: Site) -> Any:
    """The result of a differentiable operation on the tensors among the operands."""
    found = tensors_in(frame, state, operands)
    return result_of(frame, state, found, name, site) if found else frame.run.unknown(name)


def result_of(frame: RustFrame, state: State, found: list[Any], name: str, site: Site) -> Any:
    """The result of a differentiable operation on tensors."""
    frame.session.activity += 1
    result = tensors.operate(frame, state, site, found, tensors.Operation(name))
    return replace(result, role=_tensor_type(frame)) if isinstance(result, Unknown) else result


def in_place(
    frame: RustFrame, state: State, before: Tensor, args: list[Any], name: str, site: Site
) -> Tensor:
    """`before.name_(..)`: while recording is off the tensor stays as it is; else it has the operands'
    graph."""
    if state.mode.records is False:
        frame.session.activity += 1
        return before
    result = operate(frame, state, [before, *args], name, site)
    if isinstance(result, Tensor):
        after = replace(result, origin=before.origin)
    else:
        when = When(f"never{frame.run.fresh()}")
        after = replace(before, track=Track.CONDITIONAL, when=when, opaque=True)
    state.change(before, after)
    return after


def tensors_in(frame: RustFrame, state: State, values: Iterable[Any]) -> list[Any]:
    """The tensors among values and inside them, and what may be one."""
    return [one for value in values for one in _tensors(frame, state, value, 0)]


def has_tensor(frame: RustFrame, state: State, values: Iterable[Any]) -> bool:
    """Whether a tensor is among the values, or inside one."""
    return any(is_tensor(frame, one) for one in tensors_in(frame, state, values))


def _tensor_type(frame: RustFrame) -> str:
    return next(
        (min(crate.lists["types.tensor"]) for crate in frame.crates if crate.lists["types.tensor"]), ""
    )


def _tensors(frame: RustFrame, state: State, value: Any, depth: int) -> list[Any]:
    value = state.resolve(value)
    if is_tensor(frame, value):
        return [] if _never_tracks(frame, value) else [value]
    match value:
        case Tuple(items=items) | Variant(items=items) if depth < _DEPTH:
            return [one for item in items for one in _tensors(frame, state, item, depth + 1)]
        case List() | Stream() if depth < _DEPTH:
            items, _ = items_of(frame, state, value)
            return [one for item in items for one in _tensors(frame, state, item, depth + 1)]
        case Unknown() if type_of(frame, value).name == "[]":
            items, _ = items_of(frame, state, value)
            return [one for item in items for one in _tensors(frame, state, item, depth + 1)]
        case Unknown(role=""):
            return [value] if depth else []
        case Alternatives():
            return [value]
        case _:
            return []


def _never_tracks(frame: RustFrame, value: Any) -> bool:
    """Whether a tensor's type says that it holds no floats."""
    if not isinstance(value, Unknown):
        return False
    kinds = type_of(frame, value).args
    return any(crate.has("tensor.whole", one.name) for crate in frame.crates for one in kinds)


def arithmetic(frame: RustFrame, state: State, values: list[Any], op: str, site: Site) -> Any:
    """`a op b`, which tensors overload."""
    if any(isinstance(value, Slot | Table) for value in values):
        look_at(frame, values)
    if any(is_tensor(frame, value) for value in values):
        return operate(frame, state, values, op, site)
    return frame.run.unknown()


def constant(frame: RustFrame, site: Site, verb: str) -> Tensor:
    """A tensor that never tracks."""
    cause = Cause("data", site, verb, None, frame.depth, frame.calls, function=frame.identity)
    trail = Trail(site, f"`{verb}` makes a constant, which never tracks")
    return Tensor(Track.UNTRACKED, frame.run.fresh(), cause=cause, trail=trail, made=True, depth=frame.depth)


def leaf(frame: RustFrame) -> Tensor:
    """A tensor that asks for gradients."""
    return Tensor(Track.LEAF, frame.run.fresh(), depth=frame.depth)


def look_at(frame: RustFrame, values: Iterable[Any]) -> None:
    """Something reads these values: a gradient or a table among them is looked at."""
    for value in values:
        match value:
            case Table() | Slot() | Counted() | Presence():
                frame.watch.looked = True
            case Tuple(items=items) | Variant(items=items) | Stream(items=items):
                look_at(frame, items)
            case _:
                continue


def stored(frame: RustFrame, value: Any) -> None:
    """A value goes into a container or a field, where it is not followed as a gradient."""
    look_at(frame, (value,))


def handed_over(frame: RustFrame, value: Any) -> None:
    """A function gives a value to its caller."""
    if frame.name != "<closure>":
        look_at(frame, (value,))


def escaped(frame: RustFrame, state: State, values: list[Any]) -> None:
    """Values go to code that is not followed: their guards may live on, and it may look at any gradient."""
    frame.session.activity += 1
    for value in values:
        lifetimes.lose(frame.session, state, lifetimes.held_by(frame.session, state, value))
        if isinstance(value, Table | Slot | Tensor | Instance | List) or is_tensor(frame, value):
            frame.watch.looked = True
        look_at(frame, (value,))


def is_opaque(value: Any) -> bool:
    """Whether nothing is known of a value, not even its type."""
    return isinstance(value, Unknown) and not value.role
