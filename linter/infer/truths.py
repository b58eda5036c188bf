"""Deciding conditions, and assuming them on a branch."""

from __future__ import annotations

from typing import Any

from gradguard.infer.frames import Frame
from gradguard.infer.modes import When
from gradguard.infer.state import State
from gradguard.infer.values import (
    Alternatives,
    Both,
    Bound,
    Closure,
    Dict,
    Guard,
    Instance,
    Klass,
    Known,
    List,
    Literal,
    Module,
    Parameters,
    Partial,
    Tensor,
    Test,
    Tuple,
    Unknown,
)
from gradguard.ir import nodes as ir

_OBJECTS = (Closure, Klass, Guard, Bound, Module, Partial)


def is_setting(frame: Frame, test: ir.Expr) -> bool:
    """Whether a condition asks for an attribute or a parameter that somebody sets, not whether something is there."""
    match test:
        case ir.Name(id=name):
            closure = frame.closure
            return closure is not None and any(param.name == name for param in closure.function.params)
        case ir.Attr():
            return True
        case ir.Item(base=base):
            return isinstance(base, ir.Name | ir.Attr)
        case ir.Logic(operands=operands):
            return any(is_setting(frame, operand) for operand in operands)
        case ir.Compare(op=op, left=left) if op not in ("is", "is-not"):
            return is_setting(frame, left)
        case _:
            return False


def truth(state: State, value: Any) -> bool | None:
    """Whether a value is true, None where it cannot be told."""
    value = state.resolve(value)
    match value:
        case Literal(value=constant):
            return bool(constant)
        case Tuple(items=items):
            return bool(items)
        case List(id=identity):
            items = state.read(identity, "#items")
            rest = state.read(identity, "#rest")
            if items is not None and items.items:
                return True
            return False if items is not None and rest is None else None
        case Dict(id=identity):
            fields = state.fields(identity)
            if any(isinstance(key, tuple) for key in fields):
                return True
            return False if "#rest" not in fields else None
        case Both(tests=tests, either=either):
            known = [truth(state, test) for test in tests]
            decisive = either
            if decisive in known:
                return decisive
            return None if None in known else not decisive
        case Test(key=key, truth=wanted):
            fact = state.facts.get(key)
            return None if fact is None else fact is wanted
        case Instance(klass=Klass()) | Parameters():
            return None if isinstance(value, Instance) and _may_be_empty(value) else True
        case Unknown(origin=origin):
            return state.facts.get(f"u{origin}")
        case Alternatives(then=then, other=other):
            a, b = truth(state, then), truth(state, other)
            return a if a is b else None
        case Tensor(origin=origin):
            return state.facts.get(f"t{origin}")
        case Known(path="typing.TYPE_CHECKING" | "typing_extensions.TYPE_CHECKING"):
            return False
        case Known(path=path):
            return True if path.startswith("builtins.") else state.facts.get(path)
        case _ if isinstance(value, _OBJECTS):
            return True
    return None


def _may_be_empty(value: Instance) -> bool:
    return any(isinstance(base, Known) for base in value.klass.bases)


def key_of(state: State, value: Any) -> str | None:
    """A stable name for what a value is, for building facts."""
    value = state.resolve(value)
    match value:
        case Literal(value=constant):
            return repr(constant)
        case Unknown(origin=origin):
            return f"u{origin}"
        case Tensor(origin=origin):
            return f"t{origin}"
        case Instance(id=identity):
            return f"i{identity}"
        case Known(path=path):
            return path
        case Test(key=key, truth=wanted):
            return key if wanted else f"not {key}"
        case _:
            return None


def negate(value: Any) -> Any:
    """The opposite of a condition; None where it has no name."""
    match value:
        case Literal(value=constant):
            return Literal(not constant)
        case Test(key=key, truth=wanted):
            return Test(key, not wanted)
        case Both(tests=tests, either=either):
            return _negated(tests, either)
        case Alternatives(key=key, then=then, other=other):
            opposites = negate(then), negate(other)
            return None if None in opposites else Alternatives(key, *opposites)
        case _:
            return None


def _negated(tests: tuple[Any, ...], either: bool) -> Any:
    opposites = tuple(negate(test) for test in tests)
    return None if None in opposites else Both(opposites, not either)


def as_test(state: State, value: Any) -> Any:
    """The condition that `value` is true: a Literal, Test or Both, or Alternatives of which one side is decided;
    None where it has no stable name."""
    value = state.resolve(value)
    known = truth(state, value)
    if known is not None:
        return Literal(known)
    match value:
        case Test() | Both():
            return value
        case Alternatives(key=key, then=then, other=other):
            a, b = truth(state, then), truth(state, other)
            if a is not None and b is not None and a is not b:
                return Test(key, a)
            return value if (a is None) is not (b is None) else None
        case Unknown() | Tensor() | Known():
            name = key_of(state, value)
            return Test(name) if name else None
        case _:
            return None


