"""The value of an expression."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.infer.rust.places import is_place
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.replay.rust import arithmetic, calls, deciding, execute, lifetimes, places
from gradguard.replay.rust.patterns import match, variant_key
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import (
    NONE,
    Closure,
    Jump,
    Leaving,
    Native,
    Stream,
    Struct,
    Variant,
    Vec,
    Wild,
    bare,
    opened,
)
from gradguard.replay.value import Value

ROUNDS = 2
SHORT = 8


def evaluate(frame: Frame, expr: ir.Expr | None) -> Value:
    """The value of an expression that is used up: guards are moved out of the place that holds them."""
    value = look(frame, expr)
    if expr is not None and frame.session.guards and is_place(expr):
        guards = lifetimes.held_by(value)
        if guards and not _is_lent(value):
            lifetimes.own(frame.session, guards)
            source = places.root_of(frame, expr)
            if source is not None:
                lifetimes.take(*source, guards)
    return value


def _is_lent(value: Value) -> bool:
    from gradguard.replay.rust.values import Ref

    return isinstance(value, Ref)


def look(frame: Frame, expr: ir.Expr | None) -> Value:
    """The value of an expression; a place keeps what it holds."""
    if expr is None:
        return None
    session = frame.session
    session.tick()
    if expr.at not in frame.watched or isinstance(expr, ir.Call):
        return _EVALUATORS[type(expr)](frame, expr)
    before = session.backend.modes()
    try:
        value = _EVALUATORS[type(expr)](frame, expr)
    except Exception as error:
        session.note(frame.site(expr.at), "node", before, error=error)
        raise
    except (Leaving, Jump):
        session.note(frame.site(expr.at), "node", before)
        raise
    session.note(frame.site(expr.at), "node", before, opened(value))
    return value


def _name(frame: Frame, expr: ir.Name) -> Value:
    name = expr.id
    scope = frame.scope_of(name) if "::" not in name else None
    if scope is not None:
        return scope[name]
    if name == "None":
        return NONE
    found = frame.session.spaces.find(frame.space, name, frame.owner)
    match found.kind:
        case "function" if found.function is not None and found.space is not None:
            return Closure(found.function, found.space.key, found.space, found.owner)
        case "variant":
            return Variant(found.path, (), found.owner)
        case "type" if found.owner is not None:
            return Struct(found.owner)
        case "constant" if found.space is not None and isinstance(found.value, ir.Const):
            return found.value.value
        case "outside":
            return _outside(found.path)
        case _:
            return Wild(name.rsplit("::", 1)[-1])


def _outside(path: str) -> Value:
    last = path.rsplit("::", 1)[-1]
    if "::" in path and last[:1].islower():
        return Native(path)
    return Native(last) if last in ("Ok", "Some", "Err", "drop") else Wild(last)


def _const(frame: Frame, expr: ir.Const) -> Value:
    return expr.value


def _attr(frame: Frame, expr: ir.Attr) -> Value:
    return places.get_field(frame, look(frame, expr.base), expr.name)


def _item(frame: Frame, expr: ir.Item) -> Value:
    base = look(frame, expr.base)
    if isinstance(expr.index, ir.Slice):
        return _part(frame, opened(base), expr.index)
    return places.get_item(frame, base, look(frame, expr.index))


def _part(frame: Frame, base: Value, part: ir.Slice) -> Value:
    """`base[a..b]`; which of two bounds stands alone is not told, so one bound takes all."""
    bounds = [bare(look(frame, one)) for one in part.parts]
    if isinstance(base, Vec) and len(bounds) == 2 and all(isinstance(one, int) for one in bounds):
        return Vec(base.items[max(bounds[0], 0) : max(bounds[1], 0)], base.open)
    if bounds and isinstance(base, Vec):
        frame.session.invent()
    return base


def _slice(frame: Frame, expr: ir.Slice) -> Value:
    """A range as something to go through: whole where it is short and known, else a few numbers."""
    bounds = [bare(look(frame, part)) for part in expr.parts]
    if bounds and all(isinstance(one, int) for one in bounds):
        low, high = (0, bounds[0]) if len(bounds) == 1 else (bounds[0], bounds[1])
        if len(bounds) == 2 and high - low <= SHORT:
            return Stream(iter(range(low, high)))
        if len(bounds) == 2:
            frame.session.invent()
            return Stream(iter(range(low, low + ROUNDS)))
        frame.session.invent()
        return Stream(iter(range(bounds[0], bounds[0] + SHORT)), open=True)
    frame.session.invent()
    return Stream(iter([Wild("index"), Wild("index")]), open=True)


def _op(frame: Frame, expr: ir.Op) -> Value:
    match expr.op, expr.operands:
        case "&", (inner,):
            return places.reference(frame, inner, look(frame, inner))
        case "*", (inner,):
            return bare(look(frame, inner))
        case _:
            values = [look(frame, operand) for operand in expr.operands]
            return arithmetic.operation(frame, expr.op, values)


def _compare(frame: Frame, expr: ir.Compare) -> Value:
    left, right = (opened(look(frame, side)) for side in (expr.left, expr.right))
    return arithmetic.compare(expr.op, left, right)


def _logic(frame: Frame, expr: ir.Logic) -> Value:
    first = opened(look(frame, expr.operands[0]))
    if expr.op == "not":
        if isinstance(first, Wild):
            return Wild("not", fields={"<not>": first})
        return not first if isinstance(first, bool) else ~first if isinstance(first, int) else Wild("not")
    wanted = expr.op == "or"
    if isinstance(first, bool):
        return first if first is wanted else opened(look(frame, expr.operands[1]))
    known = deciding.answer(first) if isinstance(first, Wild) else None
    if known is wanted:
        return wanted
    second = opened(look(frame, expr.operands[1]))
    if known is not None or second is wanted:
        return second
    return Wild("test", fields={"<or>" if wanted else "<and>": (first, second)})


def _choice(frame: Frame, expr: ir.Choice) -> Value:
    lifetimes.begin(frame.session)
    try:
        test = look(frame, expr.test)
        holds = deciding.truth(frame, test, expr.then, expr.other)
    except BaseException as leaving:
        lifetimes.finish(frame.session, None, getattr(leaving, "value", None))
        raise
    lifetimes.finish(frame.session)
    return evaluate(frame, expr.then if holds else expr.other)


def _branches(frame: Frame, expr: ir.Branches) -> Value:
    subject = look(frame, expr.subject)
    fitting: list[tuple[ir.Case, dict[str, Value]]] = []
    for case in expr.cases:
        bound: dict[str, Value] = {}
        fits = True if case.test is None else match(frame, case.test, subject, bound)
        if fits is not False and case.guard is not None:
            fits = _guarded(frame, case, bound, fits)
        if fits is False:
            continue
        fitting.append((case, bound))
        if fits is True:
            break
    if not fitting:
        return Wild("match")
    index = 0
    if len(fitting) > 1:
        index = deciding.choose(frame, [case.body for case, _ in fitting])
    case, bound = fitting[index]
    if len(fitting) > 1:
        _settle(frame, subject, fitting, case)
    if is_place(expr.subject) and frame.session.guards:
        moved = {one for value in bound.values() for one in lifetimes.held_by(value)}
        source = places.root_of(frame, expr.subject)
        if source is not None:
            lifetimes.take(*source, moved)
    return lifetimes.in_scope(frame, bound, lambda: execute.execute(frame, case.body))


def _settle(
    frame: Frame, subject: Value, fitting: list[tuple[ir.Case, dict[str, Value]]], taken: ir.Case
) -> None:
    """Which variant an unknown value turned out to be."""
    for case, _ in fitting:
        key = variant_key(case.test)
        if key is not None:
            deciding.note_variant(subject, key, holds=case is taken)
        if case is taken:
            return


def _guarded(frame: Frame, case: ir.Case, bound: dict[str, Value], fits: bool | None) -> bool | None:
    """Whether the condition of an arm holds."""
    saved = frame.scopes
    frame.scopes = (*saved, bound)
    try:
        test = opened(look(frame, case.guard))
    finally:
        frame.scopes = saved
    if test is False:
        return False
    return fits if test is True else None


def _sequence(frame: Frame, expr: ir.Sequence) -> Value:
    values = [evaluate(frame, item) for item in expr.items]
    return tuple(values) if expr.kind == "tuple" else Vec(values)


def _lambda(frame: Frame, expr: ir.Lambda) -> Value:
    captured: dict[str, Value] | None = None
    scopes = frame.scopes
    if expr.function.decorators and frame.session.guards:
        captured = _captured(frame, expr.function)
        scopes = (*scopes, captured) if captured else scopes
    return Closure(expr.function, frame.module, frame.space, frame.owner, scopes, captured, inner=True)


def _captured(frame: Frame, function: ir.Function) -> dict[str, Value]:
    """The guards that a closure takes with it."""
    found: dict[str, Value] = {}
    for node in walk(function.body):
        if isinstance(node, ir.Name) and node.id not in found and "::" not in node.id:
            scope = frame.scope_of(node.id)
            value = scope[node.id] if scope is not None else None
            guards = lifetimes.held_by(value)
            if guards and scope is not None:
                found[node.id] = value
                lifetimes.take(scope, node.id, guards)
    return found


def _await(frame: Frame, expr: ir.Await) -> Value:
    return evaluate(frame, expr.value)


def _opaque(frame: Frame, expr: ir.Opaque) -> Value:
    for operand in expr.operands:
        evaluate(frame, operand)
    return Wild()


def _propagate(frame: Frame, expr: ir.Propagate) -> Value:
    value = bare(evaluate(frame, expr.value))
    match value:
        case Variant(name="Err" | "None"):
            raise Leaving(value)
        case Variant(name="Some" | "Ok", items=(inner,)):
            return inner
        case _:
            return value


def _scope(frame: Frame, expr: ir.Scope) -> Value:
    def run() -> Value:
        execute.execute(frame, expr.body, as_value=False)
        return None if expr.value is None else evaluate(frame, expr.value)

    try:
        return lifetimes.in_scope(frame, {}, run)
    except Jump as jump:
        if not expr.label or jump.label != expr.label or not jump.is_break:
            raise
        return jump.value


def _loop(frame: Frame, expr: ir.Loop) -> Value:
    return execute.run_loop(frame, None, expr.body, expr.label, expr.at)


def _unknown(frame: Frame, expr: ir.Expr) -> Value:
    return Wild()


_EVALUATORS: dict[type, Callable[[Frame, Value], Value]] = {
    ir.Name: _name,
    ir.Const: _const,
    ir.Attr: _attr,
    ir.Item: _item,
    ir.Slice: _slice,
    ir.Call: calls.call,
    ir.Op: _op,
    ir.Compare: _compare,
    ir.Logic: _logic,
    ir.Choice: _choice,
    ir.Star: lambda frame, expr: evaluate(frame, expr.value),
    ir.Sequence: _sequence,
    ir.Lambda: _lambda,
    ir.Await: _await,
    ir.Opaque: _opaque,
    ir.Scope: _scope,
    ir.Loop: _loop,
    ir.Propagate: _propagate,
    ir.Branches: _branches,
    ir.Mapping: _unknown,
    ir.Comprehension: _unknown,
    ir.Walrus: _unknown,
    ir.Yield: _unknown,
}
