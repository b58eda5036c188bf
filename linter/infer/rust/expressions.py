"""The value of an expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradguard.infer.frames import Exit
from gradguard.infer.run import Ended
from gradguard.infer.rust import branches, calls, lifetimes, operations, places
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.slots import opened, popped
from gradguard.infer.rust.values import ABSENT, Counted, Presence, Slot, Stream, Variant
from gradguard.infer.state import State
from gradguard.infer.truths import as_test, assume, compare, negate, truth
from gradguard.infer.values import Alternatives, Both, Closure, Instance, Literal, Tuple, Unknown
from gradguard.ir import nodes as ir


def evaluate(frame: RustFrame, state: State, expr: ir.Expr | None) -> Any:
    """The value of an expression that is used up: what a place holds is moved out of it."""
    value = look(frame, state, expr)
    if expr is not None and frame.session.guards and places.is_place(expr):
        guards = lifetimes.held_by(frame.session, state, value)
        if guards:
            lifetimes.own(frame.session, guards, made=False)
            places.take(frame, state, expr, guards)
    return value


def look(frame: RustFrame, state: State, expr: ir.Expr | None) -> Any:
    """The value of an expression; a place keeps what it holds. Raises Ended where the path does not go on."""
    if expr is None:
        return Literal(None)
    frame.run.tick()
    return state.resolve(_EVALUATORS[type(expr)](frame, state, expr))


def _name(frame: RustFrame, state: State, expr: ir.Name) -> Any:
    name = expr.id
    scope = places.scope_of(frame, state, name) if "::" not in name else None
    if scope is not None:
        return state.read(scope, name)
    if name == "None":
        return ABSENT
    found = frame.session.spaces.find(frame.space, name, frame.owner)
    match found.kind:
        case "function" if found.function is not None and found.space is not None:
            return Closure(found.function, found.space.key, (), owner=(found.space, found.owner))
        case "variant":
            return Variant(found.path)
        case "type" if found.owner is not None:
            identity = frame.run.fresh()
            state.allocate(identity, {})
            return Instance(identity, found.owner)
        case "constant" if isinstance(found.value, ir.Const):
            return Literal(found.value.value)
        case _:
            return Unknown(frame.run.fresh(), name.rsplit("::", 1)[-1])


def _const(frame: RustFrame, state: State, expr: ir.Const) -> Any:
    return Literal(expr.value)


def _attr(frame: RustFrame, state: State, expr: ir.Attr) -> Any:
    base = look(frame, state, expr.base)
    if isinstance(base, Alternatives):
        return branches.split(frame, state, base, lambda s, one: places.get_field(frame, s, one, expr.name))
    return places.get_field(frame, state, base, expr.name)


def _item(frame: RustFrame, state: State, expr: ir.Item) -> Any:
    base = look(frame, state, expr.base)
    if isinstance(expr.index, ir.Slice):
        look(frame, state, expr.index)
        return base
    index = look(frame, state, expr.index)
    return places.get_item(frame, state, base, index)


def _slice(frame: RustFrame, state: State, expr: ir.Slice) -> Any:
    bounds = [look(frame, state, part) for part in expr.parts]
    match bounds:
        case [Literal(value=int(low)), Literal(value=int(high))] if 0 <= high - low <= 3:
            return Stream(tuple(Literal(index) for index in range(low, high)), True)
        case [Literal(value=int(low)), Literal(value=int(high))] if high > low:
            return Stream((frame.run.unknown(), frame.run.unknown()), True)
        case _:
            return Stream((frame.run.unknown(),), False)


def _op(frame: RustFrame, state: State, expr: ir.Op) -> Any:
    match expr.op, expr.operands:
        case "&", (inner,):
            return look(frame, state, inner)
        case "*", (inner,):
            return look(frame, state, inner)
        case _:
            values = [look(frame, state, operand) for operand in expr.operands]
            return operations.arithmetic(frame, state, values, expr.op, frame.site(expr.at))


def _compare(frame: RustFrame, state: State, expr: ir.Compare) -> Any:
    left, right = look(frame, state, expr.left), look(frame, state, expr.right)
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Counted):
            frame.watch.counted = True
            return Counted(side.table, _says_empty(expr.op, other))
    found = compare(state, expr.op, _constant(left), _constant(right), None)
    return found if found is not None else frame.run.unknown()


def _says_empty(op: str, other: Any) -> bool | None:
    """What `len() op other` says of a table without gradients."""
    if other != Literal(0):
        return None
    return {"==": True, "!=": False, ">": False}.get(op)


def _constant(value: Any) -> Any:
    """A variant without contents is as good as a constant."""
    if isinstance(value, Variant) and not value.items:
        return Literal(f"::{value.name}")
    return value


def _logic(frame: RustFrame, state: State, expr: ir.Logic) -> Any:
    if expr.op == "not":
        return inverse(frame, state, look(frame, state, expr.operands[0]))
    wanted = expr.op == "and"
    left = look(frame, state, expr.operands[0])
    known = truth(state, left)
    if known is not None and known is not wanted:
        return Literal(known)
    if known is not None:
        return look(frame, state, expr.operands[1])
    inner = state.fork()
    assume(inner, as_test(inner, left), wanted)
    try:
        right = look(frame, inner, expr.operands[1])
    except Ended:
        return left
    for side in (left, right):
        if isinstance(side, Presence) and side.positive is wanted:
            return side
    tests = [as_test(state, side) for side in (left, right)]
    if None in tests:
        return frame.run.unknown()
    return Both(tuple(tests), either=not wanted)


def inverse(frame: RustFrame, state: State, value: Any) -> Any:
    """`!value`."""
    if isinstance(value, Alternatives):
        return Alternatives(value.key, inverse(frame, state, value.then), inverse(frame, state, value.other))
    if isinstance(value, Presence):
        return Presence(value.slot, not value.positive)
    if isinstance(value, Counted):
        return Counted(value.table, None if value.empty is None else not value.empty)
    if isinstance(value, Literal) and not isinstance(value.value, bool):
        return frame.run.unknown()
    condition = as_test(state, value)
    found = negate(condition) if condition is not None else None
    return found if found is not None else frame.run.unknown()


def _sequence(frame: RustFrame, state: State, expr: ir.Sequence) -> Any:
    values = [evaluate(frame, state, item) for item in expr.items]
    for value in values:
        operations.stored(frame, value)
    if expr.kind == "tuple":
        return Tuple(tuple(values))
    return places.new_list(frame, state, values)


def _lambda(frame: RustFrame, state: State, expr: ir.Lambda) -> Any:
    scopes = frame.scopes
    if expr.function.decorators and frame.session.guards:
        captured = _captured(frame, state, expr.function)
        if captured:
            scope = frame.run.fresh()
            state.allocate(scope, captured)
            frame.session.captures.add(scope)
            scopes = (*scopes, scope)
    return Closure(expr.function, frame.module, scopes, owner=(frame.space, frame.owner), kind="closure")


def _captured(frame: RustFrame, state: State, function: ir.Function) -> dict[Any, Any]:
    """The guards that a closure takes with it."""
    from gradguard.ir.walk import walk

    found: dict[Any, Any] = {}
    for node in walk(function.body):
        if isinstance(node, ir.Name) and node.id not in found and "::" not in node.id:
            scope = places.scope_of(frame, state, node.id)
            value = state.read(scope, node.id) if scope is not None else None
            guards = lifetimes.held_by(frame.session, state, value)
            if guards:
                found[node.id] = value
                places.take(frame, state, node, guards)
    return found


def _await(frame: RustFrame, state: State, expr: ir.Await) -> Any:
    return evaluate(frame, state, expr.value)


def _opaque(frame: RustFrame, state: State, expr: ir.Opaque) -> Any:
    for operand in expr.operands:
        operations.escaped(frame, state, [evaluate(frame, state, operand)])
    return frame.run.unknown()


def _propagate(frame: RustFrame, state: State, expr: ir.Propagate) -> Any:
    value = evaluate(frame, state, expr.value)
    match value:
        case Variant(name="Err" | "None"):
            frame.exits.append(Exit("return", state.fork(), value))
            raise Ended
        case Variant(name="Some", items=(inner,)):
            return inner
        case Alternatives():
            return branches.split(frame, state, value, lambda s, one: _open(frame, s, one))
        case Slot():
            inner_slot = popped(value)
            if inner_slot is None:
                opened(frame, value, loud=True)
                return frame.run.unknown("gradient")
            return inner_slot
        case Unknown():
            kind = places.type_of(frame, value)
            if kind.name == "Option" and kind.args:
                return places.unknown_of(frame, kind.args[0], value.hint)
            return value
        case _:
            return value


def _open(frame: RustFrame, state: State, value: Any) -> Any:
    match value:
        case Variant(name="Err" | "None"):
            frame.exits.append(Exit("return", state.fork(), value))
            raise Ended
        case Variant(name="Some", items=(inner,)):
            return inner
        case _:
            return value


def _star(frame: RustFrame, state: State, expr: ir.Star) -> Any:
    return evaluate(frame, state, expr.value)


def _scope(frame: RustFrame, state: State, expr: ir.Scope) -> Any:
    from gradguard.infer.rust.blocks import evaluate_scope

    return evaluate_scope(frame, state, expr)


def _loop(frame: RustFrame, state: State, expr: ir.Loop) -> Any:
    from gradguard.infer.rust.loops import evaluate_loop

    return evaluate_loop(frame, state, expr)


def _nothing(frame: RustFrame, state: State, expr: Any) -> Any:
    return frame.run.unknown()


_EVALUATORS: dict[type, Callable[[RustFrame, State, Any], Any]] = {
    ir.Name: _name,
    ir.Const: _const,
    ir.Attr: _attr,
    ir.Item: _item,
    ir.Slice: _slice,
    ir.Call: calls.evaluate_call,
    ir.Op: _op,
    ir.Compare: _compare,
    ir.Logic: _logic,
    ir.Choice: branches.evaluate_choice,
    ir.Star: _star,
    ir.Sequence: _sequence,
    ir.Lambda: _lambda,
    ir.Await: _await,
    ir.Opaque: _opaque,
    ir.Scope: _scope,
    ir.Loop: _loop,
    ir.Propagate: _propagate,
    ir.Branches: branches.evaluate_branches,
    ir.Mapping: _nothing,
    ir.Comprehension: _nothing,
    ir.Walrus: _nothing,
    ir.Yield: _nothing,
}
