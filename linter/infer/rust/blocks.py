"""Statements, blocks and loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradguard.infer.describe import describe
from gradguard.infer.frames import Exit
from gradguard.infer.run import Ended
from gradguard.infer.rust import lifetimes, operations, places, slots
from gradguard.infer.rust.expressions import evaluate, look
from gradguard.infer.rust.patterns import match
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.streams import forced
from gradguard.infer.rust.values import ABSENT, Slot, Variant
from gradguard.infer.scopes import named, rebinding
from gradguard.infer.state import State
from gradguard.infer.truths import as_test, assume, truth
from gradguard.infer.values import Closure, Literal, Tensor, Unknown
from gradguard.ir import nodes as ir

ROUNDS = 2
APART = 3


def execute(frame: RustFrame, state: State, body: ir.Body) -> Any:
    """Run statements in order; the value of the last one, if it is an expression. Raises Ended."""
    value: Any = Literal(None)
    for index, statement in enumerate(body):
        since = len(frame.exits)
        lifetimes.begin(frame, getattr(statement, "at", ir.NOWHERE))
        try:
            value, used = _EXECUTORS[type(statement)](frame, state, statement)
        except BaseException:
            lifetimes.finish(frame, None, None, since)
            raise
        is_value = index == len(body) - 1 and isinstance(statement, ir.Evaluate)
        if is_value:
            # The value goes on to whoever asked for the block's.
            done = frame.session.statements.pop()
            lifetimes.own(frame.session, done.made)
            lifetimes.own(frame.session, done.taken, made=False)
        else:
            lifetimes.finish(frame, state, used, since)
    return value


def run_in_scope(
    frame: RustFrame, state: State, scope: int, body: ir.Body, value: ir.Expr | None = None
) -> Any:
    """Run statements with the names of a scope, then drop these."""
    saved, since = frame.scopes, len(frame.exits)
    lifetimes.enter_scope(frame, state, scope)
    frame.scopes = (*saved, scope)
    try:
        found = execute(frame, state, body if value is None else (*body, END))
        if value is not None:
            found = evaluate(frame, state, value)
    except BaseException:
        frame.scopes = saved
        lifetimes.leave_scope(frame, None, scope, None, since)
        raise
    frame.scopes = saved
    lifetimes.leave_scope(frame, state, scope, found, since)
    return found


def evaluate_scope(frame: RustFrame, state: State, expr: ir.Scope) -> Any:
    """`{ body; value }`."""
    if expr.value is None:
        run_in_scope(frame, state, frame.run.fresh(), (*expr.body, END))
        return Literal(None)
    return run_in_scope(frame, state, frame.run.fresh(), expr.body, expr.value)


END = ir.Declare("end", (), ir.NOWHERE)
"""Behind the last statement of a block that has no value: what that statement gives is dropped."""

Done = tuple[Any, Any]
"""The value of a statement, and what of it the statement owns."""


def _evaluate(frame: RustFrame, state: State, statement: ir.Evaluate) -> Done:
    value = evaluate(frame, state, statement.value)
    if isinstance(value, Slot) and value.mapped and not isinstance(statement.value, ir.Propagate):
        slots.skipped(frame, value, frame.site(statement.at))
    return value, value


def _let(frame: RustFrame, state: State, statement: ir.Let) -> Done:
    if statement.value is None:
        return Literal(None), None
    in_place = places.is_place(statement.value)
    value = look(frame, state, statement.value) if in_place else evaluate(frame, state, statement.value)
    if statement.orelse:
        _let_else(frame, state, statement, value)
    scope = frame.scopes[-1]
    before = lifetimes.held_in(frame.session, state, scope)
    source = places.root_of(frame, state, statement.value) if in_place else None
    if isinstance(statement.target, ir.Name):
        value = _renamed(frame, state, statement.target.id, value, statement.at)
    match(frame, state, statement.target, value)
    if source is not None:
        guards = lifetimes.held_in(frame.session, state, scope)
        moved = guards - before if source[0] != scope else _held_beside(frame, state, scope, source[1])
        if source != (scope, bound_name(statement.target)) and not isinstance(statement.target, ir.Op):
            places.strip(frame, state, *source, moved)
        return Literal(None), None
    if not in_place and _extends(statement.value):
        places.keep(frame, state, value)
    return Literal(None), None if in_place else value


def execute_let(frame: RustFrame, state: State, statement: ir.Let) -> State:
    """Run a `let`; raises Ended where the path does not go on."""
    execute(frame, state, (statement, END))
    return state


def _held_beside(frame: RustFrame, state: State, scope: int, name: str) -> set[int]:
    """The guards that the other names of a scope hold."""
    fields = state.fields(scope)
    return {g for key in fields if key != name for g in lifetimes.held_by(frame.session, state, fields[key])}


def bound_name(target: ir.Expr) -> str:
    """The name that a pattern is; "" for any other pattern."""
    return target.id if isinstance(target, ir.Name) else ""


def _extends(expr: ir.Expr) -> bool:
    """Whether the temporary behind a reference lives as long as the block."""
    match expr:
        case ir.Op(op="&", operands=(inner,)):
            return not places.is_place(inner)
        case ir.Sequence(items=items):
            return any(_extends(item) for item in items)
        case _:
            return False


def _let_else(frame: RustFrame, state: State, statement: ir.Let, value: Any) -> None:
    if isinstance(value, Slot):
        kind = slots.arm_kind(statement.target, value.layers)
        if kind == "present" and slots.is_silent(statement.orelse):
            slots.skipped(frame, value, frame.site(statement.at))
        elif kind == "present":
            slots.opened(frame, value, loud=True)
    trial = state.fork()
    scope = frame.run.fresh()
    trial.allocate(scope, {})
    saved = frame.scopes
    frame.scopes = (*saved, scope)
    try:
        fits = match(frame, trial, statement.target, value)
    finally:
        frame.scopes = saved
    if fits is not True:
        other = state if fits is False else state.fork()
        try:
            execute(frame, other, statement.orelse)
        except Ended:
            if fits is False:
                raise


def _renamed(frame: RustFrame, state: State, name: str, value: Any, at: int) -> Any:
    """A tensor that takes over a name: it may be a parameter's, and not wrapped again."""
    if not isinstance(value, Tensor):
        return value
    scope = places.scope_of(frame, state, name)
    before = state.resolve(state.read(scope, name)) if scope is not None else None
    return named(frame, rebinding(frame, before, value, name, at), name, at)


