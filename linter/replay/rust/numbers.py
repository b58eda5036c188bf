"""Methods of numbers and text."""

from __future__ import annotations

import math
from collections.abc import Callable

from gradguard.replay.rust.known import MISSING
from gradguard.replay.rust.values import Stream, Vec, Wild
from gradguard.replay.value import Value

_FLOATS: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "ln": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "recip": lambda value: 1.0 / value,
}
_SAME = frozenset(
    ("clone", "to_owned", "into", "copied", "as_str", "as_ref", "borrow", "deref", "unwrap", "to_string")
)
_PARTS = 8


def method(value: Value, name: str, args: list[Value]) -> Value:
    """A method of a number or a text; MISSING where it has none of that name."""
    if name in _SAME:
        return value if name != "to_string" or isinstance(value, str) else str(value)
    if isinstance(value, str):
        return _text(value, name, args)
    try:
        return _number(value, name, args)
    except (ValueError, OverflowError, ZeroDivisionError):
        return Wild(name)


def _number(value: float, name: str, args: list[Value]) -> Value:
    if name in _FLOATS:
        return _FLOATS[name](value)
    numbers = [one for one in args if isinstance(one, int | float)]
    match name:
        case "is_nan":
            return math.isnan(value)
        case "is_finite":
            return math.isfinite(value)
        case "max" | "min" if numbers:
            return max(value, numbers[0]) if name == "max" else min(value, numbers[0])
        case "powi" | "powf" if numbers and abs(numbers[0]) < 64:
            return float(value) ** numbers[0]
        case "clamp" if len(numbers) == 2:
            return min(max(value, numbers[0]), numbers[1])
        case "is_multiple_of" if numbers and numbers[0]:
            return value % numbers[0] == 0
        case _:
            return MISSING


def _text(value: str, name: str, args: list[Value]) -> Value:
    match name:
        case "len":
            return len(value.encode())
        case "is_empty":
            return not value
        case "starts_with" | "ends_with" | "contains" if args and isinstance(args[0], str):
            found = {"starts_with": value.startswith, "ends_with": value.endswith}.get(name)
            return found(args[0]) if found is not None else args[0] in value
        case "chars" | "bytes" | "lines" | "split_whitespace":
            parts = value.split() if name == "split_whitespace" else list(value[:_PARTS])
            return Stream(iter(parts[:_PARTS]))
        case "trim" | "to_lowercase" | "to_uppercase":
            changed = {"trim": value.strip, "to_lowercase": value.lower, "to_uppercase": value.upper}
            return changed[name]()
        case "as_bytes":
            return Vec(list(value.encode()[:_PARTS]))
        case _:
            return MISSING
