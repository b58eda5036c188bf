"""Iterators: lazy until they are consumed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer.rust import places, slots
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.values import ABSENT, Presence, Slot, Stream, Variant
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.truths import truth
from gradguard.infer.values import List, Literal, Tuple

STARTING = frozenset(
    [
        "iter",
        "iter_mut",
        "into_iter",
        "drain",
        "values",
        "values_mut",
        "into_values",
        "par_iter",
        "chunks",
        "windows",
    ]
)
LAZY = frozenset(
    ["map", "filter", "filter_map", "flat_map", "inspect", "map_while", "take_while", "skip_while", "scan"]
)
SAME = frozenset(
    [
        "rev",
        "cloned",
        "copied",
        "peekable",
        "by_ref",
        "fuse",
        "skip",
        "take",
        "step_by",
        "iter",
        "into_iter",
        "sorted",
        "chain",
        "cycle",
    ]
)
CONSUMING = frozenset(
    [
        "collect",
        "sum",
        "product",
        "max",
        "min",
        "fold",
        "reduce",
        "last",
        "partition",
        "unzip",
        "try_collect",
        "max_by",
        "min_by",
    ]
)
COUNTING = frozenset(["count", "any", "all", "position", "find", "len", "is_empty"])


def stream_of(frame: RustFrame, state: State, value: Any) -> Stream:
    """An iterator over a value's elements."""
    if isinstance(value, Stream):
        return value
    items, exact = places.items_of(frame, state, value)
    return Stream(items, exact)


def forced(frame: RustFrame, state: State, value: Any, hint: str = "") -> tuple[tuple[Any, ...], bool]:
    """The elements that come out of a value when it is iterated over."""
    if isinstance(value, Slot):
        return (frame.run.unknown("gradient"),), False
    if isinstance(value, Variant):
        return (value.items, True) if value.name in ("Some", "None") else ((frame.run.unknown(),), False)
    stream = stream_of(frame, state, value)
    for slot, site in stream.skips:
        slots.skipped(frame, slot, site)
    return _run_steps(frame, state, stream)


def _run_steps(frame: RustFrame, state: State, stream: Stream) -> tuple[tuple[Any, ...], bool]:
    from gradguard.infer.rust.calls import call_value

    items, exact = stream.items, stream.exact
    for kind, closure, site in stream.steps:
        out: list[Any] = []
        frame.session.loops += 1
        try:
            for item in items:
                item = state.resolve(item)
                found = call_value(frame, state, closure, [item], site)
                kept, certain = _step(frame, state, kind, item, found, site)
                exact = exact and certain
                out.extend(kept)
        finally:
            frame.session.loops -= 1
        items = tuple(out)
    return items, exact


def _step(
    frame: RustFrame, state: State, kind: str, item: Any, found: Any, site: Site
) -> tuple[list[Any], bool]:
    """What one item becomes, and whether its number is certain."""
    match kind:
        case "map" | "scan":
            return [found], True
        case "inspect":
            return [item], True
        case "filter" | "take_while" | "skip_while":
            if isinstance(found, Presence) and found.positive:
                slots.skipped(frame, found.slot, site)
                return [item], False
            known = truth(state, found) if isinstance(found, Literal) else None
            return ([item] if known is not False else []), known is not None
        case "filter_map" | "map_while" | "flat_map":
            if kind == "filter_map" and isinstance(found, Slot) and found.layers[0] == "result":
                found = replace(found, layers=found.layers[1:])
            return _present(frame, found, site)
        case _:
            return [frame.run.unknown()], False


def _present(frame: RustFrame, found: Any, site: Site) -> tuple[list[Any], bool]:
    if isinstance(found, Slot):
        if len(found.layers) == 1:
            slots.skipped(frame, found, site)
            return [frame.run.unknown("gradient")], False
        rest = slots.popped(found)
        return [rest], False
    if found == ABSENT:
        return [], True
    if isinstance(found, Variant) and found.name == "Some":
        return [found.items[0]], True
    return [found], False


