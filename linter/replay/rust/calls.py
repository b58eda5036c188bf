"""Calls: functions of the tree, closures, structures, and methods."""

from __future__ import annotations

from gradguard.ir import nodes as ir
from gradguard.replay.limits import Stopped
from gradguard.replay.rust import crates, lifetimes, macros, standard, tensors, witness
from gradguard.replay.rust.known import MISSING
from gradguard.replay.rust.session import Frame, frame_of
from gradguard.replay.rust.values import (
    Closure,
    Handle,
    Jump,
    Leaving,
    Native,
    Struct,
    Variant,
    Wild,
    bare,
    opened,
)
from gradguard.replay.value import Value


def call(frame: Frame, expr: ir.Call) -> Value:
    """A call of anything; one that is watched is noted with what went in."""
    operands: list[Value] = []
    if expr.at not in frame.watched:
        return _called(frame, expr, operands)
    session, site = frame.session, frame.site(expr.at)
    before = session.backend.modes()
    try:
        value = _called(frame, expr, operands)
    except Exception as error:
        session.note(site, "node", before, error=error, operands=tuple(operands))
        raise
    except (Leaving, Jump):
        session.note(site, "node", before, operands=tuple(operands))
        raise
    session.note(site, "node", before, opened(value), operands=tuple(operands))
    return value


def _called(frame: Frame, expr: ir.Call, operands: list[Value]) -> Value:
    from gradguard.replay.rust.evaluate import look

    match expr.func:
        case ir.Name(id=name) if name.endswith("!"):
            return macros.run(frame, expr, name)
        case ir.Name() if any(arg.name is not None or arg.star for arg in expr.args):
            return _structure(frame, expr)
        case ir.Name(id=name):
            scope = frame.scope_of(name) if "::" not in name else None
            args = _arguments(frame, expr)
            operands.extend(args)
            if scope is not None:
                return call_value(frame, scope[name], args)
            return _path_call(frame, name, args, expr)
        case ir.Attr():
            return _method_call(frame, expr, operands)
        case _:
            function = look(frame, expr.func)
            return call_value(frame, function, _arguments(frame, expr))


def _arguments(frame: Frame, expr: ir.Call) -> list[Value]:
    from gradguard.replay.rust.evaluate import evaluate

    return [evaluate(frame, arg.value) for arg in expr.args]


def _structure(frame: Frame, expr: ir.Call) -> Value:
    """`Holder { n: 1, ..base }`."""
    from gradguard.replay.rust.evaluate import evaluate, look

    assert isinstance(expr.func, ir.Name)
    fields: dict[str, Value] = {}
    for arg in expr.args:
        if arg.star == "**":
            base = opened(look(frame, arg.value))
            if isinstance(base, Struct):
                fields = {**base.fields, **fields}
        elif arg.name:
            fields[arg.name] = evaluate(frame, arg.value)
            frame.session.name(fields[arg.name], arg.name)
    found = frame.session.spaces.find(frame.space, expr.func.id, frame.owner)
    if found.kind == "variant":
        return Variant(found.path, (Struct(None, fields),), found.owner)
    return Struct(found.owner if found.kind == "type" else None, fields)


def _path_call(frame: Frame, name: str, args: list[Value], expr: ir.Call) -> Value:
    found = frame.session.spaces.find(frame.space, name, frame.owner)
    match found.kind:
        case "function" if found.function is not None and found.space is not None:
            return call_value(frame, Closure(found.function, found.space.key, found.space, found.owner), args)
        case "variant":
            return Variant(found.path, tuple(args), found.owner)
        case "type" if found.owner is not None:
            return Struct(found.owner, {str(index): value for index, value in enumerate(args)})
        case "outside":
            return native(frame, found.path, args, expr.at)
        case _:
            return _trait_function(frame, name, args)


def _trait_function(frame: Frame, name: str, args: list[Value]) -> Value:
    """`Trait::method(value, ..)`, or a function that the tree does not show."""
    if args and "::" in name:
        found = own_method(frame, args[0], name.rsplit("::", 1)[-1])
        if found is not None:
            return call_value(frame, found, args)
        head = name.rpartition("::")[0]
        if head == "Self" or name.endswith("::default"):
            return Struct(frame.owner)
    return foreign(frame, args, name.rsplit("::", 1)[-1])