def _assign(frame: RustFrame, state: State, statement: ir.Assign) -> Done:
    target = statement.targets[0]
    if isinstance(target, ir.Name) and target.id == "_" and places.is_place(statement.value):
        return look(frame, state, statement.value), None
    value = evaluate(frame, state, statement.value)
    owned = value if isinstance(target, ir.Name) and target.id == "_" else None
    assign(frame, state, target, value, statement.at)
    return Literal(None), owned


def assign(frame: RustFrame, state: State, target: ir.Expr, value: Any, at: int) -> None:
    """`target = value`: what the place held is dropped when the statement ends."""
    match target:
        case ir.Name(id="_"):
            return
        case ir.Name(id=name):
            value = _renamed(frame, state, name, value, at)
            scope = places.scope_of(frame, state, name)
            scope = frame.scopes[-1] if scope is None else scope
            _dropping(frame, state, state.read(scope, name))
            state.write(scope, name, value)
        case ir.Attr(base=base, name=name):
            operations.stored(frame, value)
            places.set_field(frame, state, look(frame, state, base), name, value)
        case ir.Item(base=base, index=index):
            operations.stored(frame, value)
            places.set_item(frame, state, look(frame, state, base), look(frame, state, index), value)
        case ir.Op(op="*", operands=(inner,)):
            assign(frame, state, inner, value, at)
        case ir.Sequence(items=items):
            found, exact = places.items_of(frame, state, value)
            for number, item in enumerate(items):
                known = exact and len(found) == len(items)
                assign(frame, state, item, found[number] if known else frame.run.unknown(), at)
        case _:
            lifetimes.lose(frame.session, state, lifetimes.held_by(frame.session, state, value))


def _dropping(frame: RustFrame, state: State, value: Any) -> None:
    lifetimes.own(frame.session, lifetimes.held_by(frame.session, state, value), made=False)