def method(frame: RustFrame, state: State, receiver: Any, name: str, args: list[Any], site: Site) -> Any:
    """A method of an iterator; None where it is none."""
    stream = stream_of(frame, state, receiver)
    if name in LAZY and args:
        return replace(stream, steps=(*stream.steps, (name, args[-1], site)))
    match name:
        case "enumerate":
            items, exact = forced(frame, state, stream)
            return Stream(tuple(Tuple((frame.run.unknown(), item)) for item in items), exact)
        case "zip" if args:
            return _zip(frame, state, stream, args[0])
        case "flatten":
            return _flatten(frame, state, stream, site)
        case "for_each" | "try_for_each" if args:
            forced(frame, state, replace(stream, steps=(*stream.steps, ("map", args[-1], site))))
            return Literal(None)
        case "next" | "last" | "first" | "pop" | "max" | "min" | "find" | "nth" if name != "find":
            items, exact = forced(frame, state, stream)
            return _one(frame, items, exact, name)
        case "count" | "len" | "is_empty" | "any" | "all" | "position" | "find":
            return _counted(frame, state, stream, name, args, site)
        case "fold" | "try_fold" if len(args) == 2:
            return _fold(frame, state, stream, args, site)
        case _ if name in SAME:
            return (
                replace(stream, exact=False)
                if name in ("skip", "take", "step_by", "chain", "cycle")
                else stream
            )
        case _ if name in CONSUMING:
            items, exact = forced(frame, state, stream)
            if name in ("collect", "try_collect"):
                return _collected(frame, state, items, exact)
            return frame.run.unknown()
        case _:
            return None


def _collected(frame: RustFrame, state: State, items: tuple[Any, ...], exact: bool) -> List:
    from gradguard.infer.rust.operations import look_at

    look_at(frame, items)
    if exact:
        return places.new_list(frame, state, list(items))
    return places.new_list(frame, state, [], places.merged(frame, list(items)))


def _zip(frame: RustFrame, state: State, stream: Stream, other: Any) -> Stream:
    left, exact = forced(frame, state, stream)
    right, known = forced(frame, state, other)
    if exact and known:
        return Stream(tuple(Tuple(pair) for pair in zip(left, right, strict=False)), True)
    one, two = places.merged(frame, list(left)), places.merged(frame, list(right))
    return Stream((Tuple((one, two)),), False)


def _flatten(frame: RustFrame, state: State, stream: Stream, site: Site) -> Stream:
    items, exact = forced(frame, state, stream)
    out: list[Any] = []
    for item in items:
        if isinstance(item, Slot | Variant):
            kept, certain = _present(frame, item, site)
        else:
            found, certain = forced(frame, state, item)
            kept = list(found)
        out.extend(kept)
        exact = exact and certain
    return Stream(tuple(out), exact)


def _one(frame: RustFrame, items: tuple[Any, ...], exact: bool, name: str) -> Any:
    if exact and not items:
        return ABSENT
    if exact and len(items) == 1:
        return Variant("Some", items)
    if exact and name in ("next", "last"):
        return Variant("Some", (items[0 if name == "next" else -1],))
    return places.merged(frame, list(items))


def _counted(frame: RustFrame, state: State, stream: Stream, name: str, args: list[Any], site: Site) -> Any:
    """Counting and asking passes over nothing."""
    from gradguard.infer.rust.calls import call_value

    noted = {key: list(value) for key, value in frame.session.seen.items()}
    items, _ = _run_steps(frame, state, stream)
    frame.session.seen = noted
    for item in items if args else ():
        found = call_value(frame, state, args[-1], [item], site)
        if isinstance(found, Presence):
            frame.watch.looked = frame.watch.counted = True
    if stream.steps and name == "count":
        frame.watch.counted = frame.watch.counted or any(isinstance(item, Slot | Presence) for item in items)
    return frame.run.unknown()


def _fold(frame: RustFrame, state: State, stream: Stream, args: list[Any], site: Site) -> Any:
    from gradguard.infer.rust.calls import call_value

    items, exact = forced(frame, state, stream)
    total = args[0]
    for item in items:
        total = call_value(frame, state, args[1], [total, item], site)
    if exact or places.is_start(args[0]):
        return total
    return frame.run.unknown()
