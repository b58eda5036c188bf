"""Joining what two paths know."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

from gradguard.infer.lineage import joined
from gradguard.infer.modes import Mode, When
from gradguard.infer.state import Fields, Layer, State, parted
from gradguard.infer.values import Alternatives, Dict, List, Literal, Tensor, Track, Tuple, Unknown

_DEPTH = 3
_ids = count(1_000_000_000)


def distinguishing(a: State, b: State) -> tuple[str, bool] | None:
    """A fact that holds on one path and not on the other: (key, its truth on the first)."""
    for key, truth in reversed(a.facts.items()):
        if b.facts.get(key) is (not truth):
            return key, truth
    return None


def join(a: State | None, b: State | None) -> State | None:
    """One state that covers both; a None path does not arrive."""
    if a is None or b is None:
        return a or b
    key = distinguishing(a, b)
    common, mine, other = parted(a, b)
    entries: dict[int, Fields] = dict(other)
    for identity, fields in mine.items():
        theirs = other.get(identity)
        if theirs is None and common is not None and identity <= common.highest:
            theirs = common.find(identity)
        entries[identity] = (
            fields if theirs is None or theirs is fields else _join_fields(fields, theirs, key)
        )
    if common is not None:
        for identity, fields in other.items():
            if (
                identity <= common.highest
                and identity not in mine
                and (before := common.find(identity)) is not None
                and before is not fields
            ):
                entries[identity] = _join_fields(before, fields, key)
    facts = {name: truth for name, truth in a.facts.items() if b.facts.get(name) is truth}
    changed = dict(a.changed)
    for origin, tensor in b.changed.items():
        if origin in changed and changed[origin] is not tensor:
            changed[origin] = _join_changed(changed[origin], tensor, key)
        elif origin not in changed:
            changed[origin] = tensor
    layer = Layer(entries, common)
    layer.highest = max(a.layer.highest, b.layer.highest)
    joined = State(layer, facts, join_modes(a.mode, b.mode, key), changed)
    return joined


def _join_changed(a: Tensor, b: Tensor, key: tuple[str, bool] | None) -> Tensor:
    merged = merge(a, b)
    if isinstance(merged, Tensor):
        return replace(merged, origin=a.origin)
    return replace(a, track=Track.CONDITIONAL, when=When(f"never{next(_ids)}"), opaque=True)


def _join_fields(a: Fields, b: Fields, key: tuple[str, bool] | None) -> Fields:
    out = dict(a)
    for name, value in b.items():
        mine = out.get(name)
        if mine is None:
            out[name] = value
        elif name == "#hooks" and isinstance(mine, Tuple) and isinstance(value, Tuple):
            out[name] = Tuple(tuple(dict.fromkeys(mine.items + value.items)))
        elif name == "#items" and isinstance(mine, Tuple) and isinstance(value, Tuple):
            _join_items(out, a, b, mine, value)
        elif mine is not value and mine != value:
            out[name] = either(mine, value, key)
    return out


def _join_items(out: Fields, a: Fields, b: Fields, mine: Tuple, other: Tuple) -> None:
    """The elements of a list that differ between two paths: position by position, or one that stands for all."""
    if len(mine.items) == len(other.items):
        out["#items"] = Tuple(tuple(merge(x, y) for x, y in zip(mine.items, other.items, strict=True)))
        return
    options = [*mine.items, *other.items, *(f["#rest"] for f in (a, b) if f.get("#rest") is not None)]
    rest = options[0]
    for option in options[1:]:
        rest = merge(rest, option)
    out["#items"], out["#rest"] = Tuple(()), rest


def join_modes(a: Mode, b: Mode, key: tuple[str, bool] | None) -> Mode:
    """One mode for two paths; where they differ it hangs on the fact that tells them apart."""
    if a == b or (a.grad == b.grad and a.inference == b.inference):
        return a
    off = a if a.records is False else b
    if key is None:
        return Mode(None, False, off.guard)
    return Mode(None, False, off.guard, When(key[0], key[1] if off is b else not key[1]))


def either(a: Any, b: Any, key: tuple[str, bool] | None) -> Any:
    """A value that is `a` on the first path and `b` on the second."""
    if a == b:
        return a
    if key is None or _depth(a) + _depth(b) >= _DEPTH:
        return merge(a, b)
    name, truth = key
    return Alternatives(name, a, b) if truth else Alternatives(name, b, a)


def _depth(value: Any) -> int:
    return 1 + max(_depth(value.then), _depth(value.other)) if isinstance(value, Alternatives) else 0


def leaves_of(value: Any) -> list[Any]:
    """The values an alternative can be."""
    if isinstance(value, Alternatives):
        return leaves_of(value.then) + leaves_of(value.other)
    return [value]


def merge(a: Any, b: Any) -> Any:
    """One value without a condition that covers both."""
    if a == b:
        return a
    if isinstance(a, Alternatives) or isinstance(b, Alternatives):
        merged, *others = leaves_of(a) + leaves_of(b)
        for other in others:
            merged = merge(merged, other)
        return merged
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return _merge_tensors(a, b)
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        return Tuple(tuple(merge(x, y) for x, y in zip(a.items, b.items, strict=True)))
    return Unknown(next(_ids))


def _merge_tensors(a: Tensor, b: Tensor) -> Any:
    if a.track is b.track:
        first = a if a.cause is not None else b
        return replace(
            first,
            assumed=tuple(dict.fromkeys(a.assumed + b.assumed)),
            terms=a.terms if a.terms == b.terms else (),
            inference=a.inference if b.inference else None,
            would=a.would and b.would,
            rebound=a.rebound or b.rebound,
            number=a.number and b.number,
            opaque=a.opaque or b.opaque,
            lineage=joined(a, b),
        )
    tracks = {a.track, b.track}
    if tracks == {Track.UNTRACKED, Track.DATA}:
        first = a if a.track is Track.UNTRACKED else b
        return replace(
            first,
            assumed=tuple(dict.fromkeys(a.assumed + b.assumed)),
            opaque=a.opaque or b.opaque,
            lineage=joined(a, b),
        )
    if tracks <= {Track.TRACKED, Track.LEAF}:
        return replace(a, track=Track.TRACKED, terms=(), inference=None, lineage=joined(a, b))
    return Unknown(next(_ids))


def overlay(before: Any, after: Any) -> Any:
    """The value after a loop that may have run: `after`, unless the loop may have kept a tensor from before."""
    match before:
        case Tensor():
            return merge(before, after)
        case None | Literal() | List() | Dict():
            return after
        case _:
            return merge(before, after)


def is_settled(before: State, after: State) -> bool:
    """Whether one more turn of a loop would see what this one saw: the names and fields that were there keep
    their kind of value, and the mode its effect."""
    if (before.mode.records, before.mode.when) != (after.mode.records, after.mode.when):
        return False
    common, _, written = parted(before, after)
    if common is None:
        return False
    for identity, later in written.items():
        earlier = common.find(identity) if identity <= common.highest else None
        if earlier is None or earlier is later:
            continue
        for name, value in later.items():
            old = earlier.get(name)
            if old is not None and old is not value and _kind(old) != _kind(value):
                return False
    return all(origin in before.changed or tensor.made for origin, tensor in after.changed.items())


def _kind(value: Any) -> Any:
    """What of a value decides how the program goes on."""
    match value:
        case Tensor():
            return (
                value.track,
                value.cause and value.cause.site,
                value.number,
                value.opaque,
                value.rebound,
                value.lossy,
            )
        case Unknown():
            return "unknown"
        case Tuple(items=items):
            return tuple(map(_kind, items))
        case Alternatives():
            return (_kind(value.then), _kind(value.other))
        case Literal(value=constant):
            return "number" if isinstance(constant, int | float) and not isinstance(constant, bool) else value
        case _:
            return value if isinstance(value, Dict | List) else type(value)
