"""Calls: of functions in the tree, of modules, and of what is not known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer import bases, classes, iteration
from gradguard.infer.describe import describe, last_name
from gradguard.infer.entering import enter, open_frame
from gradguard.infer.events import ClosureUnderGuard
from gradguard.infer.frames import Frame
from gradguard.infer.joins import either, join, leaves_of
from gradguard.infer.modes import ON, Mode
from gradguard.infer.run import CALL_DEPTH
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.unrecorded import assumed_criterion, unknown_unrecorded
from gradguard.infer.values import (
    Alternatives,
    Bound,
    Closure,
    Dict,
    Guard,
    Instance,
    Klass,
    Known,
    Lazy,
    Literal,
    Module,
    Partial,
    Super,
    Tensor,
    Track,
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
    own = bases.member(frame, state, instance.klass, "__call__")
    if isinstance(own, Closure):
        return enter(frame, state, own, [instance, *args], keywords, site)
    if bases.is_module(frame, instance):
        return classes.call_module(frame, state, instance, args, keywords, site)
    found = bases.member(frame, state, instance.klass, "forward")
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
        return unknown_unrecorded(frame, state, operands, site, name)
    if state.mode.records is None and state.mode.when is not None and state.mode.guard is not None:
        made = unknown_unrecorded(frame, state, operands, site, name)
        return (
            replace(made, track=Track.CONDITIONAL, when=state.mode.when) if isinstance(made, Tensor) else made
        )
    hint = name.lower()
    is_criterion = facts.has("assume.criteria", hint) or hint.endswith(("_criterion", "_loss_fn", "loss_fct"))
    if is_criterion and operands:
        return assumed_criterion(frame, state, operands, site, name)
    return Unknown(frame.run.fresh(), name, made=site)


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
