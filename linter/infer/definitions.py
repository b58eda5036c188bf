"""Defining functions and classes, decorators included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer import calls, guards
from gradguard.infer.describe import last_name
from gradguard.infer.frames import Frame
from gradguard.infer.modes import GuardSite
from gradguard.infer.scopes import lookup
from gradguard.infer.state import State
from gradguard.infer.values import Closure, Guard, Imported, Instance, Klass, Known, Partial, Unknown
from gradguard.ir import nodes as ir


def define_function(frame: Frame, state: State, statement: ir.FunctionDef) -> State | None:
    """`def`: binds the function as its decorators leave it."""
    function = statement.function
    value: Any = Closure(
        function, frame.module, closing_scopes(frame), owner=frame.klass if frame.is_class else None
    )
    if frame.is_class and function.name in ("__new__", "__class_getitem__", "__init_subclass__"):
        value = replace(value, kind="class")
    for decorator in reversed(function.decorators):
        value = decorated(frame, state, decorator, value)
    state.write(frame.outer_names.get(function.name, frame.scopes[-1]), function.name, value)
    return state


def closing_scopes(frame: Frame) -> tuple[int, ...]:
    """The scopes that a function defined here can see: a class's own scope is not one of them."""
    return frame.scopes[:-1] if frame.is_class else frame.scopes


def decorated(frame: Frame, state: State, decorator: ir.Expr, target: Any) -> Any:
    """What `@decorator` makes of a function or class."""
    from gradguard.infer.expressions import evaluate

    site = frame.site(decorator.at)
    if isinstance(decorator, ir.Attr) and decorator.name in ("setter", "getter", "deleter"):
        return target
    imported = _imported(frame, state, decorator.func if isinstance(decorator, ir.Call) else decorator)
    if imported is not None and not frame.run.program.may_guard(imported):
        return target
    if isinstance(decorator, ir.Call) and isinstance(decorator.func, ir.Name):
        maker = state.resolve(lookup(frame, state, decorator.func.id))
        if isinstance(maker, Closure) and not _may_guard(frame, maker):
            return target
    value = state.resolve(evaluate(frame, state, decorator))
    match value:
        case Guard():
            return guards.decorate(frame, state, value, target, site)
        case Known(path=path) if path in frame.run.facts.guards:
            if frame.run.facts.guards[path] not in ("off", "on", "inference"):
                return target
            held = GuardSite(guards.short_name(path), "decorator", site, frame.depth, frame.name)
            return guards.decorate(frame, state, Guard(frame.run.facts.guards[path], held), target, site)
        case Known(path=path) if path.endswith(("contextmanager", "asynccontextmanager", "fixture")):
            return replace(target, manager=True) if isinstance(target, Closure) else target
        case Known(path="builtins.property" | "functools.cached_property" | "abc.abstractproperty"):
            return replace(target, kind="property") if isinstance(target, Closure) else target
        case Known(path="builtins.staticmethod"):
            return replace(target, kind="static") if isinstance(target, Closure) else target
        case Known(path="builtins.classmethod"):
            return replace(target, kind="class") if isinstance(target, Closure) else target
        case Closure() | Partial() if isinstance(target, Closure):
            return _by_function(frame, state, value, target, site)
        case Unknown(hint=hint) if "fixture" in hint and isinstance(target, Closure):
            return replace(target, manager=True)
        case Instance() | Unknown() | Known():
            return replace(target, decorated=True) if isinstance(target, Closure) else target
        case _:
            return target


def _imported(frame: Frame, state: State, expr: ir.Expr) -> Imported | None:
    """The import that a name stands for, if it was not looked up yet."""
    if isinstance(expr, ir.Name):
        for scope in reversed(frame.scopes):
            value = state.read(scope, expr.id)
            if value is not None:
                return value if isinstance(value, Imported) else None
    return None


def _may_guard(frame: Frame, decorator: Closure) -> bool:
    """Whether a decorator (or a maker of one) of the tree has to do with guards; the others change nothing here."""
    named = frame.run.program.guards(decorator.module, decorator.function.name)
    return named or decorator.manager or bool(decorator.wraps)


def _by_function(frame: Frame, state: State, decorator: Any, target: Closure, site: Any) -> Any:
    """A decorator defined in the tree."""
    if isinstance(decorator, Closure) and not _may_guard(frame, decorator):
        return target
    result = state.resolve(calls.apply(frame, state, decorator, [target], site))
    if isinstance(result, Closure):
        return replace(
            result, kind=target.kind if target.kind != "lambda" else result.kind, owner=target.owner
        )
    return target if isinstance(result, Unknown) else result


def define_class(frame: Frame, state: State, statement: ir.ClassDef) -> State | None:
    """`class`: runs the body in a scope of its own."""
    from gradguard.infer.expressions import evaluate
    from gradguard.infer.statements import execute

    run = frame.run
    bases = []
    plain = run.program.is_plain(frame.module)
    for arg in statement.bases:
        if plain and _imported(frame, state, arg.value) is not None:
            bases.append(run.unknown(last_name(arg.value)))
            continue
        value = evaluate(frame, state, arg.value)
        if arg.name is None and not arg.star:
            bases.append(state.resolve(value))
    identity = run.fresh()
    klass = Klass(identity, statement.name, frame.module, tuple(bases), frame.site(statement.at))
    state.allocate(identity)
    inner = replace(
        frame,
        scopes=(*frame.scopes, identity),
        klass=klass,
        is_class=True,
        outer_names={},
        exits=frame.exits,
        yields=frame.yields,
    )
    end = execute(inner, state, statement.body)
    if end is None:
        return None
    result: Any = klass
    for decorator in reversed(statement.decorators):
        result = decorated(frame, end, decorator, result)
    end.write(frame.outer_names.get(statement.name, frame.scopes[-1]), statement.name, result)
    run.classes.append((klass, frame.module))
    return end
