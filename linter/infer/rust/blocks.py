"""Statements, blocks and loops."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from gradguard.infer.frames import Exit
from gradguard.infer.run import Ended
from gradguard.infer.rust import lifetimes, operations, places, slots
from gradguard.infer.rust.expressions import evaluate, look
from gradguard.infer.rust.patterns import match
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.values import Slot
from gradguard.infer.scopes import named, rebinding
from gradguard.infer.state import State
from gradguard.infer.values import Closure, Literal, Tensor
from gradguard.ir import nodes as ir


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
    if expr.label:
        return _labelled(frame, state, expr)
    return _unlabelled(frame, state, expr)


def _labelled(frame: RustFrame, state: State, expr: ir.Scope) -> Any:
    """`'a: { .. }`, whose value is also what a break out of it gives."""
    from gradguard.infer.rust import branches

    since, inner = len(frame.exits), state.fork()
    ways: list[branches.Way] = []
    with suppress(Ended):
        ways.append((inner, branches.giving(_unlabelled(frame, inner, expr))))
    mine = frame.exits[since:]
    frame.exits[since:] = [one for one in mine if one.name != expr.label]
    ways.extend((one.state, branches.giving(one.value)) for one in mine if one.name == expr.label)
    return branches.either_way(frame, state, ways)


def _unlabelled(frame: RustFrame, state: State, expr: ir.Scope) -> Any:
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
    if isinstance(value, Slot) and value.layers[0] == "result" and slots.is_of_option(statement.target):
        value = replace(value, layers=value.layers[1:])
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
    if isinstance(before, Tensor) and isinstance(statement.target, ir.Name | ir.Op | ir.Attr):
        operations.in_place(frame, state, before, [operand], f"{statement.op}=", frame.site(statement.at))
        return Literal(None), None
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
    if isinstance(statement, ir.Continue):
        frame.exits.append(Exit("continue", state.fork(), name=statement.label))
        raise Ended
    value = evaluate(frame, state, statement.value)
    frame.exits.append(Exit("break", state.fork(), value, name=statement.label))
    raise Ended


def _define(frame: RustFrame, state: State, statement: Any) -> Done:
    if isinstance(statement, ir.FunctionDef):
        closure = Closure(statement.function, frame.module, (), owner=(frame.space, frame.owner))
        state.write(frame.scopes[-1], statement.function.name, closure)
    elif isinstance(statement, ir.Import | ir.ClassDef):
        frame.session.spaces.define(frame.space, statement)
    return Literal(None), None


def _loop(frame: RustFrame, state: State, statement: ir.For | ir.While) -> Done:
    from gradguard.infer.rust import loops

    if isinstance(statement, ir.For):
        loops.run_for(frame, state, statement)
    else:
        loops.run_while(frame, state, statement)
    return Literal(None), None


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
    ir.For: _loop,
    ir.While: _loop,
    ir.FunctionDef: _define,
    ir.ClassDef: _define,
    ir.Import: _define,
    ir.Declare: _nothing,
}
