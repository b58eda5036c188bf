"""Calls: functions of the crate, closures, macros, and what the standard library gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer.frames import Exit
from gradguard.infer.run import CALL_DEPTH, RECURSION, Ended
from gradguard.infer.rust import branches, exchanges, library, lifetimes, operations, places, standard
from gradguard.infer.rust.session import RustFrame, Watch
from gradguard.infer.rust.spaces import Found, TypeInfo, method_of
from gradguard.infer.rust.types import NO_TYPE, Type, parse_type, with_self
from gradguard.infer.rust.values import Counted, Presence, Variant
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.truths import as_test, assume, truth
from gradguard.infer.values import Alternatives, Closure, Guard, Instance, Literal, Tensor, Unknown
from gradguard.ir import nodes as ir

_LEAVING = frozenset(("panic!", "unreachable!", "todo!", "unimplemented!"))
_FAILING = frozenset(("bail!",))
_DERIVED = frozenset(("new", "default"))
"""What a derive writes: functions that give a value of their own type."""


def evaluate_call(frame: RustFrame, state: State, expr: ir.Call) -> Any:
    """A call of anything."""
    from gradguard.infer.rust.expressions import evaluate, look

    site = frame.site(expr.at)
    match expr.func:
        case ir.Name(id=name) if name.endswith("!"):
            return _macro(frame, state, expr, name, site)
        case ir.Name() if any(arg.name is not None or arg.star for arg in expr.args):
            return _structure(frame, state, expr)
        case ir.Name(id=name):
            scope = places.scope_of(frame, state, name) if "::" not in name else None
            if scope is not None:
                closure = state.resolve(state.read(scope, name))
                return call_value(frame, state, closure, _arguments(frame, state, expr), site)
            return _path_call(frame, state, expr, name, site)
        case ir.Attr():
            return _method_call(frame, state, expr, site)
        case _:
            closure = look(frame, state, expr.func)
            return call_value(
                frame, state, closure, [evaluate(frame, state, arg.value) for arg in expr.args], site
            )


def _arguments(frame: RustFrame, state: State, expr: ir.Call) -> list[Any]:
    from gradguard.infer.rust.expressions import evaluate

    return [evaluate(frame, state, arg.value) for arg in expr.args]


def _macro(frame: RustFrame, state: State, expr: ir.Call, name: str, site: Site) -> Any:
    from gradguard.infer.rust.expressions import evaluate, look

    if name == "repeat!":
        return places.new_list(
            frame, state, [], evaluate(frame, state, expr.args[0].value) if expr.args else None
        )
    values = [look(frame, state, arg.value) for arg in expr.args]
    frame.session.activity += 1
    operations.look_at(frame, values)
    if name in _LEAVING:
        raise Ended
    if name in _FAILING:
        frame.exits.append(Exit("return", state.fork(), Variant("Err")))
        raise Ended
    if "assert" in name and any(isinstance(value, Counted | Presence) for value in values):
        frame.watch.counted = True
        _expected(frame, name, values)
    if name in ("ensure!", "assert!", "debug_assert!") and values:
        _assumed(frame, state, values[0])
    return Literal("") if name == "format!" else frame.run.unknown()


def _expected(frame: RustFrame, name: str, values: list[Any]) -> None:
    """An assertion that a backward found nothing, or that a gradient is missing, wants the very fault."""
    for value in values:
        if isinstance(value, Counted):
            if value.empty or (name.endswith("assert_eq!") and Literal(0) in values):
                frame.session.expected.add(value.table.site)
        elif isinstance(value, Presence) and not value.positive:
            frame.session.expected.update(frame.watch.asked)


def _assumed(frame: RustFrame, state: State, value: Any) -> None:
    """`assert!(value)`: the path goes on only where it holds."""
    if isinstance(value, Counted | Presence):
        frame.watch.counted = True
        return
    if truth(state, value) is False:
        raise Ended
    assume(state, as_test(state, value), True)
    lifetimes.settle(frame.session, state)


def _structure(frame: RustFrame, state: State, expr: ir.Call) -> Any:
    """`Holder { n: 1, ..base }`."""
    from gradguard.infer.rust.expressions import evaluate, look

    assert isinstance(expr.func, ir.Name)
    fields: dict[Any, Any] = {}
    for arg in expr.args:
        if arg.star == "**":
            base = look(frame, state, arg.value)
            if isinstance(base, Instance):
                fields = {**state.fields(base.id), **fields}
        elif arg.name:
            value = evaluate(frame, state, arg.value)
            operations.stored(frame, value)
            fields[arg.name] = value
    found = frame.session.spaces.find(frame.space, expr.func.id, frame.owner)
    identity = frame.run.fresh()
    state.allocate(identity, fields)
    klass = found.owner if found.kind == "type" else None
    return Instance(identity, klass if klass is not None else TypeInfo(expr.func.id, "", frame.space))


def _path_call(frame: RustFrame, state: State, expr: ir.Call, name: str, site: Site) -> Any:
    args = _arguments(frame, state, expr)
    found = frame.session.spaces.find(frame.space, name, frame.owner)
    match found.kind:
        case "function" if found.function is not None and found.space is not None:
            return call_value(frame, state, _function_of(frame, found), args, site)
        case "variant":
            return Variant(found.path, tuple(args))
        case "type" if found.owner is not None:
            for value in args:
                operations.stored(frame, value)
            identity = frame.run.fresh()
            state.allocate(identity, {str(index): value for index, value in enumerate(args)})
            return Instance(identity, found.owner)
        case "outside":
            moved = exchanges.by_function(frame, state, expr, name, args) if "mem::" in found.path else ()
            if moved:
                return moved[0]
            known = standard.function(frame, state, found.path, args, site)
            if known is None:
                known = library.function(frame, state, found.path, args, expr, site)
            if known is not None:
                return known
    operations.escaped(frame, state, args)
    foreign(frame, state, args, site)
    if found.kind == "unknown" and found.owner is not None and found.path in _DERIVED:
        return places.unknown_of(frame, Type(found.owner.name, (), found.owner.name), found.path)
    return frame.run.unknown(name.rsplit("::", 1)[-1])


def _function_of(frame: RustFrame, found: Found) -> Closure:
    """The function that a path leads to; of a trait's, that of the only type that has the trait."""
    function, space, owner = found.function, found.space, found.owner
    assert function is not None and space is not None
    if owner is not None and owner.kind == "trait":
        method = method_of(frame.session.spaces, owner, function.name)
        if method is not None:
            owner, function = method
            space = owner.space
    return Closure(function, space.key, (), owner=(space, owner))


