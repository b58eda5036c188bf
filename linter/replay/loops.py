"""Loops, bounded: short sequences are gone through, of long and unknown ones the first rounds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradguard.ir import nodes as ir
from gradguard.replay.branches import decide, places
from gradguard.replay.evaluate import evaluate, note_suspended
from gradguard.replay.functions import Steps, Suspended
from gradguard.replay.limits import ROUNDS, SHORT
from gradguard.replay.scopes import Frame
from gradguard.replay.session import Session
from gradguard.replay.targets import assign
from gradguard.replay.value import Value
from gradguard.replay.wild import Wild


def bounded(session: Session, source: Value) -> Iterator[Value]:
    """What a loop goes through: all of a short sequence, two elements of a long or unknown one."""
    if isinstance(source, Wild):
        yield from source.elements(ROUNDS)
        return
    if isinstance(source, range):
        yield from source if len(source) <= SHORT // 2 else source[:ROUNDS]
        return
    if not hasattr(source, "__iter__") and not hasattr(source, "__getitem__"):
        raise TypeError(f"'{type(source).__name__}' object is not iterable")
    known = hasattr(source, "__len__")
    for number, item in enumerate(source):
        if number >= (4 * SHORT if known else SHORT):
            return
        session.tick()
        yield item


def execute_for(frame: Frame, node: ir.For) -> Steps:
    """A for loop; the way it was left, None where it ended."""
    session = frame.session
    if _filters_missing(frame, node):
        return (yield from _filtered_update(frame, node))
    source = yield from evaluate(frame, node.iter)
    if node.is_async and hasattr(type(source), "__aiter__") and not isinstance(source, Wild):
        items = _asynchronous(frame, source)
    else:
        items = bounded(session, source)
        if session.missing_grads is not None and _holds_missing(frame, node):
            return (yield from _watched_update(frame, node, _as_parameters(frame, node, list(items))))
    return (yield from _go_through(frame, node, items))


def _go_through(frame: Frame, node: ir.For, items: Iterator[Value]) -> Steps:
    from gradguard.replay.execute import Broke, Continued, execute

    session = frame.session
    for item in items:
        if isinstance(item, _Token):
            note_suspended(frame, node.at)
            yield Suspended(item.token) if frame.wraps_awaits else item.token
            frame.resumed = session.backend.modes()
            continue
        session.tick()
        yield from assign(frame, node.target, item)
        end = yield from execute(frame, node.body)
        if isinstance(end, Broke):
            return None
        if end is not None and not isinstance(end, Continued):
            return end
    return (yield from execute(frame, node.orelse))


class _Token:
    """A suspension on the way to the driver, as against an element."""

    def __init__(self, token: Value) -> None:
        self.token = token


def _asynchronous(frame: Frame, source: Value) -> Iterator[Value]:
    iterator = source.__aiter__()
    for _ in range(4 * SHORT):
        steps = iterator.__anext__().__await__()
        while True:
            try:
                token = next(steps)
            except StopIteration as stop:
                yield stop.value
                break
            except StopAsyncIteration:
                return
            yield _Token(token)


def _holds_missing(frame: Frame, node: ir.For) -> bool:
    """Whether this is the innermost loop around the place that passes over a missing gradient."""
    site = frame.session.missing_grads
    if site is None or site.module != frame.module.key or site.at not in places(frame.session, node.body):
        return False
    return not any(
        isinstance(one, ir.For) and site.at in places(frame.session, one.body) for one in node.body
    )


def _as_parameters(frame: Frame, node: ir.For, items: list[Value]) -> list[Value]:
    """The items of a loop over parameters, with parameters in the place of unknown ones."""
    count = len(node.target.items) if isinstance(node.target, ir.Sequence) else 1
    made: list[Value] = []
    for item in items:
        if not isinstance(item, Wild) or item.source is not None:
            made.append(item)
        elif count == 1:
            made.append(item.parameters()[0])
        else:
            first, *others = item.elements(count)
            made.append((first, *(one.parameters()[0] if isinstance(one, Wild) else one for one in others)))
    return made


def _watched_update(frame: Frame, node: ir.For, items: list[Value]) -> Steps:
    """The loop over parameters, once with gradients and once without any; what it changes is noted."""
    from gradguard.replay.mixtures import tensors_in

    session = frame.session
    tensors = list(tensors_in(session, items))
    notes = session.trace.facts.setdefault("updates", [])
    present, missing = Update(), Update(in_optimizer=_in_optimizer(frame))
    notes.append((present, missing))
    set_gradients(session, tensors, present=True)
    end = yield from _observed(frame, node, items, tensors, present)
    if end is not None:
        return end
    set_gradients(session, tensors, present=False)
    without = [tensor for tensor in tensors if tensor.grad is None]
    return (yield from _observed(frame, node, items, without, missing))


def _filters_missing(frame: Frame, node: ir.For) -> bool:
    """Whether the loop goes through a list that was built without what has no gradient."""
    site = frame.session.missing_grads
    if site is None or site.module != frame.module.key:
        return False
    return site.at in places(frame.session, node.iter) and isinstance(node.iter, ir.Comprehension)


def _filtered_update(frame: Frame, node: ir.For) -> Steps:
    """The loop, once over a list built with all gradients there and once over one built without any."""
    from gradguard.replay.mixtures import tensors_in

    session = frame.session
    present, missing = Update(), Update()
    session.trace.facts.setdefault("updates", []).append((present, missing))
    tensors: list[Value] = []
    for update in (present, missing):
        session.filling = update is present
        items = list(bounded(session, (yield from evaluate(frame, node.iter))))
        session.filling = None
        tensors = list(tensors_in(session, items)) or tensors
        end = yield from _observed(frame, node, items, tensors, update)
        if end is not None:
            return end
    return None


@dataclass
class Update:
    """How a loop over parameters went: how many there were, how many it changed, and its error."""

    tensors: int = 0
    changed: int = 0
    ended: bool = False
    in_optimizer: bool = False


def _in_optimizer(frame: Frame) -> bool:
    """Whether the loop stands in an optimizer, which passes over missing gradients by contract."""
    if frame.function is None or not frame.function.params:
        return False
    owner = frame.values.get(frame.function.params[0].name)
    return isinstance(owner, frame.session.backend.torch.optim.Optimizer)


def _observed(frame: Frame, node: ir.For, items: list[Value], tensors: list[Value], update: Update) -> Steps:
    session = frame.session
    before = [(tensor, tensor.detach().clone()) for tensor in tensors]
    update.tensors = len(tensors)
    end = yield from _go_through(frame, node, iter(items))
    update.changed = sum(not session.backend.torch.equal(tensor.detach(), old) for tensor, old in before)
    update.ended = True
    return end


def set_gradients(session: Session, tensors: list[Value], present: bool) -> None:
    """Give all leaves a gradient of ones, or take it away."""
    for tensor in tensors:
        if tensor.is_leaf and tensor.is_floating_point():
            tensor.grad = session.backend.torch.ones_like(tensor) if present else None


def execute_while(frame: Frame, node: ir.While) -> Steps:
    """A while loop; left after a few rounds in any case."""
    from gradguard.replay.execute import Broke, Continued, execute

    endless = isinstance(node.test, ir.Const)
    for rounds in range(SHORT):
        if endless and rounds >= ROUNDS + 1:
            return None
        frame.session.tick()
        unknown = frame.session.trace.chose
        frame.session.trace.chose = False
        holds = yield from decide(frame, node.test, None if rounds else (node.body, ()))
        guessed, frame.session.trace.chose = frame.session.trace.chose, unknown or frame.session.trace.chose
        if not holds and not (guessed and rounds == 0):
            return (yield from execute(frame, node.orelse))
        if guessed and rounds >= ROUNDS:
            return None
        end = yield from execute(frame, node.body)
        if isinstance(end, Broke):
            return None
        if end is not None and not isinstance(end, Continued):
            return end
    return None
