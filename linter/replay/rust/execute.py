"""Statements and loops."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.infer.rust.places import is_place
from gradguard.ir import nodes as ir
from gradguard.replay.rust import arithmetic, deciding, lifetimes, places, tensors
from gradguard.replay.rust.macros import Printed
from gradguard.replay.rust.patterns import match
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import Closure, Jump, Leaving, Wild, bare, opened
from gradguard.replay.value import Value
from gradguard.runtime.tenferro import EagerTensor

TURNS = 24
"""Turns after which a loop of unknown length is left."""
UNKNOWN_TURNS = 2


def execute(frame: Frame, body: ir.Body, *, as_value: bool = True) -> Value:
    """Run statements in order; the value of the last one, if it is an expression and `as_value`."""
    value: Value = None
    session = frame.session
    for index, statement in enumerate(body):
        session.tick()
        at = getattr(statement, "at", ir.NOWHERE)
        watched = at in frame.watched and not isinstance(statement, ir.FunctionDef)
        before = session.backend.modes()
        lifetimes.begin(session)
        try:
            value, used = _EXECUTORS[type(statement)](frame, statement)
        except BaseException as leaving:
            lifetimes.finish(session, None, getattr(leaving, "value", None))
            if watched and not isinstance(leaving, Leaving | Jump) and isinstance(leaving, Exception):
                session.note(frame.site(at), "node", before, error=leaving)
            elif watched:
                session.note(frame.site(at), "node", before)
            raise
        if as_value and index == len(body) - 1 and isinstance(statement, ir.Evaluate):
            lifetimes.hand_on(session)
        else:
            lifetimes.finish(session, used)
        if watched and not isinstance(value, Printed):
            session.note(frame.site(at), "node", before, opened(value))
    return value if as_value else None


Done = tuple[Value, Value]
"""The value of a statement, and what of it the statement owns."""


def _evaluate(frame: Frame, statement: ir.Evaluate) -> Done:
    from gradguard.replay.rust.evaluate import evaluate

    value = evaluate(frame, statement.value)
    return value, value


def _let(frame: Frame, statement: ir.Let) -> Done:
    from gradguard.replay.rust.evaluate import evaluate, look

    if statement.value is None:
        return None, None
    in_place = is_place(statement.value)
    value = look(frame, statement.value) if in_place else evaluate(frame, statement.value)
    bound: dict[str, Value] = {}
    fits = match(frame, statement.target, value, bound)
    if statement.orelse and fits is not True and (fits is False or _fails(frame, statement)):
        execute(frame, statement.orelse, as_value=False)
        return None, value
    source = places.root_of(frame, statement.value) if in_place else None
    if source is not None and frame.session.guards and not isinstance(statement.target, ir.Op):
        moved = {one for part in bound.values() for one in lifetimes.held_by(part)}
        same = isinstance(statement.target, ir.Name) and source == (frame.scopes[-1], statement.target.id)
        if not same:
            lifetimes.take(*source, moved)
    for name, part in bound.items():
        places.bind(frame, name, part)
    if in_place:
        return value, None
    if _extends(statement.value):
        places.keep(frame, value)
    return value, value


def _fails(frame: Frame, statement: ir.Let) -> bool:
    """Whether an unknown value of a `let else` does not fit."""
    return deciding.choose(frame, [(), statement.orelse]) == 1


def _extends(expr: ir.Expr) -> bool:
    """Whether the temporary behind a reference lives as long as the block."""
    match expr:
        case ir.Op(op="&", operands=(inner,)):
            return not is_place(inner)
        case ir.Sequence(items=items):
            return any(_extends(item) for item in items)
        case _:
            return False


def _assign(frame: Frame, statement: ir.Assign) -> Done:
    from gradguard.replay.rust.evaluate import evaluate, look

    target = statement.targets[0]
    ignored = isinstance(target, ir.Name) and target.id == "_"
    if ignored and is_place(statement.value):
        return look(frame, statement.value), None
    value = evaluate(frame, statement.value)
    places.assign(frame, target, value)
    return value, value if ignored else None


def _update(frame: Frame, statement: ir.Update) -> Done:
    from gradguard.replay.rust.evaluate import look

    operand = look(frame, statement.value)
    before = look(frame, statement.target)
    tensor = opened(before)
    if isinstance(tensor, EagerTensor) and not frame.session.rebinds:
        tensors.in_place(frame.session, tensor, statement.op, [operand])
        return None, None
    value = arithmetic.operation(frame, statement.op, [before, operand])
    if isinstance(before, Wild) and not is_place(statement.target):
        return None, None
    places.assign(frame, _behind(statement.target, before), value)
    return None, None


def _behind(target: ir.Expr, before: Value) -> ir.Expr:
    """Where an update writes: through a reference, where the name holds one."""
    from gradguard.replay.rust.values import Ref

    return ir.Op("*", (target,), target.at) if isinstance(before, Ref) else target


def _return(frame: Frame, statement: ir.Return) -> Done:
    from gradguard.replay.rust.evaluate import evaluate

    raise Leaving(evaluate(frame, statement.value))


def _break(frame: Frame, statement: ir.Break) -> Done:
    from gradguard.replay.rust.evaluate import evaluate

    raise Jump(statement.label, True, evaluate(frame, statement.value))


def _continue(frame: Frame, statement: ir.Continue) -> Done:
    raise Jump(statement.label, False)


def _define(frame: Frame, statement: Value) -> Done:
    if isinstance(statement, ir.FunctionDef):
        function = statement.function
        frame.scopes[-1][function.name] = Closure(function, frame.module, frame.space, frame.owner)
    elif isinstance(statement, ir.Import | ir.ClassDef):
        frame.session.spaces.define(frame.space, statement)
    elif isinstance(statement, ir.Assign):
        return _assign(frame, statement)
    return None, None


def _for(frame: Frame, statement: ir.For) -> Done:
    from gradguard.replay.rust.evaluate import evaluate
    from gradguard.replay.rust.sequences import elements

    source = evaluate(frame, statement.iter)
    for item in elements(frame, source):
        bound: dict[str, Value] = {}
        match(frame, statement.target, item, bound)
        for name, value in bound.items():
            frame.session.name(value, name)
        run = _turn(frame, statement.body)
        try:
            lifetimes.in_scope(frame, bound, run)
        except Jump as jump:
            if jump.label not in ("", statement.label):
                raise
            if jump.is_break:
                break
    return None, None


def _turn(frame: Frame, body: ir.Body) -> Callable[[], Value]:
    return lambda: execute(frame, body, as_value=False)


def _while(frame: Frame, statement: ir.While) -> Done:
    run_loop(frame, statement.test, statement.body, statement.label, statement.at)
    return None, None


def run_loop(frame: Frame, test: ir.Expr | None, body: ir.Body, label: str, at: int) -> Value:
    """Run a `while` or `loop`; what its break gives. One of unknown length takes a few turns."""
    for turn in range(TURNS):
        if test is not None and not _goes_on(frame, test, body, turn):
            return None
        try:
            execute(frame, body, as_value=False)
        except Jump as jump:
            if jump.label not in ("", label):
                raise
            if jump.is_break:
                return jump.value
    frame.session.invent()
    return Wild("loop")


def _goes_on(frame: Frame, test: ir.Expr, body: ir.Body, turn: int) -> bool:
    from gradguard.replay.rust.evaluate import look

    lifetimes.begin(frame.session)
    try:
        value = opened(look(frame, test))
    finally:
        lifetimes.finish(frame.session)
    if isinstance(value, Wild):
        frame.session.invent()
        return turn < UNKNOWN_TURNS
    return bool(bare(value))


def _nothing(frame: Frame, statement: Value) -> Done:
    return None, None


_EXECUTORS: dict[type, Callable[[Frame, Value], Done]] = {
    ir.Evaluate: _evaluate,
    ir.Let: _let,
    ir.Assign: _assign,
    ir.Update: _update,
    ir.Return: _return,
    ir.Break: _break,
    ir.Continue: _continue,
    ir.For: _for,
    ir.While: _while,
    ir.FunctionDef: _define,
    ir.ClassDef: _define,
    ir.Import: _define,
    ir.Declare: _nothing,
}