def foreign(frame: RustFrame, state: State, args: list[Any], site: Site) -> None:
    """Closures given to code that is not followed: each may run, when is not known."""
    for value in args:
        if isinstance(value, Closure):
            aside = state.fork()
            lifetimes.lose(frame.session, aside, lifetimes.all_alive(aside))
            try:
                call_value(frame, aside, value, [], site)
            except Ended:
                continue


def _method_call(frame: RustFrame, state: State, expr: ir.Call, site: Site) -> Any:
    from gradguard.infer.rust.expressions import look

    assert isinstance(expr.func, ir.Attr)
    receiver = look(frame, state, expr.func.base)
    args = _arguments(frame, state, expr)
    if isinstance(receiver, Alternatives):
        return branches.split(
            frame, state, receiver, lambda s, one: _dispatch(frame, s, expr, one, args, site)
        )
    return _dispatch(frame, state, expr, receiver, args, site)


def _dispatch(
    frame: RustFrame, state: State, expr: ir.Call, receiver: Any, args: list[Any], site: Site
) -> Any:
    assert isinstance(expr.func, ir.Attr)
    name = expr.func.name
    own = _own_method(frame, receiver, name)
    if own is not None:
        return call_value(frame, state, own, [_as_self(frame, receiver, own), *args], site)
    if isinstance(receiver, Instance) and name in state.fields(receiver.id):
        return call_value(frame, state, state.read(receiver.id, name), args, site)
    for step in (library.method, standard.method):
        found = step(frame, state, receiver, name, args, expr, site)
        if found is not None:
            return found
    operations.escaped(
        frame, state, [receiver, *args] if not isinstance(receiver, Unknown | Instance) else args
    )
    _looked_by_others(frame, receiver, args)
    foreign(frame, state, args, site)
    return frame.run.unknown(name)


def _looked_by_others(frame: RustFrame, receiver: Any, args: list[Any]) -> None:
    """A method that is not followed, of an object that may hold the parameters."""
    if isinstance(receiver, Instance) or any(operations.is_tensor(frame, value) for value in args):
        frame.watch.looked = True


def _own_method(frame: RustFrame, receiver: Any, name: str) -> Closure | None:
    """The method that the tree has for a value; of a trait, that of the only type that has it."""
    if isinstance(receiver, Tensor | Guard | Closure | Literal):
        info = _extension(frame, name) if isinstance(receiver, Tensor) else None
    else:
        info = places.info_of(frame, receiver)
    found = method_of(frame.session.spaces, info, name) if info is not None else None
    if found is None:
        return None
    written_for, function = found
    return Closure(
        function, written_for.space.key, (), owner=(written_for.space, _self_of(info, written_for))
    )


def _as_self(frame: RustFrame, receiver: Any, own: Closure) -> Any:
    """What a method gets as `self`: an unknown value of a trait is one of the type that has it."""
    info = own.owner[1] if isinstance(own.owner, tuple) else None
    if not isinstance(receiver, Unknown) or not isinstance(info, TypeInfo) or not receiver.role:
        return receiver
    known = places.info_of(frame, receiver)
    return replace(receiver, role=info.name) if known is not None and known.kind == "trait" else receiver


def _self_of(info: TypeInfo | None, written_for: TypeInfo) -> TypeInfo:
    """What `Self` stands for in a method: the value's own type also in one that a trait gives."""
    return info if info is not None and info.kind != "trait" else written_for


