"""Running the body of a function that is called."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer.events import ModeLeft
from gradguard.infer.frames import Exit, Frame
from gradguard.infer.joins import distinguishing, either, join
from gradguard.infer.modes import Mode
from gradguard.infer.run import CALL_DEPTH, RECURSION, SHARING_DEPTH, Ended, Exhausted
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.unrecorded import not_followed
from gradguard.infer.values import (
    NONE,
    Bound,
    Closure,
    Dict,
    Instance,
    Klass,
    Lazy,
    List,
    Parameters,
    Tensor,
    Tuple,
)
from gradguard.ir import nodes as ir


def enter(
    frame: Frame, state: State, closure: Closure, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """Call a function of the tree: its value; `state` becomes the state after the call."""
    function = closure.function
    if isinstance(closure.owner, Bound):
        args = [closure.owner.owner, *args]
        closure = replace(closure, owner=None)
    if function.is_async and not function.is_generator:
        return Lazy("coroutine", site, (closure, tuple(args), tuple(keywords.items())))
    if function.is_generator:
        kind = "manager" if closure.manager else "generator"
        return Lazy(kind, site, (closure, tuple(args), tuple(keywords.items())), depth=frame.depth)
    if frame.name != "<root>" and not _is_followed(frame, state, closure, args):
        return not_followed(frame, state, args, keywords, site, function.name)
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
        return not_followed(frame, state, args, keywords, site, function.name)
    if len(frame.calls) >= CALL_DEPTH or run.stack.count(here) >= RECURSION:
        return not_followed(frame, state, args, keywords, site, function.name)
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
        return not_followed(frame, state, args, keywords, site, function.name)
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


def execute_body(inner: Frame, state: State, function: ir.Function) -> State | None:
    """Run the statements of a function in its frame; the state behind them, None where it only returns."""
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
        settled=frame.settled,
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
    """Bind the parameters of a call: what is not given gets its default, or is unknown."""
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
            return not_followed(frame, state, [], {}, inner.calls[-1], inner.name)
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
