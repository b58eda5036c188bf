"""Operators on numbers, text and tensors."""

from __future__ import annotations

from gradguard.replay.rust import tensors
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import Panic, Struct, Variant, Vec, Wild, opened
from gradguard.replay.value import Value

_LARGEST = 1 << 128
_LONGEST = 4_000


def operation(frame: Frame, op: str, given: list[Value]) -> Value:
    """`a op b` or `op a`."""
    values = [opened(value) for value in given]
    if any(tensors.operands_in(value) for value in values):
        if op in ("neg", "-") and len(values) == 1:
            return tensors.operate(frame.session, "neg", values)
        return tensors.operate(frame.session, op, values)
    if len(values) == 1:
        (only,) = values
        return -only if op == "neg" and isinstance(only, int | float) else Wild("sum")
    left, right = values[:2]
    if isinstance(left, str) and op == "+" and isinstance(right, str):
        return (left + right)[:_LONGEST]
    if isinstance(left, bool) and isinstance(right, bool) and op in ("&", "|", "^"):
        return {"&": left and right, "|": left or right, "^": left is not right}[op]
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return Wild("sum")
    return _number(op, left, right)


def _number(op: str, left: float, right: float) -> Value:
    try:
        found = _computed(op, left, right)
    except (OverflowError, ValueError, TypeError):
        return Wild("sum")
    if isinstance(found, int) and abs(found) > _LARGEST:
        return Wild("sum")
    return found


def _computed(op: str, left: float, right: float) -> Value:
    whole = isinstance(left, int) and isinstance(right, int)
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" | "%" if right == 0:
            if whole:
                raise Panic("attempt to divide by zero")
            return float("nan") if left == 0 or op == "%" else float("inf")
        case "/":
            return int(left / right) if whole and abs(left) < 1 << 50 else left / right
        case "%":
            return left - right * int(left / right) if abs(left / right) < 1 << 50 else Wild("sum")
        case "<<" | ">>" if whole and 0 <= right < 64 and abs(left) < _LARGEST:
            return int(left) << int(right) if op == "<<" else int(left) >> int(right)
        case "&" | "|" | "^" if whole:
            a, b = int(left), int(right)
            return a & b if op == "&" else a | b if op == "|" else a ^ b
        case _:
            return Wild("sum")


def compare(op: str, left: Value, right: Value) -> Value:
    """`left op right`; unknown where it cannot be told."""
    if op in ("==", "!="):
        same = equal(left, right)
        return _unknown_equality(op, left, right) if same is None else same is (op == "==")
    kinds = (int | float, str)
    if not any(isinstance(left, kind) and isinstance(right, kind) for kind in kinds):
        return Wild("test")
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]


def _unknown_equality(op: str, left: Value, right: Value) -> Value:
    """A test that keeps its answer: the same value compared with the same constant."""
    if not isinstance(left, Wild):
        left, right = right, left
    key = key_of(right)
    if not isinstance(left, Wild) or key is None:
        return Wild("test")
    test = Wild("test", fields={"<of>": left, "<key>": key})
    return test if op == "==" else Wild("test", fields={"<not>": test})


def key_of(value: Value) -> Value:
    """A constant or a variant without contents as what stands for it; None for anything else."""
    if isinstance(value, Variant) and not value.items:
        return f"::{value.name}"
    return value if isinstance(value, int | float | str) else None


def equal(left: Value, right: Value) -> bool | None:
    """Whether two values are equal, None where it is unknown."""
    left, right = opened(left), opened(right)
    if isinstance(left, Variant) and isinstance(right, Variant):
        if left.name != right.name or len(left.items) != len(right.items):
            return False
        return _all_equal(list(left.items), list(right.items))
    if isinstance(left, Vec) and isinstance(right, Vec):
        return False if len(left.items) != len(right.items) else _all_equal(left.items, right.items)
    if isinstance(left, tuple) and isinstance(right, tuple) and len(left) == len(right):
        return _all_equal(list(left), list(right))
    if isinstance(left, int | float | str) and isinstance(right, int | float | str):
        return bool(left == right)
    if isinstance(left, Struct) and left is right:
        return True
    return True if left is None and right is None else None


def _all_equal(left: list[Value], right: list[Value]) -> bool | None:
    found = [equal(a, b) for a, b in zip(left, right, strict=True)]
    return False if False in found else None if None in found else True
