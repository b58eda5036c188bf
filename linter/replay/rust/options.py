"""Methods of `Option` and `Result`."""

from __future__ import annotations

from gradguard.replay.rust import deciding
from gradguard.replay.rust.known import MISSING
from gradguard.replay.rust.macros import written
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import NONE, Panic, Stream, Variant, Vec, Wild, bare, ok, some
from gradguard.replay.value import Value

_SAME = frozenset(
    (
        "as_ref",
        "as_mut",
        "as_deref",
        "as_deref_mut",
        "cloned",
        "copied",
        "clone",
        "by_ref",
        "borrow",
        "into",
        "to_owned",
    )
)
_NAMED = ("context", "with_context", "wrap_err")


def method(frame: Frame, value: Variant, name: str, args: list[Value]) -> Value:
    """A method of an option or result; MISSING where neither has one of that name."""
    there = value.name in ("Some", "Ok")
    inner = bare(value.items[0]) if value.items else None
    if name in _SAME:
        return value
    match name:
        case "is_some" | "is_ok":
            return there
        case "is_none" | "is_err":
            return not there
        case "unwrap" | "expect" | "unwrap_unchecked":
            return inner if there else _panic(value, name, args)
        case "unwrap_or":
            return inner if there else args[0] if args else None
        case "unwrap_or_else":
            return inner if there else _run(frame, args, [] if value.name == "None" else [inner])
        case "unwrap_or_default":
            return inner if there else 0.0
        case "unwrap_err" | "expect_err":
            return inner if not there else _panic(value, name, args)
        case "iter" | "iter_mut" | "into_iter":
            return Stream(iter([inner] if there else []))
        case "ok":
            return _ok(value, inner)
        case "err":
            return some(inner) if value.name == "Err" else NONE
        case "flatten":
            return inner if there and isinstance(inner, Variant | Wild) else value
        case "transpose":
            return _transposed(value, inner)
    if name in ("ok_or", "ok_or_else", *_NAMED):
        return _named(frame, value, inner, name, args, there=there)
    return _mapped(frame, value, inner, name, args, there=there)


def _panic(value: Variant, name: str, args: list[Value]) -> Value:
    said = written(args[0]) if args else ""
    if name.startswith("expect"):
        tail = f": {written(value.items[0], debug=True)}" if value.items else ""
        raise Panic(f"{said}{tail}")
    inside = f"an `Err` value: {written(value.items[0], debug=True)}" if value.items else "a `None` value"
    kind = "Result" if value.items else "Option"
    raise Panic(f"called `{kind}::{name}()` on {inside}")


def _ok(value: Variant, inner: Value) -> Value:
    if value.name == "Ok":
        return some(inner)
    # An option stands for a result that holds it.
    return NONE if value.name == "Err" else some(value)


def _transposed(value: Variant, inner: Value) -> Value:
    if isinstance(inner, Variant) and inner.name in ("Ok", "Some"):
        return Variant(inner.name, (Variant(value.name, inner.items),))
    if isinstance(inner, Variant) and value.name in ("Ok", "Some"):
        return inner
    return ok(value) if value.name == "None" else value


def _named(frame: Frame, value: Variant, inner: Value, name: str, args: list[Value], *, there: bool) -> Value:
    if there:
        return ok(inner)
    if name in _NAMED and value.name == "Err" and not args:
        return value
    reason = (
        _run(frame, args, [])
        if name.endswith("_else") or name == "with_context"
        else args[0]
        if args
        else None
    )
    return Variant("Err", (reason,))


def _mapped(
    frame: Frame, value: Variant, inner: Value, name: str, args: list[Value], *, there: bool
) -> Value:
    match name:
        case "map" if args:
            return Variant(value.name, (_run(frame, args, [inner]),)) if there else value
        case "and_then" if args:
            return _run(frame, args, [inner]) if there else value
        case "and" if args:
            return args[0] if there else value
        case "or" if args:
            return value if there else args[0]
        case "or_else" if args:
            return value if there else _run(frame, args, [inner] if value.name == "Err" else [])
        case "map_err" if args:
            return value if value.name != "Err" else Variant("Err", (_run(frame, args, [inner]),))
        case "map_or" if len(args) == 2:
            return _run(frame, args, [inner]) if there else args[0]
        case "map_or_else" if len(args) == 2:
            given = [inner] if value.name == "Err" else []
            return _run(frame, args, [inner]) if there else _run(frame, args[:1], given)
        case "filter" if args:
            return value if there and deciding.truth(frame, _run(frame, args, [inner])) else NONE
        case "inspect" if args:
            if there:
                _run(frame, args, [inner])
            return value
        case "is_some_and" | "is_ok_and" if args:
            return _run(frame, args, [inner]) if there else False
        case "is_none_or" if args:
            return _run(frame, args, [inner]) if there else True
        case "zip" if args:
            other = bare(args[0])
            return (
                some((inner, other.items[0]))
                if there and isinstance(other, Variant) and other.items
                else NONE
            )
        case "unzip" | "expect_none":
            return Wild(name)
        case "len":
            return int(there) if not isinstance(inner, Vec) else MISSING
        case _:
            return MISSING


def _run(frame: Frame, args: list[Value], given: list[Value]) -> Value:
    from gradguard.replay.rust.sequences import run

    return run(frame, args[-1] if args else None, given)


def then(frame: Frame, test: Value, name: str, arg: Value) -> Value:
    """`flag.then(|| value)` and `flag.then_some(value)`."""
    if not deciding.truth(frame, test, bare(arg).function.body if hasattr(bare(arg), "function") else ()):
        return NONE
    return some(arg if name == "then_some" else _run(frame, [arg], []))