def native(frame: Frame, path: str, args: list[Value], at: int) -> Value:
    """A function of a library."""
    for step in (standard.function, crates.function):
        value = step(frame, path, args, at)
        if value is not MISSING:
            return value
    return foreign(frame, args, path.rsplit("::", 1)[-1])


def foreign(frame: Frame, args: list[Value], name: str) -> Value:
    """What a function that is not shown may give: what it was given for, on its own."""
    frame.session.invent()
    for value in args:
        if isinstance(bare(value), Closure):
            return call_value(frame, bare(value), [])
    if any(tensors.operands_in(value) for value in args):
        return tensors.operate(frame.session, name, args)
    if any(isinstance(bare(value), Handle) and bare(value).kind == "session" for value in args):
        return crates.unknown_tensor(frame, name)
    for value in args:
        lifetimes.own(frame.session, lifetimes.held_by(value))
    return Wild(name)


def _method_call(frame: Frame, expr: ir.Call, operands: list[Value]) -> Value:
    from gradguard.replay.rust.evaluate import look

    assert isinstance(expr.func, ir.Attr)
    receiver = look(frame, expr.func.base)
    args = _arguments(frame, expr)
    operands.extend((receiver, *args))
    return method(frame, receiver, expr.func.name, args, expr)


def method(frame: Frame, receiver: Value, name: str, args: list[Value], expr: ir.Call) -> Value:
    """A method of any value."""
    own = own_method(frame, receiver, name)
    if own is not None:
        return call_value(frame, own, [receiver, *args])
    inside = opened(receiver)
    if isinstance(inside, Struct) and isinstance(inside.fields.get(name), Closure | Native):
        return call_value(frame, inside.fields[name], args)
    for step in (crates.method, standard.method):
        value = step(frame, receiver, name, args, expr)
        if value is not MISSING:
            return value
    return foreign(frame, [receiver, *args] if tensors.operands_in(receiver) else args, name)


def own_method(frame: Frame, receiver: Value, name: str) -> Closure | None:
    """The method that the tree has for a value, the trait's own where its type has none."""
    from gradguard.infer.rust.spaces import method_of

    value = opened(receiver)
    info = None
    match value:
        case Struct(owner=owner) | Variant(owner=owner):
            info = owner
        case Wild(kind=kind):
            info = witness.type_info(frame, kind)
        case _ if tensors.operands_in(value):
            for crate in frame.crates:
                for kind_name in (*crate.lists["types.tensor"], *crate.lists["types.leaf"]):
                    info = frame.space.types.get(kind_name) or info
    found = method_of(frame.session.spaces, info, name) if info is not None else None
    if found is None:
        return None
    owner, function = found
    return Closure(function, owner.space.key, owner.space, info)


def call_value(frame: Frame, callee: Value, args: list[Value]) -> Value:
    """Call a closure or function with values."""
    callee = bare(callee)
    if isinstance(callee, Native):
        return native(frame, callee.path, args, ir.NOWHERE)
    if isinstance(callee, Closure) and callee.function.body:
        return enter(frame, callee, args)
    if isinstance(callee, Closure):
        return foreign(frame, args, callee.function.name)
    return foreign(frame, args, callee.hint if isinstance(callee, Wild) else "call")


def enter(frame: Frame, callee: Closure, args: list[Value]) -> Value:
    """Run a function's body."""
    from gradguard.replay.rust.execute import execute

    function, session = callee.function, frame.session
    session.descend()
    scope: dict[str, Value] = {}
    for index, param in enumerate(function.params):
        value = args[index] if index < len(args) else Wild(param.name)
        scope[param.name if param.name != "_" else f"<_{index}>"] = value
        session.name(value, param.name)
    inner = frame_of(session, callee, callee.scopes)
    try:
        return lifetimes.in_scope(inner, scope, lambda: execute(inner, function.body, as_value=False))
    except Leaving as leaving:
        lifetimes.own(session, lifetimes.held_by(leaving.value))
        return leaving.value
    except Jump as jump:
        raise Stopped("a jump leaves a function") from jump
    finally:
        session.depth -= 1
