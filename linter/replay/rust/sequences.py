"""Iterators, vectors and maps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from gradguard.infer.rust.spellings import LENT
from gradguard.replay.limits import LONGEST
from gradguard.replay.rust import arithmetic, deciding, lifetimes, places
from gradguard.replay.rust.known import MISSING
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import (
    NONE,
    Closure,
    Map,
    Native,
    Plain,
    Ref,
    Stream,
    Struct,
    Variant,
    Vec,
    Wild,
    bare,
    ok,
    opened,
    some,
)
from gradguard.replay.value import Value

SHORT = 64
ROUNDS = 2
STARTING = frozenset(
    (
        "iter",
        "iter_mut",
        "into_iter",
        "drain",
        "values",
        "values_mut",
        "into_values",
        "par_iter",
        "chars",
        "keys",
    )
)


def run(frame: Frame, function: Value, args: list[Value]) -> Value:
    """Call what a method was given."""
    from gradguard.replay.rust.calls import call_value

    return call_value(frame, function, args)


def elements(frame: Frame, value: Value) -> Iterator[Value]:
    """What comes out of a value when it is gone through; a few of an endless or unknown one."""
    for number, item in enumerate(stream(frame, value)):
        if number >= SHORT:
            frame.session.invent()
            return
        frame.session.tick()
        yield item


def stream(frame: Frame, value: Value, *, mutable: bool = False) -> Stream:
    """An iterator over a value."""
    value = opened(value)
    match value:
        case Stream():
            return value
        case Vec(items=items):
            return Stream(
                _references(items) if mutable or _has_plain(items) else iter(list(items)), value.open
            )
        case Map(items=pairs):
            return Stream(iter([(key, _reference(pairs, key)) for key in pairs]))
        case tuple():
            return Stream(iter(value))
        case Variant(name="Some", items=(inner,)):
            return Stream(iter([inner]))
        case Variant(name="None" | "Err"):
            return Stream(iter(()))
        case Plain(array=array):
            return Stream(iter(array.flatten(order="F").tolist()))
        case Wild(kind=kind):
            frame.session.invent()
            key = kind.args[0] if kind.args and kind.name == "[]" else None
            return Stream(iter([_unknown(frame, value, index, key) for index in range(ROUNDS)]), open=True)
        case _:
            frame.session.invent()
            return Stream(iter([Wild("element")]), open=True)


def _unknown(frame: Frame, value: Wild, index: int, kind: Value) -> Value:
    return places.get_item(frame, value, index)


def _has_plain(items: list[Value]) -> bool:
    return any(isinstance(one, int | float | str) for one in items)


def _references(items: list[Value]) -> Iterator[Value]:
    return (_reference(items, index) for index in range(len(items)))


def _reference(container: Value, key: Value) -> Value:
    value = container[key]
    return value if isinstance(value, Ref | Vec | Map | Struct | Wild | Stream) else Ref(container, key)


def method(frame: Frame, value: Value, name: str, args: list[Value]) -> Value:
    """A method of a vector, map or iterator; MISSING where it has none of that name."""
    value = opened(value)
    if isinstance(value, Vec):
        found = _vector(frame, value, name, args)
        if found is not MISSING:
            return found
    if isinstance(value, Map):
        found = _map(frame, value, name, args)
        if found is not MISSING:
            return found
    if name in ("collect", "iter", "into_iter", "iter_mut") and not isinstance(value, Stream):
        return stream(frame, value, mutable=name == "iter_mut")
    if isinstance(value, tuple) and name not in STARTING:
        return MISSING
    return _iterator(frame, stream(frame, value), name, args)


def _vector(frame: Frame, value: Vec, name: str, args: list[Value]) -> Value:
    items = value.items
    match name:
        case "push" | "push_back" if args:
            if len(items) < LONGEST:
                items.append(args[0])
            return None
        case "push_front" | "insert" if args:
            items.insert(0, args[-1])
            return None
        case "extend" | "append" | "extend_from_slice" if args:
            more = list(islice(elements(frame, args[0]), LONGEST))
            items.extend(bare(one) if isinstance(bare(one), int | float | str) else one for one in more)
            return None
        case "clear" | "truncate":
            lifetimes.own(frame.session, lifetimes.held_by(value))
            items.clear()
            return None
        case "pop" | "pop_back" | "pop_front":
            if not items:
                return NONE
            return some(items.pop(0 if name == "pop_front" else -1))
        case "remove" | "swap_remove" if args and isinstance(bare(args[0]), int) and items:
            return items.pop(bare(args[0]) % len(items))
        case "len":
            return len(items)
        case "is_empty":
            return not items
        case "first" | "last" | "first_mut" | "last_mut":
            return some(_reference(items, 0 if "first" in name else len(items) - 1)) if items else NONE
        case "get" | "get_mut" if args:
            index = bare(args[0])
            if isinstance(index, int):
                return some(_reference(items, index)) if 0 <= index < len(items) else NONE
            return some(_reference(items, 0)) if items else NONE
        case "chunks" | "windows" | "chunks_exact":
            return Stream(iter([Vec(list(items), open=True)]), open=True)
        case "iter" | "iter_mut" | "into_iter" | "drain" | "par_iter":
            taken = (
                Stream(iter(list(items)))
                if name == "drain"
                else stream(frame, value, mutable=name == "iter_mut")
            )
            if name == "drain":
                items.clear()
            return taken
        case "to_vec" | "clone" | "to_owned" | "into_boxed_slice":
            return Vec(list(items), value.open)
        case "join" | "concat":
            return "text"
        case "contains" if args:
            found = [arithmetic.equal(one, args[0]) for one in items]
            return True if True in found else Wild("contains") if None in found or value.open else False
        case "sort" | "sort_by" | "reverse" | "reserve" | "dedup" | "sort_unstable":
            return None
        case _ if name in LENT or name in ("unwrap", "expect", "into", "as_mut_slice", "ok"):
            return some(value) if name == "ok" else value
        case _:
            return MISSING


def _map(frame: Frame, value: Map, name: str, args: list[Value]) -> Value:
    pairs = value.items
    key = _key(args[0]) if args else None
    match name:
        case "insert" if args:
            old = pairs.get(key, NONE)
            pairs[key] = args[1] if len(args) > 1 else None
            return old if old is NONE else some(old)
        case "get" | "get_mut" if args:
            if isinstance(key, Wild) and pairs:
                return some(_reference(pairs, next(iter(pairs))))
            return some(_reference(pairs, key)) if key in pairs else NONE
        case "remove" if args:
            return some(pairs.pop(key)) if key in pairs else NONE
        case "contains_key" | "contains" if args:
            return key in pairs if not isinstance(key, Wild) else Wild("contains")
        case "entry" if args:
            return Struct(None, {"<map>": value, "<key>": key})
        case "keys" | "into_keys":
            return Stream(iter(list(pairs)))
        case "values" | "values_mut" | "into_values":
            return Stream(iter([_reference(pairs, one) for one in list(pairs)]))
        case "len":
            return len(pairs)
        case "is_empty":
            return not pairs
        case "clear":
            pairs.clear()
            return None
        case "clone":
            return Map(dict(pairs))
        case _ if name in LENT or name in ("unwrap", "expect"):
            return value
        case _:
            return MISSING


def _key(value: Value) -> Value:
    found = opened(value)
    return tuple(map(_key, found)) if isinstance(found, tuple) else found


def entry(frame: Frame, value: Struct, name: str, args: list[Value]) -> Value:
    """`map.entry(key).or_insert(default)`."""
    pairs, key = value.fields["<map>"].items, value.fields["<key>"]
    if key not in pairs:
        default: Value = 0.0
        if args:
            default = run(frame, args[0], []) if isinstance(bare(args[0]), Closure | Native) else args[0]
        pairs[key] = default
    return _reference(pairs, key) if name.startswith("or_") else value


def _iterator(frame: Frame, value: Stream, name: str, args: list[Value]) -> Value:
    lazy = _LAZY.get(name)
    if lazy is not None and args:
        return Stream(lazy(frame, value, args[-1]), value.open)
    match name:
        case "enumerate":
            return Stream(((index, item) for index, item in enumerate(value)), value.open)
        case "zip" if args:
            other = stream(frame, args[0], mutable=True)
            return Stream(_zipped(value, other), value.open or other.open)
        case "chain" if args:
            return Stream(_chained(value, stream(frame, args[0])), value.open)
        case "flatten":
            return Stream(_flattened(frame, value), value.open)
        case "rev":
            return Stream(iter(list(islice(value, SHORT))[::-1]), value.open)
        case "skip" | "take" | "step_by" if args:
            return _cut(frame, value, name, bare(args[0]))
        case (
            "cloned"
            | "copied"
            | "peekable"
            | "by_ref"
            | "fuse"
            | "iter"
            | "into_iter"
            | "cycle"
            | "sorted"
            | "clone"
        ):
            return value
        case _:
            return _consumed(frame, value, name, args)


def _zipped(one: Stream, other: Stream) -> Iterator[Value]:
    return ((left, right) for left, right in zip(one, other, strict=False))


def _chained(one: Stream, other: Stream) -> Iterator[Value]:
    yield from one
    yield from other


def _cut(frame: Frame, value: Stream, name: str, count: Value) -> Stream:
    if not isinstance(count, int) or isinstance(count, bool):
        frame.session.invent()
        return value
    if name == "take":
        return Stream(islice(value, max(count, 0)), value.open)
    if name == "skip":
        return Stream(islice(value, max(count, 0), None), value.open)
    return Stream(islice(value, 0, None, max(count, 1)), value.open)


def _mapped(frame: Frame, value: Stream, function: Value) -> Iterator[Value]:
    return (run(frame, function, [item]) for item in value)


def _filtered(frame: Frame, value: Stream, function: Value) -> Iterator[Value]:
    return (item for item in value if deciding.truth(frame, run(frame, function, [item])))


def _present(frame: Frame, value: Stream, function: Value) -> Iterator[Value]:
    """`filter_map`: what the closure gives `Some` of."""
    for item in value:
        found = opened(run(frame, function, [item]))
        if isinstance(found, Variant) and found.name in ("None", "Err"):
            continue
        yield found.items[0] if isinstance(found, Variant) and found.name == "Some" else found


def _flat(frame: Frame, value: Stream, function: Value) -> Iterator[Value]:
    for item in value:
        yield from elements(frame, run(frame, function, [item]))


def _inspected(frame: Frame, value: Stream, function: Value) -> Iterator[Value]:
    for item in value:
        run(frame, function, [item])
        yield item


def _flattened(frame: Frame, value: Stream) -> Iterator[Value]:
    for item in value:
        yield from elements(frame, item)


_LAZY: dict[str, Callable[[Frame, Stream, Value], Iterator[Value]]] = {
    "map": _mapped,
    "filter": _filtered,
    "take_while": _filtered,
    "skip_while": _mapped,
    "filter_map": _present,
    "map_while": _present,
    "scan": _mapped,
    "flat_map": _flat,
    "inspect": _inspected,
}


def _consumed(frame: Frame, value: Stream, name: str, args: list[Value]) -> Value:
    match name:
        case "collect" | "try_collect":
            return _collected(frame, value)
        case "for_each" | "try_for_each" if args:
            return _each(frame, value, args[0], tries=name == "try_for_each")
        case "next" | "next_back":
            found = next(iter(value), NONE)
            return found if found is NONE else some(found)
        case "peek":
            found = next(iter(value), NONE)
            if found is NONE:
                return NONE
            value.waiting.append(found)
            return some(found)
        case "last" | "max" | "min" | "max_by" | "min_by" | "reduce" | "nth":
            items = list(islice(value, SHORT))
            return some(items[-1]) if items else NONE
        case "fold" | "try_fold" if len(args) == 2:
            total = args[0]
            for item in elements(frame, value):
                total = run(frame, args[1], [total, item])
            return total
        case _:
            return _asked(frame, value, name, args)


def _asked(frame: Frame, value: Stream, name: str, args: list[Value]) -> Value:
    items = elements(frame, value)
    match name:
        case "sum" | "product":
            total: Value = None
            for item in items:
                total = (
                    item
                    if total is None
                    else arithmetic.operation(frame, "+" if name == "sum" else "*", [total, item])
                )
            return bare(total) if total is not None else 0.0
        case "count" | "len":
            count = sum(1 for _ in items)
            return count
        case "any" | "all" if args:
            wanted = name == "any"
            for item in items:
                found = opened(run(frame, args[0], [item]))
                if deciding.truth(frame, found) is wanted:
                    return wanted
            return not wanted
        case "find" | "position" if args:
            for index, item in enumerate(items):
                if deciding.truth(frame, run(frame, args[0], [item])):
                    return some(item if name == "find" else index)
            return NONE
        case "find_map" if args:
            return next((some(one) for one in _present(frame, value, args[0])), NONE)
        case "partition" | "unzip":
            return (Vec(list(items), open=True), Vec([], open=True))
        case "is_empty":
            return not list(items)
        case _:
            return MISSING


def _collected(frame: Frame, value: Stream) -> Value:
    """A vector; of results, the first error."""
    items: list[Value] = []
    for item in elements(frame, value):
        found = bare(item)
        if isinstance(found, Variant) and found.name == "Err":
            return found
        items.append(opened(found) if isinstance(found, Variant) and found.name == "Ok" else found)
    return Vec(items, value.open)


def _each(frame: Frame, value: Stream, function: Value, *, tries: bool) -> Value:
    for item in elements(frame, value):
        found = opened(run(frame, function, [item]))
        if tries and isinstance(found, Variant) and found.name in ("Err", "None"):
            return found
    return ok(None) if tries else None
