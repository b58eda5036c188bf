"""Executing statements. Executors are generators, like evaluators; they give how the block was left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradguard.ir import nodes as ir
from gradguard.replay.access import read_attribute, read_item, write_attribute, write_item
from gradguard.replay.branches import decide, truth_of
from gradguard.replay.classes import define_class
from gradguard.replay.evaluate import default_values, evaluate
from gradguard.replay.functions import Steps, awaiting, make_function
from gradguard.replay.imports import execute_import
from gradguard.replay.invoke import decorated
from gradguard.replay.loops import execute_for, execute_while
from gradguard.replay.operators import binary, compare
from gradguard.replay.scopes import Frame
from gradguard.replay.targets import assign
from gradguard.replay.value import Value
from gradguard.replay.wild import Wild


@dataclass(frozen=True)
class Returned:
    """The function was left with a value."""

    value: Value


@dataclass(frozen=True)
class Broke:
    """The loop was left."""


@dataclass(frozen=True)
class Continued:
    """The round of the loop was left."""


def execute(frame: Frame, body: ir.Body) -> Steps:
    """Run statements until the block is left: Returned, Broke, Continued, or None at its end."""
    for statement in body:
        frame.session.tick()
        steps = _EXECUTORS[type(statement)](frame, statement)
        if statement.at in frame.watched and not isinstance(statement, ir.FunctionDef):
            end = yield from _watched(frame, statement, steps)
        else:
            end = yield from steps
        if end is not None:
            return end
    return None


def _watched(frame: Frame, statement: Value, steps: Steps) -> Steps:
    """A statement whose passage is noted, with what it has assigned or returns."""
    session, site = frame.session, frame.site(statement.at)
    before = session.backend.modes()
    session.assigned = None
    try:
        end = yield from steps
    except Exception as error:
        session.note(site, "node", before, error=error)
        raise
    session.note(site, "node", before, session.assigned if end is None else end)
    return end


def _evaluate(frame: Frame, node: ir.Evaluate) -> Steps:
    yield from evaluate(frame, node.value)


def _assign(frame: Frame, node: ir.Assign) -> Steps:
    value = yield from evaluate(frame, node.value)
    for target in node.targets:
        yield from assign(frame, target, value)
    if node.at in frame.watched:
        frame.session.assigned = value


def _update(frame: Frame, node: ir.Update) -> Steps:
    session = frame.session
    target = node.target
    match target:
        case ir.Attr(base=base, name=name):
            owner = yield from evaluate(frame, base)
            value = yield from evaluate(frame, node.value)
            made = _updated(frame, node, read_attribute(session, owner, name), value)
            write_attribute(session, owner, name, made)
        case ir.Item(base=base, index=index):
            owner = yield from evaluate(frame, base)
            key = yield from evaluate(frame, index)
            value = yield from evaluate(frame, node.value)
            write_item(session, owner, key, _updated(frame, node, read_item(session, owner, key), value))
        case _:
            current = yield from evaluate(frame, target)
            value = yield from evaluate(frame, node.value)
            yield from assign(frame, target, _updated(frame, node, current, value))


def _updated(frame: Frame, node: ir.Update, current: Value, value: Value) -> Value:
    session = frame.session
    rebinds = session.rebinds and session.backend.is_tensor(current)
    made = binary(session, node.op, current, value, in_place=not rebinds)
    if node.at in frame.watched:
        session.assigned = made
    return made


def _if(frame: Frame, node: ir.If) -> Steps:
    holds = yield from decide(frame, node.test, (node.then, node.other))
    return (yield from execute(frame, node.then if holds else node.other))


def _with(frame: Frame, node: ir.With) -> Steps:
    return (yield from _entered(frame, node, 0))


def _entered(frame: Frame, node: ir.With, number: int) -> Steps:
    if number == len(node.entries):
        return (yield from execute(frame, node.body))
    entry = node.entries[number]
    session = frame.session
    manager = yield from evaluate(frame, entry.context)
    before = session.backend.modes()
    if node.is_async and hasattr(type(manager), "__aenter__"):
        return (yield from _entered_async(frame, node, number, manager))
    end, inside = None, False
    try:
        with manager as target:
            inside = True
            session.entered[id(manager)] = manager
            if entry.at in frame.watched:
                session.note(frame.site(entry.at), "entered", before, target)
            if entry.target is not None:
                yield from assign(frame, entry.target, target)
            end = yield from _entered(frame, node, number + 1)
    except Exception as error:
        if not inside and entry.at in frame.watched:
            session.note(frame.site(entry.at), "entered", before, error=error)
        raise
    return end


def _entered_async(frame: Frame, node: ir.With, number: int, manager: Value) -> Steps:
    entry = node.entries[number]
    target = yield from awaiting(frame, manager.__aenter__())
    if entry.target is not None:
        yield from assign(frame, entry.target, target)
    try:
        end = yield from _entered(frame, node, number + 1)
    except Exception as error:
        if (yield from awaiting(frame, manager.__aexit__(type(error), error, None))):
            return None
        raise
    yield from awaiting(frame, manager.__aexit__(None, None, None))
    return end


def _try(frame: Frame, node: ir.Try) -> Steps:
    try:
        try:
            end = yield from execute(frame, node.body)
        except (RecursionError, MemoryError):
            raise
        except Exception as error:
            handler = yield from _handler(frame, node.handlers, error)
            if handler is None:
                raise
            end = yield from _handled(frame, handler, error)
        else:
            if end is None:
                end = yield from execute(frame, node.orelse)
    finally:
        last = yield from execute(frame, node.final)
    return end if last is None else last


def _handler(frame: Frame, handlers: tuple[ir.Handler, ...], error: Exception) -> Steps:
    for handler in handlers:
        if handler.type is None:
            return handler
        kind = yield from evaluate(frame, handler.type)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        # What is unknown may be the error's class; one that speaks of gradients is no library's own.
        known = tuple(one for one in kinds if isinstance(one, type) and issubclass(one, BaseException))
        if isinstance(error, known):
            return handler
    return None


def _handled(frame: Frame, handler: ir.Handler, error: Exception) -> Steps:
    if handler.name is not None:
        frame.bind(handler.name, error)
    frame.handled.append(error)
    try:
        return (yield from execute(frame, handler.body))
    finally:
        frame.handled.pop()


def _raise(frame: Frame, node: ir.Raise) -> Steps:
    if node.value is None:
        raise frame.handled[-1] if frame.handled else RuntimeError("No active exception to reraise")
    value = yield from evaluate(frame, node.value)
    if isinstance(value, BaseException) or (isinstance(value, type) and issubclass(value, BaseException)):
        raise value
    raise RuntimeError("an error of an unknown kind")


def _match(frame: Frame, node: ir.Match) -> Steps:
    subject = yield from evaluate(frame, node.subject)
    for case in node.cases:
        holds: Value = case.catches_all or case.test is None
        if case.test is not None:
            value = yield from evaluate(frame, case.test)
            holds = truth_of(frame, case.test, compare(frame.session, "==", subject, value), None)
        if not holds:
            continue
        for name in case.captures:
            frame.bind(name, subject if len(case.captures) == 1 else Wild(frame.session, name))
        if case.guard is not None and not (yield from decide(frame, case.guard, (case.body, ()))):
            continue
        return (yield from execute(frame, case.body))
    return None


def _return(frame: Frame, node: ir.Return) -> Steps:
    return Returned(None if node.value is None else (yield from evaluate(frame, node.value)))


def _break(frame: Frame, node: ir.Break) -> Steps:
    return Broke()
    yield


def _continue(frame: Frame, node: ir.Continue) -> Steps:
    return Continued()
    yield


def _delete(frame: Frame, node: ir.Delete) -> Steps:
    for target in node.targets:
        match target:
            case ir.Name(id=name):
                frame.unbind(name)
            case ir.Item(base=base, index=index):
                owner = yield from evaluate(frame, base)
                key = yield from evaluate(frame, index)
                if not frame.session.backend.is_tensor(owner):
                    del owner[key]
            case ir.Attr(base=base, name=name):
                owner = yield from evaluate(frame, base)
                if not isinstance(owner, Wild) and not name.startswith("__"):
                    delattr(owner, name)


def _declare(frame: Frame, node: ir.Declare) -> Steps:
    frame.names.update(dict.fromkeys(node.names, node.kind))
    return None
    yield


def _assert(frame: Frame, node: ir.Assert) -> Steps:
    session = frame.session
    holds = yield from decide(frame, node.test, ((node.test,), ()))
    if not holds and session.trace.exact:
        raise AssertionError


def _function(frame: Frame, node: ir.FunctionDef) -> Steps:
    function = node.function
    decorators = []
    for decorator in function.decorators:
        decorators.append((yield from evaluate(frame, decorator)))
    defaults = yield from default_values(frame, function)
    value: Value = make_function(frame, function, defaults)
    for decorator in reversed(decorators):
        value = decorated(frame, decorator, value)
    frame.bind(function.name, value)


def _class(frame: Frame, node: ir.ClassDef) -> Steps:
    yield from define_class(frame, node)


def _import(frame: Frame, node: ir.Import) -> Steps:
    execute_import(frame, node)
    return None
    yield


def _nothing(frame: Frame, node: Value) -> Steps:
    return None
    yield


_EXECUTORS: dict[type, Callable[[Frame, Value], Steps]] = {
    ir.Evaluate: _evaluate,
    ir.Assign: _assign,
    ir.Update: _update,
    ir.If: _if,
    ir.While: execute_while,
    ir.For: execute_for,
    ir.With: _with,
    ir.Try: _try,
    ir.Match: _match,
    ir.Return: _return,
    ir.Raise: _raise,
    ir.Break: _break,
    ir.Continue: _continue,
    ir.Delete: _delete,
    ir.Declare: _declare,
    ir.Assert: _assert,
    ir.FunctionDef: _function,
    ir.ClassDef: _class,
    ir.Import: _import,
    ir.Let: _nothing,
}
