"""Whether a pattern fits a value, and what it binds."""

from __future__ import annotations

from gradguard.infer.rust.types import NO_TYPE
from gradguard.ir import nodes as ir
from gradguard.lower.rust.patterns import bound_names, is_binding
from gradguard.replay.rust import deciding, witness
from gradguard.replay.rust.places import get_field
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import (
    Map,
    Ref,
    Stream,
    Struct,
    Variant,
    Vec,
    Wild,
    bare,
    opened,
)
from gradguard.replay.value import Value

_WRAPPERS = frozenset(("Some", "Ok", "Err"))


def match(frame: Frame, pattern: ir.Expr | None, value: Value, bound: dict[str, Value]) -> bool | None:
    """Whether the pattern fits, None where that is unknown; `bound` gets its names."""
    match pattern:
        case None:
            return None
        case ir.Name(id="_") | ir.Star():
            return True
        case ir.Name(id=name) if is_binding(name):
            bound[name] = value
            return True
        case ir.Name(id=name):
            return _constant(frame, name.rsplit("::", 1)[-1], value, name)
        case ir.Const(value=wanted):
            found = opened(value)
            if isinstance(found, Wild):
                return deciding.answer(found) is wanted if _is_settled(found, wanted) else None
            return bool(found == wanted) and type(found) is type(wanted)
        case ir.Sequence(kind=kind, items=items):
            return _sequence(frame, kind, items, value, bound)
        case ir.Call(func=ir.Name(id=path), args=args):
            return _structure(frame, path.rsplit("::", 1)[-1], args, value, bound)
        case ir.Op(op="|", operands=options):
            return _either(frame, options, value, bound)
        case ir.Op(operands=(inner,)):
            return match(frame, inner, value, bound)
        case ir.Walrus(target=name, value=inner):
            bound[name] = value
            return match(frame, inner, value, bound)
        case _:
            return None


def _constant(frame: Frame, name: str, value: Value, path: str) -> bool | None:
    found = opened(value) if name != "Ok" else bare(value)
    if isinstance(found, Variant):
        return found.name == name
    if isinstance(found, Wild):
        return deciding.is_known_as(found, f"::{name}")
    constant = frame.session.spaces.find(frame.space, path, frame.owner)
    if constant.kind == "constant" and isinstance(constant.value, ir.Const):
        return bool(constant.value.value == found)
    return False if name == "None" else None


def _is_settled(found: Wild, wanted: Value) -> bool:
    return isinstance(wanted, bool) and deciding.answer(found) is not None


def variant_key(pattern: ir.Expr | None) -> str | None:
    """What stands for the variant or constant that a pattern names."""
    match pattern:
        case ir.Name(id=name) if name != "_" and not is_binding(name):
            return f"::{name.rsplit('::', 1)[-1]}"
        case ir.Call(func=ir.Name(id=name)):
            return f"::{name.rsplit('::', 1)[-1]}"
        case _:
            return None


def _sequence(
    frame: Frame, kind: str, items: tuple[ir.Expr, ...], value: Value, bound: dict[str, Value]
) -> bool | None:
    found = opened(value)
    parts: list[Value] | None = None
    if isinstance(found, tuple):
        parts = list(found)
    elif isinstance(found, Vec):
        parts = found.items
    if parts is None:
        fits: bool | None = True if kind == "tuple" else None
        for index, item in enumerate(items):
            inner = get_field(frame, found, str(index)) if isinstance(found, Wild) else Wild()
            fits = _both(fits, match(frame, item, inner, bound))
        return fits
    rest = next((index for index, item in enumerate(items) if _is_rest(item)), None)
    if rest is None:
        if len(items) != len(parts):
            return False
        pairs = list(zip(items, parts, strict=True))
    else:
        behind = len(items) - rest - 1
        if len(parts) < rest + behind:
            return False
        pairs = list(zip(items[:rest], parts, strict=False))
        pairs += zip(items[rest + 1 :], parts[len(parts) - behind :], strict=False)
        middle = items[rest]
        if isinstance(middle, ir.Walrus):
            bound[middle.target] = Vec(parts[rest : len(parts) - behind])
    fits = True
    for item, part in pairs:
        fits = _both(fits, match(frame, item, part, bound))
    return fits


