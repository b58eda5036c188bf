"""Calls: of functions in the tree, of modules, and of what is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer import classes, iteration
from gradguard.infer.describe import describe, last_name
from gradguard.infer.events import ClosureUnderGuard, ModeLeft
from gradguard.infer.frames import Exit, Frame
from gradguard.infer.joins import distinguishing, either, join, leaves_of
from gradguard.infer.modes import ON, Mode
from gradguard.infer.run import CALL_DEPTH, RECURSION, SHARING_DEPTH, Ended, Exhausted
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.tensors import Operation, guard_cause, operate, walk
from gradguard.infer.values import (
    NONE,
    Alternatives,
    Bound,
    Closure,
    Dict,
    Guard,
    Instance,
    Klass,
    Known,
    Lazy,
    List,
    Literal,
    Module,
    Parameters,
    Partial,
    Super,
    Tensor,
    Track,
    Trail,
    Tuple,
    Unknown,
)
from gradguard.ir import nodes as ir


def evaluate_call(frame: Frame, state: State, expr: ir.Call) -> Any:
    """The value of a call expression."""
    from gradguard.infer.expressions import evaluate
    from gradguard.infer.methods import call_method

    frame.run.tick()
    site = frame.site(expr.at)
    if isinstance(expr.func, ir.Name) and expr.func.id == "super":
        return _super(frame, state, expr)
    if isinstance(expr.func, ir.Attr):
        base = evaluate(frame, state, expr.func.base)
        args, keywords = arguments(frame, state, expr)
        return state.resolve(call_method(frame, state, base, expr.func.name, args, keywords, site, expr))
    callee = evaluate(frame, state, expr.func)
    args, keywords = arguments(frame, state, expr)
    return state.resolve(apply(frame, state, callee, args, site, keywords, expr))


def arguments(frame: Frame, state: State, expr: ir.Call) -> tuple[list[Any], dict[str, Any]]:
    from gradguard.infer.expressions import evaluate

    args: list[Any] = []
    keywords: dict[str, Any] = {}
    for arg in expr.args:
        value = evaluate(frame, state, arg.value)
        if arg.star == "*":
            items = iteration.known_items(frame, state, value)
            if items is None:
                args.append(iteration.element(frame, state, value, ir.NOWHERE))
                keywords["*"] = value
            else:
                args.extend(items)
        elif arg.star == "**":
            if isinstance(value, Dict):
                for key, field in state.fields(value.id).items():
                    if isinstance(key, tuple) and isinstance(key[1], str):
                        keywords[key[1]] = field
                if state.read(value.id, "#rest") is not None:
                    keywords["**"] = value
            else:
                keywords["**"] = value
        elif arg.name is not None:
            keywords[arg.name] = value
        else:
            args.append(value)
    return args, keywords


def _super(frame: Frame, state: State, expr: ir.Call) -> Any:
    closure = frame.closure
    if closure is None or not isinstance(closure.owner, Klass) or not closure.function.params:
        return frame.run.unknown("super")
    first = state.read(frame.scopes[-1], closure.function.params[0].name)
    return Super(closure.owner, first) if first is not None else frame.run.unknown("super")


def apply(
    frame: Frame,
    state: State,
    callee: Any,
    args: list[Any],
    site: Site,
    keywords: dict[str, Any] | None = None,
    expr: ir.Call | None = None,
) -> Any:
    """The value of calling `callee`."""
    from gradguard.infer import known_calls, methods
    from gradguard.infer.guards import decorate

    keywords = keywords if keywords is not None else {}
    callee = state.resolve(callee)
    match callee:
        case Closure():
            _check_closure(frame, state, callee, expr)
            return enter(frame, state, callee, args, keywords, site)
        case Bound(owner=owner, method=Closure() as method):
            return enter(frame, state, method, [owner, *args], keywords, site)
        case Bound(owner=owner, method=str(name)):
            return methods.call_method(frame, state, owner, name, args, keywords, site, expr)
        case Klass():
            return classes.instantiate(frame, state, callee, args, keywords, site)
        case Known(path=path):
            return known_calls.call_known(frame, state, path, args, keywords, site, expr)
        case Guard():
            return decorate(frame, state, callee, args[0], site) if args else frame.run.unknown()
        case Partial(func=func, args=first, keywords=named):
            return apply(frame, state, func, [*first, *args], site, {**dict(named), **keywords})
        case Instance():
            return call_instance(frame, state, callee, args, keywords, site)
        case Alternatives(key=key, then=then, other=other):
            return _apply_either(frame, state, key, then, other, args, site, keywords)
        case Tensor():
            name = last_name(expr.func) if expr is not None else "the call"
            return unknown_call(frame, state, callee, args, keywords, site, name)
        case Unknown():
            _check_closure(frame, state, callee, expr)
            name = last_name(expr.func) if expr is not None else callee.hint
            return unknown_call(frame, state, callee, args, keywords, site, name or callee.hint)
        case _:
            return unknown_call(frame, state, callee, args, keywords, site, "")


def _apply_either(
    frame: Frame,
    state: State,
    key: str,
    then: Any,
    other: Any,
    args: list[Any],
    site: Site,
    keywords: dict[str, Any],
) -> Any:
    first, second = state.fork(), state.fork()
    first.facts[key], second.facts[key] = True, False
    a = apply(frame, first, then, args, site, keywords)
    b = apply(frame, second, other, args, site, keywords)
    joined = join(first, second)
    assert joined is not None
    state.become(joined)
    return either(a, b, (key, True))


def _check_closure(frame: Frame, state: State, callee: Any, expr: ir.Call | None) -> None:
    """An optimizer's step that calls its closure while recording is off."""
    if expr is None or not isinstance(expr.func, ir.Name) or frame.name != "step":
        return
    guard = state.mode.guard
    if state.mode.records is not False or guard is None or guard.depth != frame.depth:
        return
    if "closure" not in expr.func.id or (isinstance(callee, Closure) and callee.wraps):
        return
    if frame.closure is None or expr.func.id not in {p.name for p in frame.closure.function.params}:
        return
    klass = frame.klass.name if isinstance(frame.klass, Klass) else ""
    frame.run.emit(
        ClosureUnderGuard(guard, frame.site(expr.at), expr.func.id, klass, isinstance(callee, Closure))
    )
    frame.run.entered.add(guard.site)