def _extension(frame: RustFrame, name: str) -> TypeInfo | None:
    """A type of a crate that the tree has methods of its own for."""
    for crate in frame.crates:
        for kind in (*crate.lists["types.tensor"], *crate.lists["types.leaf"]):
            info = frame.space.types.get(kind)
            if info is not None and name in info.methods:
                return info
    return None


def call_value(frame: RustFrame, state: State, callee: Any, args: list[Any], site: Site) -> Any:
    """Call a closure or function with values."""
    callee = state.resolve(callee)
    if not isinstance(callee, Closure):
        operations.escaped(frame, state, args)
        return frame.run.unknown()
    function = callee.function
    depth = sum(1 for one in frame.run.stack if one == Site(callee.module, function.at))
    if len(frame.run.stack) >= CALL_DEPTH or depth > RECURSION or not function.body:
        operations.escaped(frame, state, args)
        return places.unknown_of(frame, _returned_type(callee), function.name)
    if callee.kind != "closure" and not _is_worth_following(frame, state, function, args):
        operations.escaped(frame, state, args)
        return places.unknown_of(frame, _returned_type(callee), function.name)
    return enter(frame, state, callee, args, site)


def _is_worth_following(frame: RustFrame, state: State, function: ir.Function, args: list[Any]) -> bool:
    """Whether a function has to do with tensors, or is given a guard or a closure."""
    if any(isinstance(value, Closure) for value in args):
        return True
    if any(lifetimes.held_by(frame.session, state, value) for value in args):
        return True
    return frame.session.relevance.matters(function)


def _returned_type(callee: Closure) -> Any:
    match callee.function.returns:
        case ir.Name(id=written):
            _, owner = callee.owner if isinstance(callee.owner, tuple) else (None, None)
            found = parse_type(written)
            return with_self(found, owner.name) if isinstance(owner, TypeInfo) else found
        case _:
            return NO_TYPE


def enter(frame: RustFrame, state: State, callee: Closure, args: list[Any], site: Site) -> Any:
    """Run a function's body; `state` becomes the state behind the call."""
    function = callee.function
    inner = _frame_of(frame, callee, site)
    scope = frame.run.fresh()
    fields: dict[Any, Any] = {}
    for index, param in enumerate(function.params):
        value = args[index] if index < len(args) else frame.run.unknown(param.name)
        fields[param.name if param.name != "_" else f"<_{index}>"] = value
    state.allocate(scope, fields)
    frame.run.stack.append(Site(callee.module, function.at))
    try:
        value = _run_body(inner, state, function, scope)
    finally:
        frame.run.stack.pop()
        if inner.watch is not frame.watch:
            _conclude(frame, inner)
    lifetimes.own(frame.session, lifetimes.held_by(frame.session, state, value))
    if isinstance(value, Unknown) and not value.role and callee.kind != "closure":
        return places.unknown_of(frame, _returned_type(callee), function.name)
    return value


def _frame_of(frame: RustFrame, callee: Closure, site: Site) -> RustFrame:
    function = callee.function
    space, owner = callee.owner if isinstance(callee.owner, tuple) else (frame.space, frame.owner)
    is_closure = callee.kind == "closure"
    return RustFrame(
        frame.run,
        callee.module,
        callee.scopes,
        function.name,
        frame.entry,
        closure=callee,
        calls=frame.calls if is_closure else (*frame.calls, site),
        functions=frame.functions if is_closure else (*frame.functions, function.name),
        identity=frame.identity if is_closure else frame.run.fresh(),
        session=frame.session,
        space=space,
        owner=owner,
        watch=frame.watch
        if is_closure
        else Watch(alone=frame.watch.alone and frame.name == "<root>", counted=frame.watch.counted),
    )


def _run_body(inner: RustFrame, state: State, function: ir.Function, scope: int) -> Any:
    """The joined value of all returns; a failing one counts only where no other is there."""
    from gradguard.infer.rust.blocks import END, run_in_scope

    end: State | None = state
    value: Any = Literal(None)
    try:
        run_in_scope(inner, state, scope, (*function.body, END))
    except Ended:
        end = None
    inner.run.covered.add(Site(inner.module, function.at))
    returned = [one for one in inner.exits if one.kind == "return"]
    good = [one for one in returned if not _failed(one.value)]
    if good or end is not None:
        returned = good
    ways: list[branches.Way] = [(one.state, branches.giving(one.value)) for one in returned]
    if end is not None:
        after = end if not ways else end.fork()
        ways.append((after, branches.giving(value)))
    if not ways:
        raise Ended
    if len(ways) == 1:
        only, give = ways[0]
        if only is not state:
            state.become(only)
        return give(state)
    return branches.either_way(inner, state, ways)


def _failed(value: Any) -> bool:
    return isinstance(value, Variant) and value.name == "Err"


def _conclude(frame: RustFrame, inner: RustFrame) -> None:
    """What the caller learns from a function that has ended."""
    outer, watch = frame.watch, inner.watch
    outer.looked = outer.looked or watch.looked
    outer.counted = outer.counted or watch.counted
    if not watch.looked:
        outer.backwards.extend(watch.backwards)
    else:
        for site in watch.backwards:
            frame.session.note("GRD107", site, watch.alone, None)
