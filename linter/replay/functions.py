"""The program's functions, as Python functions whose bodies are interpreted."""

from __future__ import annotations

import types
from collections.abc import AsyncIterator, Callable, Generator
from dataclasses import dataclass
from typing import Any

from gradguard.ir import nodes as ir
from gradguard.replay.scopes import Frame
from gradguard.replay.wild import unknown

Steps = Generator[Any, Any, Any]


@dataclass(frozen=True)
class Suspended:
    """What an asynchronous generator's body hands up when it awaits, as against when it yields."""

    token: Any


class Marked:
    """Marks an exception as having left the program's own code."""

    ATTRIBUTE = "_gradguard_replayed"

    @classmethod
    def mark(cls, error: BaseException) -> None:
        try:
            setattr(error, cls.ATTRIBUTE, True)
        except (AttributeError, TypeError):
            return

    @classmethod
    def is_marked(cls, error: BaseException) -> bool:
        return hasattr(error, cls.ATTRIBUTE)


def finish(steps: Steps) -> Any:  # noqa: ANN401
    """Run an interpretation that gives no control away; its result."""
    try:
        steps.send(None)
    except StopIteration as stop:
        return stop.value
    steps.close()
    raise SyntaxError("'yield' outside function")


def make_function(frame: Frame, function: ir.Function, defaults: dict[str, Any]) -> Callable[..., Any]:
    """A Python function that interprets `function` where it was defined; what is not passed is unknown."""
    klass = frame.klass

    def body(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Steps:
        return _run(frame, function, klass, defaults, args, kwargs)

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


def _plain(body: Callable[..., Steps]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return finish(body(args, kwargs))

    return call


def _generator(body: Callable[..., Steps]) -> Callable[..., Any]:
    def generate(*args: Any, **kwargs: Any) -> Steps:  # noqa: ANN401
        return (yield from body(args, kwargs))

    return generate


def _coroutine(body: Callable[..., Steps]) -> Callable[..., Any]:
    async def run(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return await _awaitable(body(args, kwargs))

    return run


def _async_generator(body: Callable[..., Steps]) -> Callable[..., Any]:
    async def generate(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:  # noqa: ANN401
        steps = body(args, kwargs)
        sent: Any = None
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
def _suspension(token: Any) -> Steps:  # noqa: ANN401
    return (yield token)


def _run(
    outer: Frame,
    function: ir.Function,
    klass: list[Any] | None,
    defaults: dict[str, Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
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
        Marked.mark(error)
        if watched:
            session.note(site, "leave", before, error=error)
        raise
    finally:
        if not (function.is_generator or function.is_async):
            session.depth -= 1


def _arguments(
    outer: Frame, function: ir.Function, defaults: dict[str, Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    left, named, values = list(args), dict(kwargs), {}
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


def unknown_arguments(outer: Frame, function: ir.Function, skip: int) -> dict[str, Any]:
    """Unknown values for the named parameters behind the first `skip`, those with defaults too."""
    return {
        param.name: unknown(outer.session, param.name)
        for param in function.params[skip:]
        if param.kind in ("positional", "keyword")
    }


def awaiting(frame: Frame, value: Any) -> Steps:  # noqa: ANN401
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
