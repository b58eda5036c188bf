"""What a root starts with: an object, and arguments of which nothing is known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer import bases, classes, entering
from gradguard.infer.frames import Frame
from gradguard.infer.interest import (
    settings,
)
from gradguard.infer.modes import ON
from gradguard.infer.run import STEPS, Ended, Exhausted
from gradguard.infer.sites import Root, Site
from gradguard.infer.state import State
from gradguard.infer.values import (
    Closure,
    Instance,
    Klass,
    Literal,
    Tensor,
    Track,
    Unknown,
)
from gradguard.ir import nodes as ir


def instance_of(top: Frame, state: State, klass: Klass, fully: bool) -> Instance:
    """An object of a class as its constructor leaves it, with unknown arguments."""
    identity = top.run.fresh()
    instance = Instance(identity, klass)
    state.allocate(identity)
    classes.construct_outside(top, state, instance, [], {})
    init = bases.member(top, state, klass, "__init__")
    if isinstance(init, Closure) and fully:
        top.run.steps = STEPS // 3
        top.run.root = Root("init", top.module, init.function.at, klass.site.at)
        try:
            keywords = unknown_arguments(top, state, init.function, skip=1)
            entering.enter(
                replace(top, name="<root>"),
                state,
                init,
                [instance],
                keywords,
                Site(top.module, init.function.at),
            )
        except (Ended, Exhausted, RecursionError):
            pass
        state.mode = ON
        _forget_settings(top, state, instance, klass)
    return instance


def _forget_settings(top: Frame, state: State, instance: Instance, klass: Klass) -> None:
    """Constants that other methods set again are not known when a method is called, nor whether it trains."""
    state.drop(instance.id, "training")
    for method in state.fields(klass.id).values():
        if not isinstance(method, Closure) or method.function.name == "__init__":
            continue
        for name in settings(method.function):
            if isinstance(state.read(instance.id, name), Literal):
                state.write(instance.id, name, top.run.unknown(name))


def unknown_arguments(top: Frame, state: State, function: ir.Function, skip: int) -> dict[str, Any]:
    """Arguments of which nothing is known, but that a name may say that it is data; the first `skip` are left out."""
    facts = top.run.facts
    keywords: dict[str, Any] = {}
    for param in function.params[skip:]:
        if param.kind in ("*", "**"):
            continue
        name = param.name
        if facts.has("assume.data", name.lower()) and param.default is None:
            note = f"`{name}` is data"
            keywords[name] = Tensor(Track.DATA, top.run.fresh(), opaque=True, assumed=(note,))
        else:
            keywords[name] = Unknown(top.run.fresh(), name)
    return keywords
