"""Guards: making them, entering and leaving them, and putting them on functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gradguard.infer import bases, entering
from gradguard.infer.events import (
    CoroutineGuarded,
    EnabledUnderInference,
    GuardMiscalled,
    GuardRepeated,
    GuardUnused,
)
from gradguard.infer.frames import Frame
from gradguard.infer.joins import leaves_of
from gradguard.infer.modes import GuardSite, Mode, When
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.truths import as_when
from gradguard.infer.values import (
    NONE,
    Alternatives,
    Bound,
    Closure,
    Guard,
    Instance,
    Klass,
    Known,
    Lazy,
    Literal,
    Parameters,
    Partial,
    Tensor,
    Unknown,
)
from gradguard.ir import nodes as ir

OFF = ("off", "inference")
ENTERED = -2
Leave = Callable[[State], None]


def short_name(path: str) -> str:
    """The last part of a dotted name."""
    return path.rsplit(".", 1)[-1]


def make(
    frame: Frame,
    state: State,
    path: str,
    effect: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None = None,
) -> Any:
    """Call a guard class: `torch.no_grad()`, `torch.set_grad_enabled(mode)` ..."""
    name = short_name(path)
    argument = state.resolve(args[0] if args else keywords.get("mode"))
    written_out = expr is not None and all(isinstance(arg.value, ir.Const) for arg in expr.args)
    varies = effect not in ("off", "on") and not written_out
    guard = GuardSite(name, "object", site, frame.depth, frame.name, varies)
    if isinstance(argument, Closure | Bound | Partial) and (
        not isinstance(argument, Bound) or isinstance(argument.method, Closure)
    ):
        return decorate(frame, state, Guard(_effect_of(effect), guard), argument, site)
    match effect:
        case "off" | "on":
            if argument is not None:
                return _with_argument(frame, argument, name, effect, guard, site)
            return Guard(effect, guard, origin=frame.run.fresh())
        case "inference":
            return _switchable(frame, state, argument, guard, "inference", "normal")
        case _ if argument is None and "**" not in keywords and "*" not in keywords:
            frame.run.emit(GuardMiscalled(name, "missing", site))
            return Guard("none", guard)
        case _:
            made = _switchable(frame, state, argument, replace(guard, form="call"), "on", "off")
            frame.run.modes_before[site] = state.mode
            _switch(frame, state, made)
            return made


def _effect_of(effect: str) -> str:
    return effect if effect in ("off", "on", "inference") else "none"


def _with_argument(frame: Frame, argument: Any, name: str, effect: str, guard: GuardSite, site: Site) -> Any:
    if isinstance(argument, Instance | Tensor | Literal | Parameters):
        frame.run.emit(GuardMiscalled(name, "argument", site))
        return Guard("none", guard)
    return Unknown(frame.run.fresh(), name)


def _switchable(frame: Frame, state: State, argument: Any, guard: GuardSite, true: str, false: str) -> Guard:
    """A guard whose effect depends on a boolean argument."""
    origin = frame.run.fresh()
    if argument is None:
        return Guard(true, guard, origin=origin)
    condition = as_when(state, argument)
    if condition is None:
        return Guard("unknown", guard, origin=origin)
    if isinstance(condition, bool):
        return Guard(true if condition else false, guard, origin=origin)
    if true == "on":
        return Guard("off", guard, condition.negated(), origin)
    return Guard(true, guard, condition, origin)


def _switch(frame: Frame, state: State, guard: Guard) -> None:
    """`set_grad_enabled` switches when it is made."""
    mode = state.mode
    if (
        guard.effect == "off"
        and guard.when is None
        and mode.grad
        and mode.guard is not None
        and mode.guard.form == "call"
        and mode.guard.depth == frame.depth
    ):
        frame.run.after_on.add(guard.site.site)
    if guard.effect == "off" and guard.when is None:
        state.mode = Mode(False, mode.inference, mode.guard if mode.records is False else guard.site)
    elif guard.effect == "off" and guard.when is not None:
        state.mode = Mode(None, mode.inference, guard.site, guard.when.negated())
    elif guard.effect == "on":
        state.mode = Mode(True, mode.inference, mode.guard if mode.inference else guard.site)
    else:
        state.mode = Mode(None, mode.inference, guard.site)


def as_guard(state: State, value: Any) -> Guard | None:
    """The guard that a context expression gives, conditional ones as one guard; None for anything else."""
    value = state.resolve(value)
    if isinstance(value, Guard):
        return value
    if isinstance(value, Alternatives):
        then, other = state.resolve(value.then), state.resolve(value.other)
        if isinstance(then, Guard) and isinstance(other, Guard):
            return _either_guard(value.key, then, other)
        options = [state.resolve(one) for one in leaves_of(value)]
        for option in options:
            if isinstance(option, Guard) and option.effect in OFF:
                return Guard("unknown", option.site)
    return None


def _either_guard(key: str, then: Guard, other: Guard) -> Guard:
    if then.effect == other.effect:
        return then
    if then.when is None and other.when is None:
        if other.effect == "none":
            return replace(then, when=When(key, True))
        if then.effect == "none":
            return replace(other, when=When(key, False))
        if then.effect in OFF and other.effect == "on":
            return replace(then, when=When(key, True))
        if other.effect in OFF and then.effect == "on":
            return replace(other, when=When(key, False))
    off = then if then.effect in OFF else other
    return Guard("unknown", off.site)


def enter_guard(frame: Frame, state: State, guard: Guard, site: Site, form: str) -> Leave:
    """Enter a guard; what has to be done to leave it again."""
    before = state.mode
    held = replace(guard.site, form=form, site=site, depth=frame.depth, function=frame.name)
    _note_nested(frame, before, guard, held)
    state.mode = before.switched(guard.effect, held, guard.when)
    frame.guards.append(held)

    def leave(after: State) -> None:
        after.mode = before

    return leave


def _note_nested(frame: Frame, before: Mode, guard: Guard, held: GuardSite) -> None:
    outer = before.guard
    if outer is None or outer.depth != frame.depth or outer.site.module != held.site.module:
        return
    if outer.form == "call" or outer.varies or held.varies:
        return
    if guard.effect == "on" and before.inference and guard.when is None:
        frame.run.emit(EnabledUnderInference(held, outer, held.site))
        frame.run.entered.add(outer.site)
        return
    adds_nothing = guard.effect == "off" or (guard.effect == "inference" and before.inference)
    if adds_nothing and guard.when is None and before.records is False:
        frame.run.emit(GuardRepeated(held, outer, held.site))


def enter_context(frame: Frame, state: State, entry: ir.Entry) -> tuple[Any, Leave | None]:
    """One item of a with statement: the value bound by `as`, and how to leave (None: nothing to undo)."""
    from gradguard.infer.expressions import evaluate

    site = frame.site(entry.at)
    _note_conjunction(frame, state, entry.context)
    mode = state.mode
    value = evaluate(frame, state, entry.context)
    guard = as_guard(state, value)
    if guard is not None:
        if guard.site.form == "call":
            state.mode = mode
            guard = replace(guard, site=replace(guard.site, form="object"))
        return NONE, enter_guard(frame, state, guard, site, "with")
    value = state.resolve(value)
    _note_wrapping(frame, state, entry.context, value)
    match value:
        case Known(path=path) if path in frame.run.facts.guards:
            frame.run.emit(GuardMiscalled(short_name(path), "uncalled", site))
            return NONE, None
        case Lazy(kind="manager"):
            return enter_manager(frame, state, value, site)
        case Instance():
            enter = bases.member(frame, state, value.klass, "__enter__")
            if isinstance(enter, Closure):
                return _enter_object(frame, state, value, enter, site)
            if isinstance(value.klass, Known) and value.klass.path.endswith("ExitStack"):
                return value, lambda after: setattr(after, "mode", mode)
            return value, None
        case _:
            return value, None


def _note_wrapping(frame: Frame, state: State, context: ir.Expr, value: Any) -> None:
    """`with no_grad(model):` enters what `no_grad` makes of a function, whatever it is given."""
    from gradguard.infer.expressions import evaluate

    if not isinstance(context, ir.Call) or not context.args or not isinstance(value, Unknown | Closure):
        return
    callee = state.resolve(evaluate(frame, state, context.func))
    if isinstance(callee, Known) and frame.run.facts.guards.get(callee.path) in ("off", "on"):
        frame.run.emit(GuardMiscalled(short_name(callee.path), "argument", frame.site(context.at)))


def _note_conjunction(frame: Frame, state: State, context: ir.Expr) -> None:
    """`with a() and b():` enters only the last."""
    if not isinstance(context, ir.Logic) or context.op != "and":
        return
    from gradguard.infer.expressions import evaluate

    frame.run.quiet += 1
    try:
        values = [(evaluate(frame, state.fork(), operand), operand) for operand in context.operands[:-1]]
    finally:
        frame.run.quiet -= 1
    for value, operand in values:
        if isinstance(value, Guard) and value.effect in OFF:
            frame.run.emit(GuardUnused(value.site, "and", frame.site(operand.at)))


def enter_manager(frame: Frame, state: State, value: Lazy, site: Site) -> tuple[Any, Leave | None]:
    """A generator under @contextmanager: run it, keep the mode at its yield."""
    from gradguard.infer.statements import execute

    closure, args, keywords = value.payload
    run = frame.run
    here = Site(closure.module, closure.function.at)
    if run.stack.count(here) >= 2 or len(frame.calls) > 12:
        return run.unknown(), None
    before = state.mode
    inner, _ = entering.open_frame(frame, state, closure, list(args), dict(keywords), value.site)
    run.covered.add(here)
    run.stack.append(here)
    try:
        end = execute(inner, state, closure.function.body)
    finally:
        run.stack.pop()
    yielded = inner.yields[0] if inner.yields else None
    for one in inner.yields[1:]:
        if yielded is not None and yielded.state.mode != one.state.mode:
            yielded.state.mode = Mode(None, False, one.state.mode.guard or yielded.state.mode.guard)
    if end is not None and end is not state:
        state.become(end)
    after_mode = state.mode if end is not None else before
    if yielded is None:
        return NONE, None
    inside = yielded.state.mode
    if inside.guard is not None and inside != before:
        held = GuardSite(closure.function.name, "helper", site, frame.depth, frame.name)
        inside = replace(inside, guard=held)
        frame.guards.append(held)
    state.mode = inside
    return yielded.value, lambda after: setattr(after, "mode", after_mode)


def _enter_object(
    frame: Frame, state: State, value: Instance, enter: Closure, site: Site
) -> tuple[Any, Leave | None]:
    """An object with __enter__ and __exit__ of its own."""

    before = state.mode
    run = frame.run
    leaks = dict(run.leaks)
    target = entering.enter(frame, state, enter, [value], {}, site)
    run.leaks = leaks
    if state.mode != before and state.mode.guard is not None:
        held = GuardSite(
            value.klass.name if isinstance(value.klass, Klass) else "guard",
            "helper",
            site,
            frame.depth,
            frame.name,
        )
        state.mode = replace(state.mode, guard=held)
        frame.guards.append(held)
    changed = state.mode != before
    leaving = bases.member(frame, state, value.klass, "__exit__")

    def leave(after: State) -> None:
        if isinstance(leaving, Closure):
            unknown = [run.unknown("exc") for _ in range(3)]
            entering.enter(frame, after, leaving, [value, *unknown], {}, site)
        if changed:
            after.mode = before

    return target, leave


def guard_method(frame: Frame, state: State, guard: Guard, name: str, args: list[Any], site: Site) -> Any:
    """`guard.__enter__()` and the like."""
    match name:
        case "__enter__":
            if not state.has(ENTERED):
                state.allocate(ENTERED)
            state.write(ENTERED, guard.origin, Literal(state.mode))
            enter_guard(frame, state, guard, site, "entered")
            return NONE
        case "__exit__":
            saved = state.read(ENTERED, guard.origin)
            if isinstance(saved, Literal):
                state.mode = saved.value
            return NONE
        case "__call__":
            return decorate(frame, state, guard, args[0], site) if args else frame.run.unknown()
        case "clone":
            return guard
        case _:
            return frame.run.unknown(name)


def decorate(frame: Frame, state: State, guard: Guard, target: Any, site: Site) -> Any:
    """Put a guard around a function: `@guard`, `guard(function)`."""
    target = state.resolve(target)
    if guard.site.form == "call":
        before = frame.run.modes_before.get(guard.site.site)
        if before is not None:
            state.mode = before
    held = replace(guard.site, form="decorator", site=site)
    match target:
        case Closure() if target.function.is_async:
            frame.run.emit(CoroutineGuarded(held, site, target.function.name))
            return target
        case Closure() if target.manager:
            if guard.effect in OFF:
                frame.run.emit(GuardUnused(held, "manager", site, target.function.name))
            return target
        case Closure():
            return replace(target, wraps=(replace(guard, site=held), *target.wraps))
        case Klass():
            if guard.effect in OFF:
                frame.run.emit(GuardUnused(held, "class", site, target.name))
            return target
        case Bound(owner=owner, method=Closure() as method):
            return Bound(owner, replace(method, wraps=(replace(guard, site=held), *method.wraps)))
        case Partial(func=func):
            wrapped = decorate(frame, state, guard, func, site)
            return replace(target, func=wrapped)
        case Instance() | Bound() | Known() | Unknown():
            return _passing_on(frame, state, guard, held, target)
        case _:
            return frame.run.unknown()


def _passing_on(frame: Frame, state: State, guard: Guard, held: GuardSite, target: Any) -> Any:
    """A guarded call of something that is no function of the tree: a function that passes everything on."""
    at = ir.NOWHERE
    params = (ir.Param("args", kind="*"), ir.Param("kwargs", kind="**"))
    forwarded = (ir.Arg(ir.Name("args", at), star="*"), ir.Arg(ir.Name("kwargs", at), star="**"))
    call = ir.Call(ir.Name("target", at), forwarded, at)
    function = ir.Function("guarded", params, (ir.Return(call, at),), (), False, False, at)
    scope = frame.run.fresh()
    state.allocate(scope, {"target": target})
    return Closure(function, held.site.module, (scope,), wraps=(replace(guard, site=held),), decorated=True)