def call_instance(
    frame: Frame, state: State, instance: Instance, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    own = classes.member(frame, state, instance.klass, "__call__")
    if isinstance(own, Closure):
        return enter(frame, state, own, [instance, *args], keywords, site)
    if classes.is_module(frame, instance):
        return classes.call_module(frame, state, instance, args, keywords, site)
    found = classes.member(frame, state, instance.klass, "forward")
    if isinstance(found, Closure):
        return enter(frame, state, found, [instance, *args], keywords, site)
    hint = instance.klass.path.rsplit(".", 1)[-1] if isinstance(instance.klass, Known) else ""
    return unknown_call(frame, state, frame.run.unknown(hint), args, keywords, site, hint)


def unknown_call(
    frame: Frame, state: State, callee: Any, args: list[Any], keywords: dict[str, Any], site: Site, name: str
) -> Any:
    """A call of something that is not in the tree."""
    operands = [*args, *keywords.values()]
    _defer_closures(frame, state, operands)
    facts = frame.run.facts
    if facts.has("assume.accessors", name):
        return frame.run.unknown(name)
    if state.mode.records is False:
        return _unknown_unrecorded(frame, state, operands, site, name)
    if state.mode.records is None and state.mode.when is not None and state.mode.guard is not None:
        made = _unknown_unrecorded(frame, state, operands, site, name)
        return (
            replace(made, track=Track.CONDITIONAL, when=state.mode.when) if isinstance(made, Tensor) else made
        )
    hint = name.lower()
    is_criterion = facts.has("assume.criteria", hint) or hint.endswith(("_criterion", "_loss_fn", "loss_fct"))
    if is_criterion and operands:
        return _assumed_criterion(frame, state, operands, site, name)
    return Unknown(frame.run.fresh(), name, made=site)


def _unknown_unrecorded(frame: Frame, state: State, operands: list[Any], site: Site, name: str) -> Any:
    if not name or name.startswith("__"):
        return frame.run.unknown()
    tensors = [v for o in operands for v in walk(state, o) if isinstance(v, Tensor)]
    earlier = next(
        (t for t in tensors if t.track is Track.UNTRACKED and t.would and t.cause is not None), None
    )
    cause = earlier.cause if earlier else guard_cause(frame, state, site)
    trail = earlier.trail if earlier else Trail(site, "made here, while recording is off")
    would = any(t.track in (Track.TRACKED, Track.LEAF) or t.would for t in tensors)
    return Tensor(
        Track.UNTRACKED,
        frame.run.fresh(),
        cause=cause,
        trail=trail,
        assumed=(f"`{name}` returns what it computes and does not switch gradients on itself",),
        made=True,
        opaque=True,
        would=would,
        lossy="loss" in name.lower() or frame.run.facts.has("assume.criteria", name.lower()),
        inference=site if state.mode.inference else None,
        depth=frame.depth,
    )


def _assumed_criterion(frame: Frame, state: State, operands: list[Any], site: Site, name: str) -> Any:
    result = operate(frame, state, site, operands, Operation(name, lossy=True))
    if isinstance(result, Tensor) and result.track in (Track.UNTRACKED, Track.CONDITIONAL):
        note = f"`{name}` has no parameters of its own"
        return replace(result, assumed=tuple(dict.fromkeys((*result.assumed, note))))
    if isinstance(result, Tensor) and result.track is Track.DATA:
        return frame.run.unknown(name)
    return result


def _defer_closures(frame: Frame, state: State, operands: list[Any]) -> None:
    """Functions handed to something unknown are called by it some day: they are run later, on their own."""
    for operand in operands:
        match state.resolve(operand):
            case Closure() as closure:
                defer(frame, state, closure)
            case Bound(owner=Instance(), method=Closure() as method) as bound:
                defer(frame, state, replace(method, owner=bound))
            case Lazy(kind="coroutine") as coroutine:
                defer(frame, state, coroutine.payload[0])
            case _:
                continue


def defer(frame: Frame, state: State, closure: Closure) -> None:
    if len(frame.run.pending) < 40 and Site(closure.module, closure.function.at) not in frame.run.covered:
        frame.run.pending.append((closure, state.fork()))


def enter(
    frame: Frame, state: State, closure: Closure, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """Call a function of the tree: its value; `state` becomes the state after the call."""
    function = closure.function
    Site(closure.module, function.at)
    if isinstance(closure.owner, Bound):
        args = [closure.owner.owner, *args]
        closure = replace(closure, owner=None)
    if function.is_async and not function.is_generator:
        return Lazy("coroutine", site, (closure, tuple(args), tuple(keywords.items())))
    if function.is_generator:
        kind = "manager" if closure.manager else "generator"
        return Lazy(kind, site, (closure, tuple(args), tuple(keywords.items())), depth=frame.depth)
    if frame.name != "<root>" and not _is_followed(frame, state, closure, args):
        return _too_deep(frame, state, args, keywords, site, function.name)
    return enter_body(frame, state, closure, args, keywords, site)


def enter_body(
    frame: Frame, state: State, closure: Closure, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """Run the body of a function, that of a coroutine too."""
    function = closure.function
    here = Site(closure.module, function.at)
    run = frame.run
    run.call_sites.setdefault(here, (function.name, set()))[1].add(site)
    if isinstance(closure.owner, Klass) and _is_abstract(function):
        return _too_deep(frame, state, args, keywords, site, function.name)
    if len(frame.calls) >= CALL_DEPTH or run.stack.count(here) >= RECURSION:
        return _too_deep(frame, state, args, keywords, site, function.name)
    shared = frame.depth == SHARING_DEPTH
    before = state.fork() if shared else state
    inner, entry = open_frame(frame, state, closure, args, keywords, site)
    kept_back = run.steps // 2 if shared else 0
    run.steps -= kept_back
    run.stack.append(here)
    try:
        end = execute_body(inner, state, function)
    except Exhausted:
        if not shared:
            raise
        state.become(before)
        return _too_deep(frame, state, args, keywords, site, function.name)
    finally:
        run.stack.pop()
        run.steps += kept_back
    return close_frame(frame, inner, state, end, entry)


TELLING = (Tensor, Instance, Closure, Bound, List, Dict, Tuple, Parameters, Lazy)
"""Arguments that a function can do something with that matters."""


def _is_followed(frame: Frame, state: State, closure: Closure, args: list[Any]) -> bool:
    """Whether a call can matter: it may lead to a sink, or (where something else may) shape what goes there."""
    program, name = frame.run.program, closure.function.name
    if (
        frame.run.quiet
        or name == "<lambda>"
        or closure.wraps
        or closure.decorated
        or program.leads(closure.module, name)
    ):
        return True
    if frame.run.shallow:
        return program.guards(closure.module, name)
    return program.shapes(closure.module, name) or any(isinstance(state.resolve(a), TELLING) for a in args)


def _is_abstract(function: ir.Function) -> bool:
    """Whether a method has no body of its own: a subclass outside the tree gives one."""
    return function.name != "__init__" and all(
        isinstance(statement, ir.Evaluate) and isinstance(statement.value, ir.Const | ir.Opaque)
        for statement in function.body
    )


def _too_deep(
    frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site, name: str
) -> Any:
    if state.mode.records is False:
        return _unknown_unrecorded(frame, state, [*args, *keywords.values()], site, name)
    return frame.run.unknown(name)


def execute_body(inner: Frame, state: State, function: ir.Function) -> State | None:
    from gradguard.infer.expressions import evaluate
    from gradguard.infer.statements import execute

    inner.run.covered.add(Site(inner.module, function.at))
    if function.name == "<lambda>" or (len(function.body) == 1 and isinstance(function.body[0], ir.Return)):
        body = function.body[0]
        if isinstance(body, ir.Return):
            value = evaluate(inner, state, body.value)
            if isinstance(value, Lazy):
                return execute(inner, state, function.body)
            inner.run.covered.add(Site(inner.module, body.at))
            inner.exits.append(Exit("return", state.fork(), value, Site(inner.module, body.at)))
            return None
    return execute(inner, state, function.body)


def open_frame(
    frame: Frame, state: State, closure: Closure, args: list[Any], keywords: dict[str, Any], site: Site
) -> tuple[Frame, Mode]:
    """The frame of a call, with its parameters bound and its decorators' guards entered."""
    function = closure.function
    scope = frame.run.fresh()
    state.allocate(scope)
    inner = Frame(
        frame.run,
        closure.module,
        (*closure.scopes, scope),
        function.name,
        state.mode,
        closure,
        (*frame.calls, site),
        (*frame.functions, function.name),
        klass=closure.owner if isinstance(closure.owner, Klass) else frame.klass,
        identity=function.at,
    )
    entry = state.mode
    for wrap in closure.wraps:
        guard = replace(wrap.site, depth=inner.depth, function=function.name)
        state.mode = state.mode.switched(wrap.effect, guard, wrap.when)
    inner.entry = state.mode
    bind_parameters(inner, state, function, args, dict(keywords))
    return inner, entry


def bind_parameters(
    inner: Frame, state: State, function: ir.Function, args: list[Any], keywords: dict[str, Any]
) -> None:
    from gradguard.infer.expressions import evaluate

    scope = inner.scopes[-1]
    remaining = list(args)
    open_ended = "*" in keywords or "**" in keywords
    named = {p.name for p in function.params}
    for param in function.params:
        match param.kind:
            case "*":
                value: Any = Tuple(tuple(remaining))
                remaining = []
            case "**":
                identity = inner.run.fresh()
                extra = {
                    ("key", k): v for k, v in keywords.items() if k not in named and k not in ("*", "**")
                }
                fields: dict[Any, Any] = dict(extra)
                if open_ended:
                    fields["#rest"] = inner.run.unknown()
                state.allocate(identity, fields)
                value = Dict(identity)
            case _ if param.kind == "positional" and remaining:
                value = remaining.pop(0)
            case _ if param.name in keywords:
                value = keywords[param.name]
            case _ if open_ended:
                value = inner.run.unknown(param.name)
            case _ if param.default is not None:
                outer = replace(inner, scopes=inner.scopes[:-1])
                value = evaluate(outer, state, param.default)
            case _:
                value = inner.run.unknown(param.name)
        state.write(scope, param.name, value)


def close_frame(frame: Frame, inner: Frame, state: State, end: State | None, entry: Mode) -> Any:
    """Join the ways out of a call into `state`; the value returned."""
    returns = [one for one in inner.exits if one.kind == "return"]
    inner.run.returned[inner.identity] = [
        (one.site, one.state.resolve(one.value)) for one in returns if one.site
    ]
    if end is not None:
        returns.append(Exit("return", end, NONE))
    raises = [one for one in inner.exits if one.kind == "raise"]
    closure = inner.closure
    if closure is not None and closure.wraps:
        for one in (*returns, *raises):
            one.state.mode = entry
    else:
        note_leaks(inner, entry, returns, raises)
    for one in raises:
        if one.name != "NotImplementedError":
            frame.exits.append(Exit("raise", one.state, site=one.site, name=one.name))
    if not returns:
        if any(one.name == "NotImplementedError" for one in raises):
            state.become(raises[0].state)
            return _too_deep(frame, state, [], {}, inner.calls[-1], inner.name)
        raise Ended
    joined, value = returns[0].state, returns[0].value
    for one in returns[1:]:
        key = distinguishing(joined, one.state)
        value = _either_return(joined, one.state, value, one.value, key)
        merged = join(joined, one.state)
        assert merged is not None
        joined = merged
    state.become(joined)
    if isinstance(value, Lazy) and closure is not None and closure.wraps:
        from gradguard.infer.iteration import note_escape

        note_escape(frame, state, value, returns[0].site or value.site)
    return value


def _either_return(a: State, b: State, left: Any, right: Any, key: tuple[str, bool] | None) -> Any:
    return either(a.resolve(left), b.resolve(right), key)


def note_leaks(inner: Frame, entry: Mode, returns: list[Exit], raises: list[Exit]) -> None:
    """Tell of a function that leaves recording off, or remember it until something needs a gradient."""
    if entry.records is not True:
        return
    ways = [*returns, *(one for one in raises if one.name)]
    leaking = [one for one in ways if _leaks(one.state.mode)]
    if not leaking:
        return
    guard = leaking[0].state.mode.guard
    assert guard is not None
    run = inner.run
    restored = [one for one in returns if not _leaks(one.state.mode)]
    if restored and len(restored) < len(ways) and guard.depth == inner.depth:
        how = "raise" if all(one.kind == "raise" for one in leaking) else "some-ways"
        run.emit(ModeLeft(guard, inner.name, how))
        run.reported_leaks.add(guard.site)
    elif guard.site in run.after_on and guard.depth == inner.depth:
        run.emit(ModeLeft(guard, inner.name, "after-on"))
        run.reported_leaks.add(guard.site)
    if any(one.kind == "return" for one in leaking):
        run.leaks.setdefault(guard.site, (inner.name, guard))
    else:
        run.leaks.setdefault(guard.site, (inner.name, guard))


def _leaks(mode: Mode) -> bool:
    return mode.records is False and mode.guard is not None and mode.guard.form in ("call", "entered")


def run_generator(frame: Frame, state: State, value: Lazy) -> Any:
    """What a generator yields, all of it as one value; its body runs in the consumer's mode."""
    from gradguard.infer.statements import execute

    closure, args, keywords = value.payload
    run = frame.run
    here = Site(closure.module, closure.function.at)
    if len(frame.calls) >= CALL_DEPTH or run.stack.count(here) >= 1:
        return run.unknown()
    mode = state.mode
    inner, _ = open_frame(frame, state, closure, list(args), dict(keywords), value.site)
    run.covered.add(here)
    run.stack.append(here)
    try:
        end = execute(inner, state, closure.function.body)
    finally:
        run.stack.pop()
    last = end if end is not None else next((e.state for e in inner.exits if e.kind == "return"), None)
    result: Any = None
    for one in inner.yields:
        result = one.value if result is None else either(result, one.value, None)
    if last is None and inner.yields:
        last = inner.yields[-1].state
    if last is not None:
        state.become(last)
    state.mode = mode
    return result if result is not None else run.unknown()


def closure_in_mode(
    frame: Frame, state: State, function: Any, args: list[Any], site: Site, mode: Mode = ON
) -> Any:
    """Call a function with the mode set for the time of the call."""
    saved = state.mode
    state.mode = mode
    try:
        value = apply(frame, state, function, args, site)
    finally:
        state.mode = saved
    return value


__all__ = ["Literal", "Module", "apply", "describe", "enter", "evaluate_call", "leaves_of", "unknown_call"]
