"""`if`, `match` and `if let`: each way with a state of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gradguard.infer.run import Ended
from gradguard.infer.rust import lifetimes, places, slots
from gradguard.infer.rust.patterns import match
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.values import Counted, Presence, Slot, Variant
from gradguard.infer.state import State
from gradguard.infer.truths import as_test, assume, truth
from gradguard.infer.values import Alternatives, Literal, Tensor
from gradguard.ir import nodes as ir

Way = tuple[State, Callable[[State], Any]]


def either_way(frame: RustFrame, state: State, ways: Sequence[Way]) -> Any:
    """The value of the ways taken, each run on its own state; `state` becomes what covers those that go on.

    Raises Ended where none does.
    """
    session = frame.session
    cell = session.run.fresh()
    joined: State | None = None
    guards: set[int] = set()
    values: list[Any] = []
    for inner, way in ways:
        try:
            value = way(inner)
        except Ended:
            continue
        if isinstance(value, Variant) and value.name == "Err" and len(ways) > 1 and values:
            # A result is taken for its Ok where there is one.
            value = values[-1]
        elif values and isinstance(values[-1], Variant) and values[-1].name == "Err":
            assert joined is not None
            joined.write(cell, "value", value)
        values.append(value)
        guards |= lifetimes.held_by(session, inner, value)
        inner.allocate(cell, {"value": value})
        joined = lifetimes.join_states(session, joined, inner)
    if joined is None:
        raise Ended
    state.become(joined)
    value = state.resolve(state.read(cell, "value"))
    state.drop(cell, "value")
    lifetimes.lose(session, state, guards - lifetimes.held_by(session, state, value))
    return value


def split(frame: RustFrame, state: State, value: Alternatives, then: Callable[[State, Any], Any]) -> Any:
    """What `then` gives for each thing that a value can be."""
    ways: list[Way] = []
    for holds, one in ((True, value.then), (False, value.other)):
        inner = state.fork()
        inner.facts[value.key] = holds
        lifetimes.settle(frame.session, inner)
        ways.append((inner, _applied(then, one)))
    return either_way(frame, state, ways)


def giving(value: Any) -> Callable[[State], Any]:
    """The way that has its value already."""
    return lambda state: value


def _applied(then: Callable[[State, Any], Any], one: Any) -> Callable[[State], Any]:
    return lambda state: then(state, state.resolve(one))


def evaluate_choice(frame: RustFrame, state: State, expr: ir.Choice) -> Any:
    """`if test { then } else { other }`."""
    from gradguard.infer.rust.expressions import look

    lifetimes.begin(frame, expr.at)
    since = len(frame.exits)
    try:
        test = look(frame, state, expr.test)
    except Ended:
        lifetimes.finish(frame, None, None, since)
        raise
    lifetimes.finish(frame, state, None, since)
    return _choose(frame, state, expr, test)


def _choose(frame: RustFrame, state: State, expr: ir.Choice, test: Any) -> Any:
    test = state.resolve(test)
    if isinstance(test, Alternatives):
        return split(frame, state, test, lambda s, one: _choose(frame, s, expr, one))
    _note_test(frame, test, expr)
    known = truth(state, test) if not isinstance(test, Presence | Counted | Variant) else None
    ways: list[Way] = []
    for wanted, branch in ((True, expr.then), (False, expr.other)):
        if known is (not wanted):
            continue
        inner = state.fork()
        if known is None:
            assume(inner, as_test(inner, test), wanted)
            lifetimes.settle(frame.session, inner)
        ways.append((inner, _branch(frame, branch)))
    return either_way(frame, state, ways)


def _branch(frame: RustFrame, expr: ir.Expr) -> Callable[[State], Any]:
    from gradguard.infer.rust.expressions import evaluate

    return lambda state: evaluate(frame, state, expr)


def _note_test(frame: RustFrame, test: Any, expr: ir.Choice) -> None:
    if isinstance(test, Counted):
        frame.watch.counted = True
    if not isinstance(test, Presence):
        return
    then: ir.Body = (ir.Evaluate(expr.then, expr.at),)
    other: ir.Body = (ir.Evaluate(expr.other, expr.at),)
    present, absent = (then, other) if test.positive else (other, then)
    if not test.positive and _leaves(then):
        # The rest of the block is what runs where the gradient is there.
        if slots.is_silent(then):
            slots.skipped(frame, test.slot, frame.site(expr.at))
        else:
            slots.opened(frame, test.slot, loud=True)
        return
    slots.judge(frame, test.slot, [present], [absent], frame.site(expr.at))


def _leaves(body: ir.Body) -> bool:
    """Whether a block ends in a jump."""
    match body:
        case (ir.Evaluate(value=ir.Scope(body=(*_, ir.Continue() | ir.Break() | ir.Return()))),):
            return True
        case (ir.Evaluate(value=ir.Scope(value=ir.Call(func=ir.Name(id=name)))),):
            return name in ("panic!", "bail!", "unreachable!", "todo!")
        case (ir.Evaluate(value=ir.Scope(body=(*_, ir.Evaluate(value=ir.Call(func=ir.Name(id=name)))))),):
            return name in ("panic!", "bail!", "unreachable!", "todo!")
        case _:
            return False


def evaluate_branches(frame: RustFrame, state: State, expr: ir.Branches) -> Any:
    """`match subject { .. }`."""
    from gradguard.infer.rust.expressions import look

    subject = look(frame, state, expr.subject)
    if isinstance(subject, Slot):
        subject = slots.as_option(subject, expr)
        slots.judge_branches(frame, subject, expr)
    return _match(frame, state, expr, subject)


def _match(frame: RustFrame, state: State, expr: ir.Branches, subject: Any) -> Any:
    subject = state.resolve(subject)
    if isinstance(subject, Alternatives):
        return split(frame, state, subject, lambda s, one: _match(frame, s, expr, one))
    ways: list[Way] = []
    scopes = frame.scopes
    for case in expr.cases:
        inner = state.fork()
        scope = frame.run.fresh()
        inner.allocate(scope, {})
        frame.scopes = (*scopes, scope)
        fits = match(frame, inner, case.test, subject) if case.test is not None else True
        if fits is not False and places.is_place(expr.subject):
            frame.scopes = scopes
            places.take(frame, inner, expr.subject, lifetimes.held_in(frame.session, inner, scope))
        frame.scopes = scopes
        if fits is False:
            continue
        if case.guard is not None:
            fits = _guarded(frame, inner, case.guard, scope) and (fits or None)
            if fits is False:
                continue
        ways.append((inner, _arm(frame, case, scope)))
        if fits is True:
            break
    return either_way(frame, state, ways)


def _guarded(frame: RustFrame, state: State, guard: ir.Expr, scope: int) -> bool | None:
    from gradguard.infer.rust.expressions import look

    saved = frame.scopes
    frame.scopes = (*saved, scope)
    try:
        test = look(frame, state, guard)
        known = truth(state, test) if isinstance(test, Literal) else None
        if known is None and not isinstance(test, Presence | Counted | Tensor):
            assume(state, as_test(state, test), True)
        return known
    finally:
        frame.scopes = saved


def _arm(frame: RustFrame, case: ir.Case, scope: int) -> Callable[[State], Any]:
    from gradguard.infer.rust.blocks import run_in_scope

    def run(state: State) -> Any:
        return run_in_scope(frame, state, scope, case.body)

    return run
