"""Evaluating expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gradguard.infer import iteration
from gradguard.infer.calls import evaluate_call
from gradguard.infer.events import AwaitUnderGuard, YieldUnderGuard
from gradguard.infer.frames import Frame, Yielded
from gradguard.infer.joins import either, join, leaves_of, merge
from gradguard.infer.modes import GuardSite
from gradguard.infer.objects import get_attribute, get_item
from gradguard.infer.scopes import assign, lookup
from gradguard.infer.state import State
from gradguard.infer.tensors import Operation, cut, operate, sum_of, walk
from gradguard.infer.truths import as_test, assume, compare, is_setting, negate, truth
from gradguard.infer.values import (
    NONE,
    Both,
    Closure,
    Dict,
    Guard,
    Lazy,
    List,
    Literal,
    Parameters,
    Tensor,
    Test,
    Track,
    Tuple,
    Unknown,
)
from gradguard.ir import nodes as ir

SCALING = frozenset({"*", "/"})
COMPARISONS = frozenset({"==", "!=", "<", "<=", ">", ">="})


def evaluate(frame: Frame, state: State, expr: ir.Expr | None) -> Any:
    """The abstract value of an expression; `state` is changed by what the expression does."""
    if expr is None:
        return NONE
    return _EVALUATORS[type(expr)](frame, state, expr)


def _name(frame: Frame, state: State, expr: ir.Name) -> Any:
    return state.resolve(lookup(frame, state, expr.id))


def _const(frame: Frame, state: State, expr: ir.Const) -> Any:
    return Literal(expr.value)


def _attr(frame: Frame, state: State, expr: ir.Attr) -> Any:
    base = evaluate(frame, state, expr.base)
    return state.resolve(get_attribute(frame, state, base, expr.name, expr))


def _item(frame: Frame, state: State, expr: ir.Item) -> Any:
    base = evaluate(frame, state, expr.base)
    index = evaluate(frame, state, expr.index)
    return state.resolve(get_item(frame, state, base, index, expr))


def _slice(frame: Frame, state: State, expr: ir.Slice) -> Any:
    for part in expr.parts:
        evaluate(frame, state, part)
    return frame.run.unknown("slice", "slice")


def _op(frame: Frame, state: State, expr: ir.Op) -> Any:
    values = [evaluate(frame, state, operand) for operand in expr.operands]
    site = frame.site(expr.at)
    if len(values) == 2:
        joined = _joined_sequences(frame, state, expr.op, values[0], values[1])
        if joined is not None:
            return joined
    return arithmetic(frame, state, expr.op, values, site)


def arithmetic(frame: Frame, state: State, op: str, values: list[Any], site: Any) -> Any:
    """The value of an operator on values that may be tensors."""
    tensors = [v for value in values for v in walk(state, value)]
    if not any(isinstance(v, Tensor) for v in tensors):
        if all(isinstance(v, Literal) for v in values):
            return _fold(frame, op, [v.value for v in values])
        if any(isinstance(v, Unknown) for v in tensors):
            return _unknown_result(frame, state, op, site, values)
        return frame.run.unknown()
    if op in ("+", "-"):
        return sum_of(frame, state, site, values[0], values[-1], op)
    if op in SCALING and len(values) == 2:
        scaled = _scaled(frame, state, site, values, op)
        if scaled is not None:
            return scaled
    if op == "neg":
        return operate(frame, state, site, values, Operation("neg", linear=True))
    if op in ("&", "|", "invert", "^", "<<", ">>"):
        return cut(frame, state, site, values[0], op, integer=True)
    return operate(frame, state, site, values, Operation(op, saves=op in ("*", "/", "**", "@")))


def _unknown_result(frame: Frame, state: State, op: str, site: Any, values: list[Any]) -> Any:
    if state.mode.records is not False or not any(_may_be_tensor(state.resolve(v)) for v in values):
        return frame.run.unknown("", "number" if all(_is_number(state, v) for v in values) else "")
    made = operate(frame, state, site, values, Operation(op, linear=op in ("+", "-", "*", "/")))
    return (
        replace(made, assumed=("its operands are tensors",), opaque=True)
        if isinstance(made, Tensor)
        else made
    )


def _may_be_tensor(value: Any) -> bool:
    return isinstance(value, Unknown) and value.role not in ("number", "setting", "range", "slice")


def _scaled(frame: Frame, state: State, site: Any, values: list[Any], op: str) -> Any:
    """Scaling by a number keeps a sum a sum."""
    numeric = [_is_number(state, v) for v in values]
    if op == "/" and not numeric[1]:
        return None
    if numeric[0] or numeric[1]:
        return operate(frame, state, site, values, Operation(op, linear=True))
    return None


def _is_number(state: State, value: Any) -> bool:
    value = state.resolve(value)
    if isinstance(value, Literal):
        return True
    if isinstance(value, Tensor):
        return value.number or (value.track is Track.DATA and not value.opaque and value.size == 1)
    return isinstance(value, Unknown) and value.role in ("number", "setting")


def _fold(frame: Frame, op: str, constants: list[Any]) -> Any:
    try:
        match op, constants:
            case "+", [a, b]:
                return Literal(a + b)
            case "-", [a, b]:
                return Literal(a - b)
            case "*", [a, b] if not isinstance(a, str) and not isinstance(b, str):
                return Literal(a * b)
            case "%", [a, b] if not isinstance(a, str):
                return Literal(a % b)
            case "neg", [a]:
                return Literal(-a)
    except (TypeError, ArithmeticError, ValueError):
        pass
    return frame.run.unknown("", "number")


def _joined_sequences(frame: Frame, state: State, op: str, left: Any, right: Any) -> Any:
    if op != "+":
        return None
    if isinstance(left, Tuple) and isinstance(right, Tuple):
        return Tuple(left.items + right.items)
    if isinstance(left, List) and isinstance(right, List | Tuple):
        return iteration.extended(frame, state, left, right)
    if isinstance(left, List | Parameters) or isinstance(right, List | Parameters):
        return iteration.gathered(frame, state, (left, right))
    return None


def _compare(frame: Frame, state: State, expr: ir.Compare) -> Any:
    left = evaluate(frame, state, expr.left)
    right = evaluate(frame, state, expr.right)
    decided = compare(state, expr.op, left, right, frame.run.fresh)
    if decided is not None:
        return decided
    if expr.op in COMPARISONS and any(isinstance(v, Tensor) for v in (left, right)):
        main = left if isinstance(left, Tensor) else right
        other = right if main is left else left
        if isinstance(other, Tensor) and other.would and not main.would:
            main = other
        return cut(frame, state, frame.site(expr.at), main, expr.op, integer=True)
    return frame.run.unknown("", "number")


def _logic(frame: Frame, state: State, expr: ir.Logic) -> Any:
    if expr.op == "not":
        value = evaluate(frame, state, expr.operands[0])
        test = as_test(state, value)
        negated = negate(test) if test is not None else None
        return negated if negated is not None else frame.run.unknown("", "number")
    values: list[Any] = []
    stops = expr.op == "or"
    local = state
    for operand in expr.operands:
        value = evaluate(frame, local, operand)
        known = truth(local, value)
        if known is stops:
            values.append(value)
            break
        if known is None:
            values.append(value)
    if not values:
        return value
    if len(values) == 1:
        return values[0]
    tests = [as_test(state, value) for value in values]
    if all(test is not None for test in tests) and _are_conditions(values):
        return Both(tuple(tests), stops)
    if stops and len(values) == 2 and isinstance(tests[0], Test):
        return either(values[0], values[1], (tests[0].key, tests[0].truth))
    return merge(values[0], values[-1]) if stops else frame.run.unknown()


def _are_conditions(values: list[Any]) -> bool:
    return all(
        isinstance(leaf, Test | Both | Literal | Unknown) for value in values for leaf in leaves_of(value)
    )


def _choice(frame: Frame, state: State, expr: ir.Choice) -> Any:
    test = evaluate(frame, state, expr.test)
    known = truth(state, test)
    if known is not None:
        settles = is_setting(frame, expr.test)
        frame.settled += settles
        value = evaluate(frame, state, expr.then if known else expr.other)
        frame.settled -= settles
        if settles and isinstance(value, Guard):
            return replace(value, site=replace(value.site, varies=True))
        return value
    condition = as_test(state, test)
    then_state = state.fork()
    assume(then_state, condition, True)
    other_state = state.fork()
    assume(other_state, condition, False)
    then = evaluate(frame, then_state, expr.then)
    other = evaluate(frame, other_state, expr.other)
    joined = join(then_state, other_state)
    assert joined is not None
    state.become(joined)
    if isinstance(condition, Test):
        return either(then, other, (condition.key, condition.truth))
    return merge(then, other)


def _sequence(frame: Frame, state: State, expr: ir.Sequence) -> Any:
    items: list[Any] = []
    rest: Any = None
    for item in expr.items:
        if isinstance(item, ir.Star):
            value = evaluate(frame, state, item.value)
            if isinstance(value, Parameters):
                items.append(iteration.element(frame, state, value, item.at))
                continue
            known = iteration.known_items(frame, state, value)
            if known is not None:
                items.extend(known)
            else:
                rest = iteration.element(frame, state, value, item.at)
        else:
            items.append(evaluate(frame, state, item))
    if expr.kind == "tuple" and rest is None:
        return Tuple(tuple(items))
    return iteration.new_list(frame, state, items, rest)


def _mapping(frame: Frame, state: State, expr: ir.Mapping) -> Any:
    identity = frame.run.fresh()
    fields: dict[Any, Any] = {}
    for key, item in expr.items:
        value = evaluate(frame, state, item)
        if key is None:
            other = state.resolve(value)
            if isinstance(other, Dict):
                fields.update(state.fields(other.id))
            else:
                fields["#rest"] = frame.run.unknown()
            continue
        name = state.resolve(evaluate(frame, state, key))
        if isinstance(name, Literal):
            fields["key", name.value] = value
        else:
            fields["#rest"] = value if "#rest" not in fields else merge(fields["#rest"], value)
    state.allocate(identity, fields)
    return Dict(identity)


def _comprehension(frame: Frame, state: State, expr: ir.Comprehension) -> Any:
    if expr.kind == "generator":
        first = evaluate(frame, state, expr.clauses[0].iter)
        return Lazy(
            "generator expression",
            frame.site(expr.at),
            (expr, frame.scopes, first),
            state.mode.guard if state.mode.records is False else None,
            frame.depth,
        )
    return run_comprehension(frame, state, expr, None)


def run_comprehension(frame: Frame, state: State, expr: ir.Comprehension, first: Any) -> Any:
    """The list (or dict) that a comprehension builds, in the present mode."""
    scope = frame.run.fresh()
    state.allocate(scope)
    inner = replace(frame, scopes=(*frame.scopes, scope), exits=frame.exits, yields=frame.yields)
    values = iteration.unrolled(
        inner, state, expr.clauses, first, lambda: evaluate(inner, state, expr.element)
    )
    if expr.kind == "dict":
        return _comprehended_dict(frame, state, values)
    if isinstance(values, list):
        return iteration.new_list(frame, state, values, None)
    return iteration.new_list(frame, state, [], values)


def _comprehended_dict(frame: Frame, state: State, values: Any) -> Any:
    identity = frame.run.fresh()
    fields: dict[Any, Any] = {}
    for pair in values if isinstance(values, list) else [values]:
        pair = state.resolve(pair)
        if isinstance(pair, Tuple) and len(pair.items) == 2:
            key, value = state.resolve(pair.items[0]), pair.items[1]
            if isinstance(key, Literal) and isinstance(values, list):
                fields["key", key.value] = value
            else:
                fields["#rest"] = value
    state.allocate(identity, fields)
    return Dict(identity)


def _lambda(frame: Frame, state: State, expr: ir.Lambda) -> Any:
    return Closure(expr.function, frame.module, frame.scopes, kind="lambda", owner=frame.klass)


def _walrus(frame: Frame, state: State, expr: ir.Walrus) -> Any:
    value = evaluate(frame, state, expr.value)
    assign(frame, state, ir.Name(expr.target, expr.at), value, expr.at)
    return value


def _await(frame: Frame, state: State, expr: ir.Await) -> Any:
    value = evaluate(frame, state, expr.value)
    note_await(frame, state, expr.at)
    if isinstance(value, Lazy):
        return iteration.finish_coroutine(frame, state, value)
    return frame.run.unknown() if not isinstance(value, Tensor) else value


def note_await(frame: Frame, state: State, at: int) -> None:
    """Tell of an await while a guard of this very function is open."""
    guard = own_guard(frame, state)
    if guard is not None:
        frame.run.emit(AwaitUnderGuard(guard, frame.site(at), frame.name))


def own_guard(frame: Frame, state: State) -> GuardSite | None:
    """The guard that switched recording off, if a with block (or entered guard) of this function holds it."""
    guard = state.mode.guard
    if state.mode.records is not False or guard is None or guard.depth != frame.depth:
        return None
    own = guard.form in ("with", "entered") and guard.site.module == frame.module and guard in frame.guards
    return guard if own else None


def _yield(frame: Frame, state: State, expr: ir.Yield) -> Any:
    value = evaluate(frame, state, expr.value)
    if expr.delegates:
        value = iteration.element(frame, state, value, expr.at)
    guard = own_guard(frame, state)
    if guard is not None:
        manager = frame.closure is not None and frame.closure.manager
        frame.run.emit(YieldUnderGuard(guard, frame.site(expr.at), frame.name, manager))
    frame.yields.append(Yielded(value, state.fork()))
    return frame.run.unknown()


def _opaque(frame: Frame, state: State, expr: ir.Opaque) -> Any:
    for operand in expr.operands:
        evaluate(frame, state, operand)
    return frame.run.unknown("", "number")


def _star(frame: Frame, state: State, expr: ir.Star) -> Any:
    return evaluate(frame, state, expr.value)


_EVALUATORS: dict[type, Callable[[Frame, State, Any], Any]] = {
    ir.Name: _name,
    ir.Const: _const,
    ir.Attr: _attr,
    ir.Item: _item,
    ir.Slice: _slice,
    ir.Op: _op,
    ir.Compare: _compare,
    ir.Logic: _logic,
    ir.Choice: _choice,
    ir.Sequence: _sequence,
    ir.Mapping: _mapping,
    ir.Comprehension: _comprehension,
    ir.Lambda: _lambda,
    ir.Walrus: _walrus,
    ir.Await: _await,
    ir.Yield: _yield,
    ir.Opaque: _opaque,
    ir.Star: _star,
    ir.Call: evaluate_call,
}