def as_when(state: State, value: Any) -> When | bool | None:
    """The condition that `value` is true, as a When; a bool where it is decided; None where it has no name."""
    test = as_test(state, value)
    match test:
        case Literal(value=constant):
            return bool(constant)
        case Test(key=key, truth=wanted):
            return When(key, wanted)
        case Both():
            undecided = [t for t in test.tests if truth(state, t) is None]
            if len(undecided) == 1 and isinstance(undecided[0], Test):
                return When(undecided[0].key, undecided[0].truth)
            return None
        case _:
            return None


def assume(state: State, condition: Any, wanted: bool) -> None:
    """Record on this path that `condition` turned out `wanted`."""
    match condition:
        case Test(key=key, truth=positive):
            state.facts[key] = wanted is positive
            for implied, value in _implied(key, wanted is positive):
                state.facts.setdefault(implied, value)
        case Both(tests=tests, either=either) if wanted is not either:
            for test in tests:
                assume(state, test, wanted)
        case Alternatives(key=key, then=then, other=other):
            if truth(state, other) is (not wanted):
                assume(state, Test(key), True)
                assume(state, then, wanted)
            elif truth(state, then) is (not wanted):
                assume(state, Test(key), False)
                assume(state, other, wanted)
        case _:
            return


def _implied(key: str, value: bool) -> list[tuple[str, bool]]:
    """Facts that follow: a value that is None is not true, a true value is not None, `a == 'x'` excludes `a == 'y'`
    only where asked, so nothing is said of that here."""
    if key.endswith(" is None"):
        return [(key.removesuffix(" is None"), False)] if value else []
    if value and " " not in key:
        return [(f"{key} is None", False)]
    return []


def compare(state: State, op: str, left: Any, right: Any, fresh: Any) -> Any:
    """The value of `left op right` for values that are no tensors."""
    left, right = state.resolve(left), state.resolve(right)
    if isinstance(left, Literal) and isinstance(right, Literal):
        decided = _compare_constants(op, left.value, right.value)
        if decided is not None:
            return Literal(decided)
    if op in ("is", "is-not", "==", "!=") and Literal(None) in (left, right):
        other = right if left == Literal(None) else left
        positive = op in ("is", "==")
        if isinstance(other, Alternatives):
            a = compare(state, op, other.then, Literal(None), fresh)
            b = compare(state, op, other.other, Literal(None), fresh)
            if isinstance(a, Literal) and isinstance(b, Literal):
                return a if a == b else Test(other.key, bool(a.value))
            return None
        if isinstance(other, Unknown) or (isinstance(other, Tensor) and other.opaque):
            key = f"{key_of(state, other)} is None"
            if key not in state.facts and state.facts.get(str(key_of(state, other))) is True:
                return Literal(not positive)
            return state.resolve(Test(key, positive))
        return Literal(not positive)
    if op == "in" and isinstance(right, Tuple) and isinstance(left, Literal):
        if all(isinstance(item, Literal) for item in right.items):
            return Literal(left in right.items)
        return None
    if op not in ("is", "is-not") and any(isinstance(v, Tensor) and not v.opaque for v in (left, right)):
        return None
    a, b = key_of(state, left), key_of(state, right)
    if a is None or b is None:
        return None
    positive = op in ("==", "is", "in", "<", ">=")
    name = {"!=": "==", "is-not": "is", "not-in": "in", ">=": ">=", ">": "<="}.get(op, op)
    positive = name == op
    if name in ("==", "is") and a > b:
        a, b = b, a
    key = f"{a} {name} {b}"
    if key in state.facts:
        return Literal(state.facts[key] is positive)
    if name == "==" and _excluded(state, a, b):
        return Literal(not positive)
    return Test(key, positive)


def _excluded(state: State, a: str, b: str) -> bool:
    """Whether another constant is known to be equal to the same value."""
    constant, value = (a, b) if a[:1] in "'\"0123456789" else (b, a)
    for key, held in state.facts.items():
        if held and " == " in key and value in key.split(" == "):
            other = next((part for part in key.split(" == ") if part != value), "")
            if other != constant and other[:1] in "'\"0123456789" and constant[:1] in "'\"0123456789":
                return True
    return False


def _compare_constants(op: str, a: Any, b: Any) -> bool | None:
    try:
        match op:
            case "==":
                return bool(a == b)
            case "!=":
                return bool(a != b)
            case "is":
                return a is b if a is None or b is None or isinstance(a, bool) else bool(a == b)
            case "is-not":
                return a is not b if a is None or b is None or isinstance(a, bool) else bool(a != b)
            case "<":
                return bool(a < b)
            case "<=":
                return bool(a <= b)
            case ">":
                return bool(a > b)
            case ">=":
                return bool(a >= b)
            case "in":
                return bool(a in b)
            case "not-in":
                return bool(a not in b)
    except TypeError:
        return None
    return None
