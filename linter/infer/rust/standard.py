"""What the standard library's functions and methods give."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer.run import Ended
from gradguard.infer.rust import (
    branches,
    gradients,
    library,
    lifetimes,
    operations,
    places,
    sequences,
    streams,
)
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.spellings import CALLING, DROPPING, EMPTY, LENT, OPENING, OWNERS, SAME
from gradguard.infer.rust.types import MAPS, NO_TYPE, Type
from gradguard.infer.rust.values import ABSENT, Counted, Presence, Slot, Stream, Table, Variant
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.truths import as_test, assume, truth
from gradguard.infer.values import Closure, Guard, Instance, List, Literal, Tensor, Tuple, Unknown
from gradguard.ir import nodes as ir

_ASKING = frozenset(("first", "last", "get", "get_mut", "pop"))


def function(frame: RustFrame, state: State, path: str, args: list[Any], site: Site) -> Any:
    """A function of the standard library; None where it is none that matters."""
    short = "::".join(path.split("::")[-2:])
    if path in DROPPING or short in DROPPING:
        for value in args:
            lifetimes.drop_now(frame, state, value)
        return Literal(None)
    if path in ("forget", "std::mem::forget") or short in ("mem::forget", "Box::leak", "ManuallyDrop::new"):
        for value in args:
            _keep_for_good(frame, state, value)
        return Literal(None)
    match short:
        case "Ok":
            return args[0] if args else Literal(None)
        case "Some":
            for value in args:
                operations.stored(frame, value)
            return Variant("Some", tuple(args))
        case "Err":
            return Variant("Err", tuple(args))
        case "thread::spawn" | "rayon::spawn" | "task::spawn" | "tokio::spawn" | "task::spawn_blocking" if (
            args
        ):
            return library.apart(frame, state, args[0], site)
        case "Arc::clone" | "Rc::clone" | "Clone::clone" if args:
            return args[0]
        case "iter::once":
            return Stream(tuple(args), True)
        case "process::exit" | "process::abort":
            raise Ended
        case _ if short in EMPTY:
            return places.new_list(frame, state, [])
        case _ if (short in OWNERS or path in OWNERS) and len(args) == 1:
            return args[0]
        case _:
            return None


def _keep_for_good(frame: RustFrame, state: State, value: Any) -> None:
    """A guard that is forgotten stays alive on this thread."""
    guards = lifetimes.held_by(frame.session, state, value)
    for statement in frame.session.statements:
        statement.made[:] = [one for one in statement.made if one not in guards]
        statement.taken[:] = [one for one in statement.taken if one not in guards]


def method(
    frame: RustFrame, state: State, receiver: Any, name: str, args: list[Any], expr: ir.Call, site: Site
) -> Any:
    """A method of the standard library; None where it is none that matters."""
    match receiver:
        case Slot():
            return gradients.method(frame, state, receiver, name, args, expr, site)
        case Table():
            return _result(frame, state, receiver, name, args, expr, site)
        case Presence() | Counted():
            return (
                _then(frame, state, receiver, name, args, site) if name in ("then", "then_some") else receiver
            )
        case Stream():
            return streams.method(frame, state, receiver, name, args, site)
        case List() | Tuple():
            found = sequences.method(frame, state, receiver, name, args, site)
            return found if found is not None else _result(frame, state, receiver, name, args, expr, site)
        case _:
            return _other(frame, state, receiver, name, args, expr, site)


def _other(
    frame: RustFrame, state: State, receiver: Any, name: str, args: list[Any], expr: ir.Call, site: Site
) -> Any:
    kind = places.type_of(frame, receiver)
    if name in ("then", "then_some") and args:
        return _then(frame, state, receiver, name, args, site)
    if name in ("spawn", "install") and len(args) == 1 and isinstance(args[0], Closure):
        return library.apart(frame, state, args[0], site)
    if isinstance(receiver, Unknown):
        starts = kind.name in ("[]", "") and name in streams.STARTING
        if starts or (kind.name == "[]" and name in streams.LAZY | streams.SAME):
            items, exact = places.items_of(frame, state, receiver)
            return Stream(items, exact)
        if kind.name == "[]" and name in _ASKING | streams.COUNTING:
            return sequences.method(frame, state, receiver, name, args, site)
        if kind.name in MAPS and len(kind.args) == 2:
            found = _of_map(frame, state, receiver, kind, name)
            if found is not None:
                return found
    if isinstance(receiver, Variant) and name in ("iter", "into_iter", "iter_mut"):
        return Stream(receiver.items, True)
    return _result(frame, state, receiver, name, args, expr, site)


def _of_map(frame: RustFrame, state: State, receiver: Unknown, kind: Type, name: str) -> Any:
    """A method of a map of which the types are known; None where it is none that matters."""
    match name:
        case "iter" | "iter_mut" | "into_iter" | "drain" | "par_iter":
            items, exact = places.items_of(frame, state, receiver)
            return Stream(items, exact)
        case "keys" | "into_keys":
            return Stream((places.unknown_of(frame, kind.args[0]),), False)
        case "values" | "values_mut" | "into_values":
            return Stream((places.unknown_of(frame, kind.args[1]),), False)
        case "get" | "get_mut" | "remove":
            return places.unknown_of(frame, Type("Option", (kind.args[1],), "Option"))
        case _:
            return None


def _result(
    frame: RustFrame, state: State, receiver: Any, name: str, args: list[Any], expr: ir.Call, site: Site
) -> Any:
    """A method of `Option` or `Result`, or of a pointer."""
    place = expr.func.base if isinstance(expr.func, ir.Attr) else None
    if (
        name in ("take", "replace", "insert")
        and isinstance(receiver, Variant | Guard)
        and places.is_place(place)
    ):
        return _exchange(frame, state, receiver, name, args, place)
    if name in LENT and not (name == "get" and args):
        return _copy(frame, state, receiver) if name == "clone" else receiver
    if name in ("is_some", "is_none", "is_ok", "is_err"):
        return _is(frame, receiver, name)
    if name in CALLING and args and isinstance(args[-1], Closure):
        found = _mapped(frame, state, receiver, name, args, site)
    elif name in ("unwrap_or", "unwrap_or_else", "or", "unwrap_or_default"):
        found = _defaulted(frame, state, receiver, name, args, site)
    elif name in OPENING or name in SAME:
        found = _opened(frame, state, receiver, name)
    else:
        return None
    if places.is_place(place) and place is not None:
        guards = lifetimes.held_by(frame.session, state, receiver)
        if guards:
            lifetimes.own(frame.session, guards, made=False)
            places.take(frame, state, place, guards)
    return found


def _copy(frame: RustFrame, state: State, value: Any) -> Any:
    if isinstance(value, Instance | List) and not lifetimes.held_by(frame.session, state, value):
        identity = frame.run.fresh()
        state.allocate(identity, dict(state.fields(value.id)))
        return replace(value, id=identity)
    return value


def _exchange(frame: RustFrame, state: State, receiver: Any, name: str, args: list[Any], place: Any) -> Any:
    from gradguard.infer.rust.blocks import assign

    lifetimes.own(frame.session, lifetimes.held_by(frame.session, state, receiver), made=False)
    new = Variant("Some", tuple(args)) if name != "take" else ABSENT
    assign(frame, state, place, new, place.at)
    return receiver


def _is(frame: RustFrame, receiver: Any, name: str) -> Any:
    if isinstance(receiver, Variant) and receiver.name in ("Some", "None", "Err"):
        there = receiver.name == "Some"
        return Literal(there if name in ("is_some", "is_ok") else not there)
    return frame.run.unknown(name)


def _opened(frame: RustFrame, state: State, receiver: Any, name: str) -> Any:
    match receiver:
        case Variant(name="Some", items=(inner,)):
            return inner if name in OPENING else receiver
        case Variant(name="None") if name in ("ok_or", "ok_or_else", "context", "with_context"):
            return Variant("Err")
        case Variant(name="None" | "Err") if name in OPENING:
            raise Ended
        case Variant(name="Err") if name == "ok":
            return ABSENT
        case Unknown():
            kind = places.type_of(frame, receiver)
            if name in OPENING and kind.name == "Option" and kind.args:
                return places.unknown_of(frame, kind.args[0], receiver.hint)
            return receiver
        case _:
            return receiver


def _inside(frame: RustFrame, receiver: Any) -> Any:
    match receiver:
        case Variant(name="Some", items=(inner,)):
            return inner
        case Unknown():
            kind = places.type_of(frame, receiver)
            if kind.name == "Option":
                return places.unknown_of(frame, kind.args[0] if kind.args else NO_TYPE, receiver.hint)
            if kind.name == "[]":
                return places.unknown_of(frame, kind.args[0] if kind.args else NO_TYPE, receiver.hint)
            return receiver
        case _:
            return receiver


def _mapped(frame: RustFrame, state: State, receiver: Any, name: str, args: list[Any], site: Site) -> Any:
    from gradguard.infer.rust.calls import call_value

    if isinstance(receiver, Variant) and receiver.name in ("None", "Err"):
        if name == "map_or":
            return args[0]
        return receiver if name in ("map", "and_then", "filter", "inspect") else frame.run.unknown()
    inner = _inside(frame, receiver)
    found = call_value(frame, state, args[-1], [inner], site)
    if name in ("filter", "inspect"):
        return receiver
    if name == "map" and isinstance(receiver, Variant):
        return Variant("Some", (found,))
    if name in ("map_or", "map_or_else") and not isinstance(receiver, Variant):
        return frame.run.unknown()
    return found


def _defaulted(frame: RustFrame, state: State, receiver: Any, name: str, args: list[Any], site: Site) -> Any:
    match receiver:
        case Variant(name="Some", items=(inner,)):
            return receiver if name == "or" else inner
        case Variant(name="None" | "Err") if args and name != "unwrap_or_else":
            return args[0]
        case Tensor() | Guard() | Table():
            return receiver
        case _:
            return places.unknown_of(frame, places.type_of(frame, _inside(frame, receiver)))


def _then(frame: RustFrame, state: State, receiver: Any, name: str, args: list[Any], site: Site) -> Any:
    """`flag.then(|| value)`."""
    from gradguard.infer.rust.calls import call_value

    def there(inner: State) -> Any:
        value = args[0] if name == "then_some" else call_value(frame, inner, args[0], [], site)
        return Variant("Some", (value,))

    known = truth(state, receiver) if not isinstance(receiver, Presence | Counted) else None
    if known is not None:
        return there(state) if known else ABSENT
    ways: list[branches.Way] = []
    for wanted in (True, False):
        inner = state.fork()
        assume(inner, as_test(inner, receiver), wanted)
        ways.append((inner, there if wanted else lambda _: ABSENT))
    return branches.either_way(frame, state, ways)
