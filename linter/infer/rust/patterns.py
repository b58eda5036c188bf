"""Matching patterns: whether they fit, and what they bind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradguard.infer.rust.places import bind, get_field, items_of, new_list, type_of, unknown_of
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.types import NO_TYPE
from gradguard.infer.rust.values import Slot, Variant
from gradguard.infer.state import State
from gradguard.infer.values import Guard, Instance, List, Literal, Tensor, Tuple, Unknown
from gradguard.ir import nodes as ir
from gradguard.lower.rust.patterns import is_binding

_WRAPPERS = ("Some", "Ok")


def last(path: str) -> str:
    """The last segment of a path."""
    return path.rsplit("::", 1)[-1]


def match(frame: RustFrame, state: State, pattern: ir.Expr, value: Any) -> bool | None:
    """Whether a value fits (None: it may), after binding the pattern's names in the innermost scope."""
    value = state.resolve(value)
    match pattern:
        case ir.Name(id="_") | ir.Star():
            return True
        case ir.Name(id=name) if is_binding(name):
            bind(frame, state, name, value)
            return True
        case ir.Name(id=name):
            return _is_variant(value, last(name))
        case ir.Const(value=constant):
            return value.value == constant if isinstance(value, Literal) else None
        case ir.Op(op="&", operands=(inner,)):
            return match(frame, state, inner, value)
        case ir.Op(operands=options):
            return _any(match(frame, state, option, value) for option in options)
        case ir.Walrus(target=name, value=inner):
            bind(frame, state, name, value)
            return match(frame, state, inner, value)
        case ir.Sequence(items=items):
            return _sequence(frame, state, items, value)
        case ir.Call(func=ir.Name(id=path), args=args):
            return _structure(frame, state, last(path), args, value)
        case _:
            return None


def _is_variant(value: Any, name: str) -> bool | None:
    return value.name == name if isinstance(value, Variant) else None


def _any(results: Iterable[bool | None]) -> bool | None:
    found = list(results)
    if True in found:
        return True
    return None if None in found else False


def _all(results: Iterable[bool | None]) -> bool | None:
    found = list(results)
    if False in found:
        return False
    return None if None in found else True


def _sequence(frame: RustFrame, state: State, parts: tuple[ir.Expr, ...], value: Any) -> bool | None:
    if isinstance(value, Tuple | List):
        items, exact = items_of(frame, state, value)
        rest = next((i for i, part in enumerate(parts) if _is_rest(part)), None)
        if exact and rest is not None and len(items) >= len(parts) - 1:
            after = len(parts) - rest - 1
            middle = new_list(frame, state, list(items[rest : len(items) - after]))
            items = (*items[:rest], middle, *items[len(items) - after :])
        if exact and len(items) == len(parts):
            return _all(match(frame, state, part, item) for part, item in zip(parts, items, strict=True))
        if exact and isinstance(value, List) and rest is None:
            return False
    kind = type_of(frame, value)
    for index, part in enumerate(parts):
        inner: Any
        if isinstance(value, Tensor):
            inner = value
        elif isinstance(value, Unknown) and kind.name == "()":
            inner = get_field(frame, state, value, str(index))
        else:
            inner = items_of(frame, state, value)[0][0] if kind.name == "[]" else frame.run.unknown()
        match(frame, state, part, inner)
    return True if isinstance(value, Unknown | Tensor) and kind.name != "[]" else None


def _is_rest(part: ir.Expr) -> bool:
    return isinstance(part, ir.Star) or (isinstance(part, ir.Walrus) and isinstance(part.value, ir.Star))


def _structure(
    frame: RustFrame, state: State, name: str, args: tuple[ir.Arg, ...], value: Any
) -> bool | None:
    if name in _WRAPPERS and len(args) == 1:
        return _wrapper(frame, state, name, args[0].value, value)
    if isinstance(value, Variant):
        if value.name != name:
            return False
        for index, arg in enumerate(args):
            position = str(index) if arg.name is None else ""
            match(frame, state, arg.value, get_field(frame, state, value, position))
        return True
    for index, arg in enumerate(args):
        if not isinstance(arg.value, ir.Star):
            match(frame, state, arg.value, get_field(frame, state, value, arg.name or str(index)))
    return True if isinstance(value, Instance) else None


def _wrapper(frame: RustFrame, state: State, name: str, inner: ir.Expr, value: Any) -> bool | None:
    """`Some(p)` and `Ok(p)`. An `Ok` is its inside; a `Some` is where it is known."""
    match value:
        case Variant(name=found, items=(first, *_)) if found == name:
            return match(frame, state, inner, first)
        case Variant(name="Err" | "None"):
            return False
        case Slot(layers=(_, *rest)):
            inside: Any = (
                Slot(value.parameter, value.site, tuple(rest), value.mapped)
                if rest
                else frame.run.unknown("gradient")
            )
            match(frame, state, inner, inside)
            return None
        case Unknown():
            kind = type_of(frame, value)
            opened = kind.args[0] if kind.name == "Option" and kind.args and name == "Some" else NO_TYPE
            if name == "Some":
                match(frame, state, inner, unknown_of(frame, opened, value.hint))
            else:
                match(frame, state, inner, value)
            return None
        case Guard() | Tensor() | Variant() | _:
            return None if match(frame, state, inner, value) is not False else False
