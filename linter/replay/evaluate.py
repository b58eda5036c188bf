"""Evaluating expressions.

Each evaluator is a generator: what it yields is what the program's own `yield` and `await` give away.
"""

from __future__ import annotations

from collections.abc import Callable

from gradguard.ir import nodes as ir
from gradguard.replay.access import read_attribute, read_item
from gradguard.replay.branches import decide
from gradguard.replay.functions import Steps, awaiting, make_function
from gradguard.replay.invoke import invoke
from gradguard.replay.operators import binary, compare, unary
from gradguard.replay.scopes import Frame
from gradguard.replay.value import Value
from gradguard.replay.wild import Wild

_BACKWARD = frozenset(("backward", "tensor_backward"))


def evaluate(frame: Frame, node: Value) -> Steps:
    """The value of an expression."""
    kind = type(node)
    if kind is ir.Const:
        return node.value
    if kind is ir.Name and node.at not in frame.watched:
        return frame.read(node.id)
    frame.session.tick()
    if node.at in frame.watched:
        return (yield from watched(frame, node, EVALUATORS[kind](frame, node)))
    return (yield from EVALUATORS[kind](frame, node))


def watched(frame: Frame, node: Value, steps: Steps) -> Steps:
    """Run a node whose passage is noted."""
    session = frame.session
    before = session.backend.modes()
    session.operands = ()
    try:
        value = yield from steps
    except Exception as error:
        session.note(frame.site(node.at), "node", before, error=error, operands=_operands_noted(session))
        raise
    kind = "read" if isinstance(node, ir.Attr) else "node"
    session.note(frame.site(node.at), kind, before, value, operands=_operands_noted(session))
    return value


def _operands_noted(session: Value) -> tuple[Value, ...]:
    noted: tuple[Value, ...] = session.operands
    session.operands = ()
    return noted


def _name(frame: Frame, node: ir.Name) -> Steps:
    return frame.read(node.id)
    yield


def _const(frame: Frame, node: ir.Const) -> Steps:
    return node.value
    yield


def _attr(frame: Frame, node: ir.Attr) -> Steps:
    base = yield from evaluate(frame, node.base)
    value = read_attribute(frame.session, base, node.name)
    if node.at in frame.watched:
        frame.session.operands = (base,)
    return value


def _item(frame: Frame, node: ir.Item) -> Steps:
    base = yield from evaluate(frame, node.base)
    index = yield from evaluate(frame, node.index)
    return read_item(frame.session, base, index)


def _slice(frame: Frame, node: ir.Slice) -> Steps:
    parts = []
    for part in node.parts:
        value = yield from evaluate(frame, part)
        parts.append(None if isinstance(value, Wild) else value)
    return slice(*parts)


def _call(frame: Frame, node: ir.Call) -> Steps:
    if isinstance(node.func, ir.Name) and node.func.id == "super" and not node.args:
        return _super(frame)
    callee = yield from evaluate(frame, node.func)
    args, kwargs = yield from arguments(frame, node.args)
    if node.at in frame.watched:
        receiver = getattr(callee, "__self__", None)
        if getattr(callee, "__name__", "") in _BACKWARD:
            frame.session.backwards.add(frame.site(node.at))
        frame.session.operands = (receiver, *args, *kwargs.values())
    return invoke(frame, callee, args, kwargs, node)


def arguments(frame: Frame, args: tuple[ir.Arg, ...]) -> Steps:
    """The positional and the named arguments of a call."""
    positional: list[Value] = []
    named: dict[str, Value] = {}
    for arg in args:
        value = yield from evaluate(frame, arg.value)
        if arg.star == "*":
            positional.extend(() if isinstance(value, Wild) else list(value))
        elif arg.star == "**":
            if isinstance(value, dict):
                named.update({str(key): one for key, one in value.items()})
        elif arg.name is not None:
            named[arg.name] = value
        else:
            positional.append(value)
    return positional, named


def _super(frame: Frame) -> Value:
    function = frame.function
    if frame.klass and function is not None and function.params:
        owner = frame.read(function.params[0].name)
        klass = frame.klass[0]
        try:
            return super(klass, owner)
        except TypeError:
            return Wild(frame.session, "super")
    return Wild(frame.session, "super")


def _op(frame: Frame, node: ir.Op) -> Steps:
    left = yield from evaluate(frame, node.operands[0])
    if len(node.operands) == 1:
        return unary(frame.session, node.op, left)
    right = yield from evaluate(frame, node.operands[1])
    if node.at in frame.watched:
        frame.session.operands = (left, right)
    return binary(frame.session, node.op, left, right)


def _compare(frame: Frame, node: ir.Compare) -> Steps:
    left = yield from evaluate(frame, node.left)
    right = yield from evaluate(frame, node.right)
    return compare(frame.session, node.op, left, right)


def _logic(frame: Frame, node: ir.Logic) -> Steps:
    if node.op == "not":
        return not (yield from decide(frame, node.operands[0], None))
    value: Value = None
    for operand in node.operands:
        value = yield from evaluate(frame, operand)
        if operand is node.operands[-1]:
            break
        if isinstance(value, Wild) and value.truth is None and node.op == "or":
            # `given or default`: what is given counts.
            return value
        if truthy(frame, value) is (node.op == "or"):
            break
    return value


