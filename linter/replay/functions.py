"""The program's functions, as Python functions whose bodies are interpreted."""

from __future__ import annotations

import types
from collections.abc import AsyncIterator, Callable, Generator
from dataclasses import dataclass

from gradguard.ir import nodes as ir
from gradguard.replay.scopes import Frame
from gradguard.replay.value import Value
from gradguard.replay.wild import unknown

Steps = Generator[Value, Value, Value]


@dataclass(frozen=True)
class Suspended:
    """What an asynchronous generator's body hands up when it awaits, as against when it yields."""

    token: Value


_MARK = "_gradguard_replayed"


def mark(error: BaseException) -> None:
    """Note on an exception that it has left the program's own code."""
    try:
        setattr(error, _MARK, True)
    except (AttributeError, TypeError):
        return


def is_marked(error: BaseException) -> bool:
    """Whether an exception has come through the program's own code."""
    return hasattr(error, _MARK)


def finish(steps: Steps) -> Value:
    """Run an interpretation that gives no control away; its result."""
    try:
        steps.send(None)
    except StopIteration as stop:
        return stop.value
    steps.close()
    raise SyntaxError("'yield' outside function")


def make_function(frame: Frame, function: ir.Function, defaults: dict[str, Value]) -> Callable[..., Value]:
    """A Python function that interprets `function` where it was defined; what is not passed is unknown."""
    klass = frame.klass

    def body(args: tuple[Value, ...], kwargs: dict[str, Value]) -> Steps:
        steps = _run(frame, function, klass, defaults, args, kwargs)
        if function.is_generator or function.is_async:
            frame.session.suspended.append(steps)
        return steps

    if function.is_async and function.is_generator:
        made = _async_generator(body)
    elif function.is_async:
        made = _coroutine(body)
    elif function.is_generator:
        made = _generator(body)
    else:
        made = _plain(body)
    made.__name__ = made.__qualname__ = function.name
    made.__module__ = "__main__"
    frame.session.functions[id(made)] = function
    frame.session.kept.append(made)
    return made


def _plain(body: Callable[..., Steps]) -> Callable[..., Value]:
    def call(*args: Value, **kwargs: Value) -> Value:
        return finish(body(args, kwargs))

    return call


def _generator(body: Callable[..., Steps]) -> Callable[..., Value]:
    def generate(*args: Value, **kwargs: Value) -> Steps:
        return (yield from body(args, kwargs))

    return generate


def _coroutine(body: Callable[..., Steps]) -> Callable[..., Value]:
    async def run(*args: Value, **kwargs: Value) -> Value:
        return await _awaitable(body(args, kwargs))

    return run


def _async_generator(body: Callable[..., Steps]) -> Callable[..., Value]:
    async def generate(*args: Value, **kwargs: Value) -> AsyncIterator[Value]:
        steps = body(args, kwargs)
        sent: Value = None
        while True:
            try:
                given = steps.send(sent)
            except StopIteration:
                return
            if isinstance(given, Suspended):
                sent = await _suspension(given.token)
            else:
                sent = yield given

    return generate


@types.coroutine
def _awaitable(steps: Steps) -> Steps:
    return (yield from steps)


@types.coroutine
def _suspension(token: Value) -> Steps:
    return (yield token)


def _run(
    outer: Frame,
    function: ir.Function,
    klass: list[Value] | None,
    defaults: dict[str, Value],
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> Steps:
    from gradguard.replay.execute import Returned, execute

    session = outer.session
    values = _arguments(outer, function, defaults, args, kwargs)
    frame = outer.inner(
        values, function=function, klass=klass, wraps_awaits=function.is_async and function.is_generator
    )
    site = frame.site(function.at)
    watched = function.at in frame.watched
    before = frame.resumed = session.backend.modes()
    session.descend()
    if function.is_generator or function.is_async:
        session.depth -= 1
    if watched:
        session.note(site, "enter", before, operands=tuple(values.values()))
    try:
        end = yield from execute(frame, function.body)
        value = end.value if isinstance(end, Returned) else None
        if watched:
            session.note(site, "leave", before, value)
        return value
    except Exception as error:
        mark(error)
        if watched:
            session.note(site, "leave", before, error=error)
        raise
    finally:
        if not (function.is_generator or function.is_async):
            session.depth -= 1


def _arguments(
    outer: Frame,
    function: ir.Function,
    defaults: dict[str, Value],
    args: tuple[Value, ...],
    kwargs: dict[str, Value],
) -> dict[str, Value]:
    left, named = list(args), dict(kwargs)
    values: dict[str, Value] = {}
    for param in function.params:
        name = param.name
        if param.kind == "*":
            values[name], left = tuple(left), []
        elif param.kind == "**":
            values[name], named = named, {}
        elif left and param.kind == "positional":
            values[name] = left.pop(0)
        elif name in named:
            values[name] = named.pop(name)
        elif name in defaults:
            values[name] = defaults[name]
        else:
            values[name] = unknown(outer.session, name)
    return values


def unknown_arguments(outer: Frame, function: ir.Function, skip: int) -> dict[str, Value]:
    """Unknown values for the named parameters behind the first `skip`, those with defaults too."""
    return {
        param.name: unknown(outer.session, param.name)
        for param in function.params[skip:]
        if param.kind in ("positional", "keyword")
    }


def awaiting(frame: Frame, value: Value) -> Steps:
    """Await something inside an interpretation: what it gives control away with goes up to the driver."""
    if not hasattr(type(value), "__await__"):
        raise TypeError(f"object {type(value).__name__} can't be used in 'await' expression")
    steps = value.__await__()
    sent = None
    while True:
        try:
            token = steps.send(sent) if hasattr(steps, "send") else next(steps)
        except StopIteration as stop:
            return stop.value
        sent = yield Suspended(token) if frame.wraps_awaits else token