def _update(frame: RustFrame, state: State, statement: ir.Update) -> Done:
    before = look(frame, state, statement.target)
    operand = look(frame, state, statement.value)
    value = operations.arithmetic(frame, state, [before, operand], statement.op, frame.site(statement.at))
    if isinstance(statement.target, ir.Name | ir.Op | ir.Attr) and not isinstance(before, Slot):
        assign(frame, state, statement.target, value, statement.at)
    return Literal(None), None


def _return(frame: RustFrame, state: State, statement: ir.Return) -> Done:
    value = evaluate(frame, state, statement.value)
    operations.handed_over(frame, value)
    frame.exits.append(Exit("return", state.fork(), value))
    raise Ended


def _jump(frame: RustFrame, state: State, statement: ir.Break | ir.Continue) -> Done:
    kind = "break" if isinstance(statement, ir.Break) else "continue"
    frame.exits.append(Exit(kind, state.fork()))
    raise Ended


def _define(frame: RustFrame, state: State, statement: Any) -> Done:
    if isinstance(statement, ir.FunctionDef):
        closure = Closure(statement.function, frame.module, (), owner=(frame.space, frame.owner))
        state.write(frame.scopes[-1], statement.function.name, closure)
    elif isinstance(statement, ir.Import | ir.ClassDef):
        frame.session.spaces.define(frame.space, statement)
    return Literal(None), None


def _round(frame: RustFrame, state: State, body: ir.Body) -> tuple[list[State], State | None]:
    """One turn of a loop: the states that go on to the next, and the one that leaves it.

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
    left: State | None = None
    mine = frame.exits[since:]
    del frame.exits[since:]
    for one in mine:
        if one.kind == "continue":
            ends.append(one.state)
        elif one.kind == "break":
            left = lifetimes.join_states(frame.session, left, one.state)
        else:
            frame.exits.append(one)
    return ends, left


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


def _for(frame: RustFrame, state: State, statement: ir.For) -> Done:
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
            left = lifetimes.join_states(frame.session, left, broken)
        current = _few(frame, going)
    _after_loop(frame, state, before, _all_of(frame, current), left, maybe_skipped=not exact)
    return Literal(None), None


def _turn(frame: RustFrame, state: State, statement: ir.For, item: Any) -> tuple[list[State], State | None]:
    """One turn of a `for`: its names live as long as the turn."""
    scope = frame.run.fresh()
    lifetimes.enter_scope(frame, state, scope)
    saved, since = frame.scopes, len(frame.exits)
    frame.scopes = (*saved, scope)
    try:
        match(frame, state, statement.target, item)
        ends, broken = _round(frame, state, statement.body)
    finally:
        frame.scopes = saved
        if scope in frame.session.live:
            frame.session.live.remove(scope)
    for one in (*ends, *([broken] if broken is not None else ())):
        lifetimes.drop_scope(frame.session, one, scope)
    for way in frame.exits[since:]:
        lifetimes.drop_scope(frame.session, way.state, scope, way.value)
    return ends, broken


def _while(frame: RustFrame, state: State, statement: ir.While) -> Done:
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
                ends, broken = _round(frame, one, statement.body)
                going.extend(ends)
                left = lifetimes.join_states(frame.session, left, broken)
        current = _few(frame, going)
    end = None if endless else _all_of(frame, current)
    _after_loop(frame, state, before, end, left, maybe_skipped=False)
    return Literal(None), None


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
                if _is_start(value) and isinstance(later, Tensor | Variant):
                    end.write(scope, name, later)
    assert end is not None
    state.become(end)


def _is_start(value: Any) -> bool:
    """Whether a value is what a loop starts to gather from: a number, nothing yet, a constant tensor."""
    if isinstance(value, Tensor):
        return value.cause is not None and value.cause.kind == "data"
    return isinstance(value, Literal) or value == ABSENT


def _nothing(frame: RustFrame, state: State, statement: Any) -> Done:
    return Literal(None), None


_EXECUTORS: dict[type, Callable[[RustFrame, State, Any], Done]] = {
    ir.Evaluate: _evaluate,
    ir.Let: _let,
    ir.Assign: _assign,
    ir.Update: _update,
    ir.Return: _return,
    ir.Break: _jump,
    ir.Continue: _jump,
    ir.For: _for,
    ir.While: _while,
    ir.FunctionDef: _define,
    ir.ClassDef: _define,
    ir.Import: _define,
    ir.Declare: _nothing,
}
