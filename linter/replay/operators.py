"""Operators on what is there: the framework's own, Python's on plain values, and made-up results else."""

from __future__ import annotations

import operator
from collections.abc import Callable

from gradguard.replay.fences import are_too_large, check_operation, tame
from gradguard.replay.messages import is_gradient_error
from gradguard.replay.mixtures import mixture, surrogate
from gradguard.replay.session import Session
from gradguard.replay.value import Value
from gradguard.replay.wild import Wild

_BINARY: dict[str, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "@": operator.matmul,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
    "<<": operator.lshift,
    ">>": operator.rshift,
}
_IN_PLACE: dict[str, Callable[[Value, Value], Value]] = {
    "+": operator.iadd,
    "-": operator.isub,
    "*": operator.imul,
    "/": operator.itruediv,
    "//": operator.ifloordiv,
    "%": operator.imod,
    "**": operator.ipow,
    "@": operator.imatmul,
    "&": operator.iand,
    "|": operator.ior,
    "^": operator.ixor,
    "<<": operator.ilshift,
    ">>": operator.irshift,
}
_NAMES = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "div", "%": "sub", "**": "pow", "@": "matmul"}
_UNARY: dict[str, Callable[[Value], Value]] = {
    "neg": operator.neg,
    "pos": operator.pos,
    "invert": operator.invert,
}
_COMPARE: dict[str, Callable[[Value, Value], Value]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": operator.is_,
    "is-not": operator.is_not,
    "in": lambda left, right: left in right,
    "not-in": lambda left, right: left not in right,
}
_ELEMENTWISE = frozenset(("==", "!=", "<", "<=", ">", ">="))
_OPPOSITES = {"!=": "==", "is-not": "is", "not-in": "in"}


def binary(session: Session, op: str, left: Value, right: Value, in_place: bool = False) -> Value:
    """`left op right`, or `left op= right`."""
    if isinstance(left, Wild) or isinstance(right, Wild):
        found = _with_unknown(session, op, left, right, in_place)
        if not isinstance(found, tuple):
            return found
        left, right = found
    check_operation(op, left, right)
    try:
        if are_too_large(session, (left, right)) and left.shape != right.shape:
            raise ValueError
        return tame(session, (_IN_PLACE if in_place else _BINARY)[op](left, right))
    except Exception as error:
        tensors = session.backend.is_tensor(left) or session.backend.is_tensor(right)
        if not tensors or left is None or right is None or is_gradient_error(error):
            raise
        name = _NAMES.get(op, "add")
        if in_place and session.backend.is_tensor(left):
            return surrogate(session, f"{name}_", (left, right), {})
        return surrogate(session, name, (left, right), {})


def _with_unknown(session: Session, op: str, left: Value, right: Value, in_place: bool) -> Value:
    """The operands with tensors in the place of unknown ones, or the result where that stays unknown."""
    is_tensor = session.backend.is_tensor
    known = [one for one in (left, right) if not isinstance(one, Wild)]
    sources = [one for one in (left, right) if isinstance(one, Wild) and one.source is not None]
    data = [one for one in (left, right) if isinstance(one, Wild) and one.role == "data"]
    if any(is_tensor(one) for one in known) or sources or data:
        operands = tuple(_as_operand(session, one) for one in (left, right))
        if in_place and isinstance(left, Wild) and any(o.requires_grad for o in operands if is_tensor(o)):
            # Whether it was a tensor or a number that is added to, the result is a new value.
            return mixture(session, [one for one in operands if is_tensor(one)])
        return operands
    if any(isinstance(one, list | tuple | str | dict) for one in known):
        return next(one for one in known if isinstance(one, list | tuple | str | dict))
    role = "number" if any(isinstance(one, Wild) and one.role == "number" for one in (left, right)) else ""
    return Wild(session, "", role)


def _as_operand(session: Session, value: Value) -> Value:
    if not isinstance(value, Wild):
        return value
    return 0.5 if value.role == "number" and value.source is None else value.tensor()


def unary(session: Session, op: str, value: Value) -> Value:
    """`-value` and its like."""
    if isinstance(value, Wild):
        if value.source is None and value.role != "data":
            return value
        value = value.tensor()
    try:
        return _UNARY[op](value)
    except Exception as error:
        if not session.backend.is_tensor(value) or is_gradient_error(error):
            raise
        return surrogate(session, op, (value,), {})


def compare(session: Session, op: str, left: Value, right: Value) -> Value:
    """`left op right` of a comparison: an unknown truth where an operand is unknown."""
    if op in ("is", "is-not") and (left is None or right is None):
        other = right if left is None else left
        if not isinstance(other, Wild) or other.source is not None:
            return _COMPARE[op](left, right)
    if isinstance(left, Wild) or isinstance(right, Wild):
        if op not in _ELEMENTWISE or not _are_tensors(session, left, right):
            return _unknown_truth(session, op, left, right)
        left, right = _as_operand(session, left), _as_operand(session, right)
    try:
        return _COMPARE[op](left, right)
    except Exception as error:
        if is_gradient_error(error) or not (
            session.backend.is_tensor(left) or session.backend.is_tensor(right)
        ):
            raise
        return Wild(session, "truth", "truth")


def _are_tensors(session: Session, left: Value, right: Value) -> bool:
    """Whether a comparison is between tensors, or a tensor and a number."""
    both = (left, right)
    if not all(session.tensor_of(one) is not None or isinstance(one, int | float | Wild) for one in both):
        return False
    return any(session.tensor_of(one) is not None or getattr(one, "role", "") == "data" for one in both)


def _unknown_truth(session: Session, op: str, left: Value, right: Value) -> Value:
    """The same question has the same answer each time; its opposite has the opposite one."""
    owner, other = (left, right) if isinstance(left, Wild) else (right, left)
    try:
        hash(other)
        key = ("truth", _OPPOSITES.get(op, op), other if not isinstance(other, Wild) else id(other))
    except TypeError:
        key = ("truth", _OPPOSITES.get(op, op), "")
    truth = owner.entries.setdefault(key, Wild(session, "truth", "truth"))
    if op not in _OPPOSITES:
        return truth
    return owner.entries.setdefault(("not", key), Opposite(session, truth))


class Opposite(Wild):
    """The negation of an unknown truth."""

    __slots__ = ("of",)

    def __init__(self, session: Session, of: Wild) -> None:
        """Negate `of`."""
        super().__init__(session, "truth", "truth")
        self.of = of

    def __bool__(self) -> bool:
        """The opposite of what the other is, or is now decided to be."""
        if self.of.truth is None:
            self.of.truth = not self.session.policy.truth
            self.session.trace.chose = True
        return not self.of.truth
