"""What the standard library's functions and methods give."""

from __future__ import annotations

from gradguard.infer.rust.places import is_place
from gradguard.infer.rust.spellings import DROPPING, EMPTY, LENT, OPENING, OWNERS, SAME
from gradguard.infer.rust.streams import LAZY
from gradguard.ir import nodes as ir
from gradguard.replay.rust import crates, lifetimes, numbers, options, places, sequences
from gradguard.replay.rust.known import MISSING
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import (
    Closure,
    Map,
    Panic,
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

_MAPS = ("HashMap", "BTreeMap", "HashSet", "BTreeSet", "IndexMap")
_SPAWNING = frozenset(
    ("thread::spawn", "rayon::spawn", "task::spawn", "tokio::spawn", "task::spawn_blocking")
)


def function(frame: Frame, path: str, args: list[Value], at: int) -> Value:
    """A function of the standard library; MISSING where it is none that matters."""
    short = "::".join(path.split("::")[-2:])
    if path in DROPPING or short in DROPPING:
        for value in args:
            lifetimes.own(frame.session, lifetimes.held_by(value))
        return None
    if path == "forget" or short in ("mem::forget", "Box::leak", "ManuallyDrop::new"):
        for value in args:
            for held in lifetimes.held_by(value):
                held.forgotten = True
        return args[0] if args else None
    if short in ("Ok", "Some", "Err"):
        return Variant(short, tuple(args))
    if short in _SPAWNING and args:
        return _thread(frame, args[0])
    if short.endswith("::clone") and args and short.split("::")[0] in ("Arc", "Rc", "Clone"):
        return bare(args[0])
    if short in ("mem::take", "mem::replace", "mem::swap") and args:
        return _exchanged(short, args)
    if short == "iter::once":
        return Stream(iter(list(args)))
    if short in ("iter::repeat", "iter::repeat_with"):
        return Stream(iter(list(args) * 2), open=True)
    if short in ("process::exit", "process::abort"):
        raise Panic("the process exits")
    if short == "thread::scope" and args:
        return sequences.run(frame, args[0], [Wild("scope")])
    if short in ("String::new", "String::from", "String::with_capacity"):
        return bare(args[0]) if args and isinstance(bare(args[0]), str) else ""
    if short in EMPTY:
        return Map({}) if short.startswith(_MAPS) else Vec([])
    if (short in OWNERS or path in OWNERS) and len(args) == 1:
        return args[0]
    if short in ("Duration::from_secs", "Instant::now", "SystemTime::now"):
        return Wild("time")
    return MISSING


def _thread(frame: Frame, closure: Value) -> Value:
    """What `join` gives of a thread."""
    try:
        return ok(crates.apart(frame, closure))
    except Panic as panic:
        return Variant("Err", (str(panic),))


def _exchanged(name: str, args: list[Value]) -> Value:
    place, old = args[0], bare(args[0])
    if name == "mem::swap" and len(args) > 1:
        if isinstance(place, Ref) and isinstance(args[1], Ref):
            new = args[1].get()
            args[1].set(old)
            place.set(new)
        return None
    if isinstance(old, Vec):
        kept = Vec(list(old.items), old.open)
        new = bare(args[1]) if len(args) > 1 else None
        old.items[:] = new.items if isinstance(new, Vec) else []
        return kept
    if isinstance(place, Ref):
        empty: Value = (
            Variant("None") if isinstance(old, Variant) else type(old)() if _is_plain(old) else Wild()
        )
        place.set(args[1] if len(args) > 1 else empty)
    return old


def _is_plain(value: Value) -> bool:
    return isinstance(value, int | float | str)


def method(frame: Frame, receiver: Value, name: str, args: list[Value], expr: ir.Call) -> Value:
    """A method of the standard library; MISSING where it is none that matters."""
    value = bare(receiver)
    if name in ("spawn", "install") and len(args) == 1 and isinstance(bare(args[0]), Closure):
        return _thread(frame, args[0])
    if name in ("then", "then_some") and len(args) == 1 and isinstance(value, bool | Wild):
        return options.then(frame, value, name, args[0])
    place = expr.func.base if isinstance(expr.func, ir.Attr) else None
    if isinstance(value, Variant) and name in ("take", "replace", "insert", "get_or_insert_with"):
        return _taken(frame, value, name, args, place)
    if isinstance(value, Variant) and value.name in ("Some", "None", "Ok", "Err"):
        found = options.method(frame, value, name, args)
        if found is not MISSING:
            _moved(frame, place, value, name)
            return found
        return _inside(frame, value, name, args, expr)
    if isinstance(value, Struct) and "<map>" in value.fields:
        return sequences.entry(frame, value, name, args)
    if isinstance(value, Stream | Vec | Map | tuple):
        found = sequences.method(frame, value, name, args)
        if found is not MISSING:
            return found
    if isinstance(value, int | float | str):
        found = numbers.method(value, name, [opened(one) for one in args])
        if found is not MISSING:
            return found
    if isinstance(value, Wild):
        found = _unknown(frame, value, name, args)
        if found is not MISSING:
            return found
    return _result(frame, receiver, value, name, args, place)


def _inside(frame: Frame, value: Variant, name: str, args: list[Value], expr: ir.Call) -> Value:
    """A method of what an `Ok` holds, where the program has no `Ok` around it."""
    from gradguard.replay.rust.calls import method as any_method

    if value.name == "Ok" and value.items:
        return any_method(frame, value.items[0], name, args, expr)
    return Wild(name) if value.name in ("None", "Err") else MISSING


def _taken(frame: Frame, value: Variant, name: str, args: list[Value], place: ir.Expr | None) -> Value:
    """`place.take()`, `place.replace(new)`: the guards in the place are the statement's now."""
    if place is None or not is_place(place):
        return value
    lifetimes.own(frame.session, lifetimes.held_by(value))
    if name == "get_or_insert_with" and value.name == "Some":
        return value.items[0]
    new = Variant("None")
    if args:
        new = some(sequences.run(frame, args[0], []) if name == "get_or_insert_with" else args[0])
    from gradguard.replay.rust.evaluate import look

    target: ir.Expr = place
    if isinstance(look(frame, place), Ref):
        target = ir.Op("*", (place,), place.at)
    places.assign(frame, target, new)
    return new.items[0] if name in ("insert", "get_or_insert_with") and new.items else value


def _moved(frame: Frame, place: ir.Expr | None, value: Value, name: str) -> None:
    """A method that takes its receiver by value moves the guards in it."""
    if name in LENT or name.startswith("is_") or place is None or not frame.session.guards:
        return
    guards = lifetimes.held_by(value) if is_place(place) else set()
    if guards:
        lifetimes.own(frame.session, guards)
        source = places.root_of(frame, place)
        if source is not None:
            lifetimes.take(*source, guards)


def _result(
    frame: Frame, receiver: Value, value: Value, name: str, args: list[Value], place: ir.Expr | None
) -> Value:
    """A method of a result or a pointer whose inside stands for it."""
    if name == "clone":
        return _copy(value)
    if name in LENT and not (name == "get" and args):
        return receiver
    if name in ("into_iter", "iter_mut"):
        return Stream(iter([value]), open=True)
    if name in ("is_ok", "is_some"):
        return True
    if name in ("is_err", "is_none"):
        return False
    if name == "ok":
        return some(value)
    if name in ("err",):
        return Variant("None")
    if name in OPENING or name in SAME or name in ("unwrap_or", "unwrap_or_else", "or", "or_else", "flatten"):
        _moved(frame, place, value, name)
        return value
    if name in ("map", "and_then", "map_or", "map_or_else", "inspect", "is_some_and", "is_ok_and") and args:
        _moved(frame, place, value, name)
        found = sequences.run(frame, args[-1], [value])
        return value if name == "inspect" else found
    if name in ("to_string", "to_str"):
        return "text"
    return MISSING


def _copy(value: Value) -> Value:
    if isinstance(value, Vec):
        return Vec(list(value.items), value.open)
    if isinstance(value, Map):
        return Map(dict(value.items))
    if isinstance(value, Struct) and not lifetimes.held_by(value):
        return Struct(value.owner, {key: _copy(part) for key, part in value.fields.items()})
    return value


def _unknown(frame: Frame, value: Wild, name: str, args: list[Value]) -> Value:
    if name in ("is_some", "is_none", "is_ok", "is_err", "is_empty", "contains", "contains_key"):
        return Wild(name)
    if name in sequences.STARTING or name in LAZY or (name in ("rev", "zip", "enumerate")):
        kind = value.kind.name
        if kind in ("", "[]") and not (name in ("map",) and kind == ""):
            return sequences.method(frame, sequences.stream(frame, value), name, args)
    if name in ("map_err", "ok_or", "ok_or_else", "context", "with_context"):
        return value
    return MISSING
