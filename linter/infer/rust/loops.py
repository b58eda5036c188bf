"""Loops."""

from __future__ import annotations

from typing import Any

from gradguard.infer.describe import describe
from gradguard.infer.frames import Exit
from gradguard.infer.run import Ended
from gradguard.infer.rust import branches, lifetimes, places, slots
from gradguard.infer.rust.blocks import END, execute
from gradguard.infer.rust.expressions import evaluate, look
from gradguard.infer.rust.patterns import match
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.streams import forced
from gradguard.infer.rust.values import Slot, Variant
from gradguard.infer.state import State
from gradguard.infer.truths import as_test, assume, truth
from gradguard.infer.values import Literal, Tensor, Unknown
from gradguard.ir import nodes as ir

ROUNDS = 2
APART = 3
"""How many states are kept apart from one turn of a loop to the next."""


def _round(frame: RustFrame, state: State, body: ir.Body, label: str) -> tuple[list[State], list[Exit]]:
    """One turn of a loop: the states that go on to the next, and the ways that leave it.

    A turn that was cut short by `continue` is kept apart from a whole one, as long as they are few.
    """
    since = len(frame.exits)
    frame.session.loops += 1
    ends = [state]
    try:
        execute(frame, state, (*body, END))
    except Ended:
        ends = []
    finally:
        frame.session.loops -= 1
    left: list[Exit] = []
    mine = frame.exits[since:]
    del frame.exits[since:]
    for one in mine:
        if one.kind == "continue" and one.name in ("", label):
            ends.append(one.state)
        elif one.kind == "break" and one.name in ("", label):
            left.append(one)
        else:
            frame.exits.append(one)
    return ends, left


def _joined(frame: RustFrame, left: State | None, broken: list[Exit]) -> State | None:
    for one in broken:
        left = lifetimes.join_states(frame.session, left, one.state)
    return left


def _few(frame: RustFrame, states: list[State]) -> list[State]:
    """The same states, joined where they are many or the loop is an inner one."""
    if len(states) <= (APART if not frame.session.loops else 1):
        return states
    joined = _all_of(frame, states)
    return [joined] if joined is not None else []


def _all_of(frame: RustFrame, states: list[State]) -> State | None:
    joined: State | None = None
    for one in states:
        joined = lifetimes.join_states(frame.session, joined, one)
    return joined


def run_for(frame: RustFrame, state: State, statement: ir.For) -> None:
    """`for`: once for each known element, or some rounds with one that stands for all."""
    source = evaluate(frame, state, statement.iter)
    site = frame.site(statement.at)
    if isinstance(source, Slot):
        slots.skipped(frame, source, site)
    items, exact = forced(frame, state, source, describe(statement.iter))
    before = state.fork()
    current = [state.fork()]
    left: State | None = None
    for item in list(items) if exact else [*items, *items][:ROUNDS]:
        going: list[State] = []
        for one in current:
            ends, broken = _turn(frame, one, statement, item)
            going.extend(ends)
            left = _joined(frame, left, broken)
        current = _few(frame, going)
    _after_loop(frame, state, before, _all_of(frame, current), left, maybe_skipped=not exact)


def _turn(frame: RustFrame, state: State, statement: ir.For, item: Any) -> tuple[list[State], list[Exit]]:
    """One turn of a `for`: its names live as long as the turn."""
    scope = frame.run.fresh()
    lifetimes.enter_scope(frame, state, scope)
    saved, since = frame.scopes, len(frame.exits)
    frame.scopes = (*saved, scope)
    try:
        match(frame, state, statement.target, item)
        ends, broken = _round(frame, state, statement.body, statement.label)
    finally:
        frame.scopes = saved
        if scope in frame.session.live:
            frame.session.live.remove(scope)
    for one in ends:
        lifetimes.drop_scope(frame.session, one, scope)
    for way in (*broken, *frame.exits[since:]):
        lifetimes.drop_scope(frame.session, way.state, scope, way.value)
    return ends, broken


def run_while(frame: RustFrame, state: State, statement: ir.While) -> None:
    """`while` and `loop`."""
    endless = isinstance(statement.test, ir.Const) and statement.test.value is True
    before = state.fork()
    current = [state.fork()]
    left: State | None = None
    for _ in range(ROUNDS):
        going: list[State] = []
        for one in current:
            test = look(frame, one, statement.test)
            known = truth(one, test) if isinstance(test, Literal | Unknown) else None
            if known is not True:
                skipped = one.fork()
                assume(skipped, as_test(skipped, test), False)
                left = lifetimes.join_states(frame.session, left, skipped)
            if known is not False:
                ends, broken = _round(frame, one, statement.body, statement.label)
                going.extend(ends)
                left = _joined(frame, left, broken)
        current = _few(frame, going)
    end = None if endless else _all_of(frame, current)
    _after_loop(frame, state, before, end, left, maybe_skipped=False)


def evaluate_loop(frame: RustFrame, state: State, expr: ir.Loop) -> Any:
    """`loop` as a value: what its breaks give. Raises Ended where there is none."""
    current, left = [state.fork()], list[Exit]()
    for _ in range(ROUNDS):
        going: list[State] = []
        for one in current:
            ends, broken = _round(frame, one, expr.body, expr.label)
            going.extend(ends)
            left.extend(broken)
        current = _few(frame, going)
    return branches.either_way(frame, state, [(one.state, branches.giving(one.value)) for one in left])


def _after_loop(
    frame: RustFrame,
    state: State,
    before: State,
    current: State | None,
    left: State | None,
    *,
    maybe_skipped: bool,
) -> None:
    """`state` becomes what holds behind a loop. A name without a value before has that of the last turn."""
    end = lifetimes.join_states(frame.session, current, left)
    if end is None and not maybe_skipped:
        raise Ended
    if maybe_skipped:
        late = end.fork() if end is not None else None
        end = lifetimes.join_states(frame.session, before.fork(), end)
        assert end is not None
        for scope in frame.session.live if late is not None else ():
            for name, value in before.fields(scope).items():
                later = late.read(scope, name) if late is not None else None
                if places.is_start(value) and isinstance(later, Tensor | Variant):
                    end.write(scope, name, later)
    assert end is not None
    state.become(end)