def truthy(frame: Frame, value: Value) -> bool:
    """Whether a value counts as true; a tensor of several elements does."""
    try:
        return bool(value)
    except (RuntimeError, ValueError):
        frame.session.trace.chose = True
        return frame.session.policy.truth


def _choice(frame: Frame, node: ir.Choice) -> Steps:
    chosen = yield from decide(frame, node.test, (node.then, node.other))
    return (yield from evaluate(frame, node.then if chosen else node.other))


def _star(frame: Frame, node: ir.Star) -> Steps:
    return (yield from evaluate(frame, node.value))


_DISPLAYS: dict[str, Callable[[list[Value]], Value]] = {"tuple": tuple, "list": list, "set": set}


def _sequence(frame: Frame, node: ir.Sequence) -> Steps:
    items: list[Value] = []
    for item in node.items:
        value = yield from evaluate(frame, item)
        if isinstance(item, ir.Star):
            items.extend(value)
        else:
            items.append(value)
    return _DISPLAYS[node.kind](items)


def _mapping(frame: Frame, node: ir.Mapping) -> Steps:
    made: dict[Value, Value] = {}
    for key, item in node.items:
        value = yield from evaluate(frame, item)
        if key is None:
            if isinstance(value, dict):
                made.update(value)
            continue
        made[(yield from evaluate(frame, key))] = value
    return made


def _comprehension(frame: Frame, node: ir.Comprehension) -> Steps:
    from gradguard.replay.comprehensions import comprehend

    return (yield from comprehend(frame, node))


def _lambda(frame: Frame, node: ir.Lambda) -> Steps:
    defaults = yield from default_values(frame, node.function)
    return make_function(frame, node.function, defaults)


def default_values(frame: Frame, function: ir.Function) -> Steps:
    """The defaults of a function's parameters, evaluated where it is defined."""
    defaults = {}
    for param in function.params:
        if param.default is not None:
            defaults[param.name] = yield from evaluate(frame, param.default)
    return defaults


def _walrus(frame: Frame, node: ir.Walrus) -> Steps:
    value = yield from evaluate(frame, node.value)
    frame.bind(node.target, value)
    return value


def _await(frame: Frame, node: ir.Await) -> Steps:
    value = yield from evaluate(frame, node.value)
    return (yield from suspending(frame, node.at, awaiting(frame, value)))


def _yield(frame: Frame, node: ir.Yield) -> Steps:
    value = None if node.value is None else (yield from evaluate(frame, node.value))
    if node.delegates:
        given: Value = value
        return (yield from suspending(frame, node.at, given if hasattr(given, "send") else iter(given)))
    note_suspended(frame, node.at)
    sent = yield value
    frame.resumed = frame.session.backend.modes()
    return sent


def note_suspended(frame: Frame, at: int) -> None:
    """Note that control is given away here, and in which modes it was got."""
    if at in frame.watched:
        session = frame.session
        session.note(frame.site(at), "suspended", session.backend.modes(), resumed=frame.resumed)


def suspending(frame: Frame, at: int, steps: Value) -> Steps:
    """`yield from steps`, which is noted each time that control is given away at a watched place."""
    if at not in frame.watched:
        return (yield from steps)
    sent: Value = None
    while True:
        try:
            given = next(steps) if sent is None else steps.send(sent)
        except StopIteration as stop:
            return stop.value
        note_suspended(frame, at)
        sent = yield given
        frame.resumed = frame.session.backend.modes()


def _opaque(frame: Frame, node: ir.Opaque) -> Steps:
    from gradguard.replay.mixtures import mixture, tensors_in

    values = []
    for operand in node.operands:
        values.append((yield from evaluate(frame, operand)))
    tensors = list(tensors_in(frame.session, values, made=False))
    if tensors:
        return Wild(frame.session, "", source=mixture(frame.session, tensors))
    return "" if not values or all(isinstance(one, str | int | float) for one in values) else "text"


def _nothing(frame: Frame, node: Value) -> Steps:
    return Wild(frame.session, "")
    yield


EVALUATORS: dict[type, Callable[[Frame, Value], Steps]] = {
    ir.Name: _name,
    ir.Const: _const,
    ir.Attr: _attr,
    ir.Item: _item,
    ir.Slice: _slice,
    ir.Call: _call,
    ir.Op: _op,
    ir.Compare: _compare,
    ir.Logic: _logic,
    ir.Choice: _choice,
    ir.Star: _star,
    ir.Sequence: _sequence,
    ir.Mapping: _mapping,
    ir.Comprehension: _comprehension,
    ir.Lambda: _lambda,
    ir.Walrus: _walrus,
    ir.Await: _await,
    ir.Yield: _yield,
    ir.Opaque: _opaque,
    ir.Scope: _nothing,
    ir.Propagate: _nothing,
    ir.Branches: _nothing,
}

__all__ = ["EVALUATORS", "arguments", "default_values", "evaluate", "suspending", "truthy", "watched"]