def _is_rest(item: ir.Expr) -> bool:
    return isinstance(item, ir.Star) or (isinstance(item, ir.Walrus) and isinstance(item.value, ir.Star))


def _both(one: bool | None, other: bool | None) -> bool | None:
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def _structure(
    frame: Frame, name: str, args: tuple[ir.Arg, ...], value: Value, bound: dict[str, Value]
) -> bool | None:
    found = bare(value)
    if name in _WRAPPERS and len(args) == 1:
        return _wrapper(frame, name, args[0].value, found, value, bound)
    found = opened(found)
    if isinstance(found, Variant):
        if found.name != name:
            return False
        return _fields(frame, args, found, bound)
    fits = _fields(frame, args, found, bound)
    return fits if isinstance(found, Struct) else _both(fits, None)


def _fields(frame: Frame, args: tuple[ir.Arg, ...], found: Value, bound: dict[str, Value]) -> bool | None:
    fits: bool | None = True
    for index, arg in enumerate(args):
        if isinstance(arg.value, ir.Star):
            continue
        if isinstance(found, Variant) and arg.name and found.items and isinstance(found.items[0], Struct):
            inner = get_field(frame, found.items[0], arg.name)
        else:
            inner = get_field(frame, found, arg.name or str(index))
            owner = getattr(found, "fields", None)
            key = arg.name or str(index)
            if isinstance(owner, dict) and key in owner and _is_plain(inner):
                inner = Ref(owner, key)
        fits = _both(fits, match(frame, arg.value, inner, bound))
    return fits


def _is_plain(value: Value) -> bool:
    return isinstance(value, int | float | str)


def _wrapper(
    frame: Frame, name: str, inner: ir.Expr, found: Value, value: Value, bound: dict[str, Value]
) -> bool | None:
    """`Some(p)`, `Ok(p)` and `Err(p)`."""
    if isinstance(found, Variant) and found.name in (*_WRAPPERS, "None"):
        if found.name == name:
            return match(frame, inner, found.items[0] if found.items else None, bound)
        if found.name == "Ok" and name == "Some" and found.items:
            return _wrapper(frame, name, inner, bare(found.items[0]), found.items[0], bound)
        if found.name in ("Some", "None") and name == "Ok":
            return match(frame, inner, found, bound)
        return False
    if isinstance(found, Wild):
        return _unknown(frame, name, inner, found, bound)
    if name == "Err":
        bound.update(dict.fromkeys(bound_names(inner), Wild("error")))
        return False
    if name == "Some" and isinstance(found, Stream | Map):
        return None
    return match(frame, inner, value, bound)


def _unknown(frame: Frame, name: str, inner: ir.Expr, found: Wild, bound: dict[str, Value]) -> bool | None:
    """An unknown value may be any variant; what an option of a known type holds is of that type."""
    key = f"<{name}>"
    if key not in found.fields:
        of_type = found.kind.name in ("Option", "Result") and found.kind.args and name != "Err"
        kind = found.kind.args[0] if of_type else NO_TYPE
        found.fields[key] = witness.made(frame, kind, found.hint)
    fits = match(frame, inner, found.fields[key], bound)
    known = deciding.is_known_as(found, f"::{name}")
    if known is None and "<is>" not in found.fields and name == "Some":
        known = None if deciding.is_known_as(found, "::None") is not True else False
    return False if fits is False else known if known is not True else fits


def _either(frame: Frame, options: tuple[ir.Expr, ...], value: Value, bound: dict[str, Value]) -> bool | None:
    fits: bool | None = False
    for option in options:
        found: dict[str, Value] = {}
        one = match(frame, option, value, found)
        if one is not False:
            bound.update(found)
            if one is True:
                return True
            fits = None
    return fits
