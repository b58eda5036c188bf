"""Comprehensions and generator expressions."""

from __future__ import annotations

from gradguard.ir import nodes as ir
from gradguard.replay.branches import decide
from gradguard.replay.evaluate import evaluate
from gradguard.replay.functions import Steps, awaiting
from gradguard.replay.loops import bounded, set_gradients
from gradguard.replay.mixtures import tensors_in
from gradguard.replay.scopes import Frame
from gradguard.replay.targets import assign
from gradguard.replay.value import Value
from gradguard.replay.wild import Wild


def comprehend(frame: Frame, node: ir.Comprehension) -> Steps:
    """The list, set, dict or generator that a comprehension makes."""
    inner = frame.inner({})
    first = yield from evaluate(frame, node.clauses[0].iter)
    if node.kind == "generator":
        lazy = _lazy(inner, node, first)
        if node.at in frame.watched:
            frame.session.lazies.append(lazy)
        return lazy
    made: list[Value] = []
    yield from _clauses(inner, node, 0, first, made)
    match node.kind:
        case "set":
            return set(made)
        case "dict":
            return dict(made)
        case _:
            return made


def _lazy(frame: Frame, node: ir.Comprehension, first: Value) -> Steps:
    """A generator expression: each element is computed when it is asked for."""
    session = frame.session
    if len(node.clauses) > 1:
        made: list[Value] = []
        yield from _clauses(frame, node, 0, first, made)
        yield from made
        return
    clause = node.clauses[0]
    for item in bounded(session, first):
        yield from assign(frame, clause.target, item)
        if not (yield from _holds(frame, clause)):
            continue
        before = session.backend.modes()
        value = yield from evaluate(frame, node.element)
        if node.at in frame.watched:
            session.note(frame.site(node.at), "element", before, value)
        yield value


def _clauses(frame: Frame, node: ir.Comprehension, number: int, source: Value, made: list[Value]) -> Steps:
    clause = node.clauses[number]
    if clause.is_async and hasattr(type(source), "__aiter__") and not isinstance(source, Wild):
        items = yield from _collected(frame, source)
    else:
        items = list(bounded(frame.session, source))
        if frame.session.filling is not None:
            set_gradients(frame.session, list(tensors_in(frame.session, items)), frame.session.filling)
    for item in items:
        yield from assign(frame, clause.target, item)
        if not (yield from _holds(frame, clause)):
            continue
        if number + 1 < len(node.clauses):
            inner = yield from evaluate(frame, node.clauses[number + 1].iter)
            yield from _clauses(frame, node, number + 1, inner, made)
            continue
        value = yield from evaluate(frame, node.element)
        if node.at in frame.watched:
            frame.session.note(frame.site(node.at), "element", frame.session.backend.modes(), value)
        made.append(value)


def _holds(frame: Frame, clause: ir.Clause) -> Steps:
    for condition in clause.conditions:
        if not (yield from decide(frame, condition, None)):
            return False
    return True


def _collected(frame: Frame, source: Value) -> Steps:
    items: list[Value] = []
    iterator = source.__aiter__()
    while True:
        try:
            items.append((yield from awaiting(frame, iterator.__anext__())))
        except StopAsyncIteration:
            return items
