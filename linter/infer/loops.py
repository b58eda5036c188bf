"""Loops."""

from __future__ import annotations

from gradguard.infer import iteration
from gradguard.infer.expressions import evaluate, note_await
from gradguard.infer.frames import Exit, Frame
from gradguard.infer.joins import is_settled, join, overlay
from gradguard.infer.scopes import assign
from gradguard.infer.state import State, parted
from gradguard.infer.truths import as_test, assume, truth
from gradguard.infer.updates import note_loop
from gradguard.infer.values import Tensor
from gradguard.ir import nodes as ir

ROUNDS = 2


def _run(frame: Frame, state: State, body: ir.Body) -> State | None:
    from gradguard.infer.statements import execute

    return execute(frame, state, body)


def _loop_exits(frame: Frame, since: int) -> tuple[list[State], list[State]]:
    """Take the break and continue exits recorded since; the states of each."""
    breaks: list[State] = []
    continues: list[State] = []
    kept: list[Exit] = frame.exits[:since]
    for one in frame.exits[since:]:
        if one.kind == "break":
            breaks.append(one.state)
        elif one.kind == "continue":
            continues.append(one.state)
        else:
            kept.append(one)
    frame.exits[:] = kept
    return breaks, continues


def _round(frame: Frame, state: State, body: ir.Body) -> tuple[State | None, list[State]]:
    """One turn of a loop: the state at the next turn's head, and the states of its breaks."""
    since = len(frame.exits)
    end = _run(frame, state, body)
    breaks, continues = _loop_exits(frame, since)
    for one in continues:
        end = join(end, one)
    return end, breaks


def run_for(frame: Frame, state: State, statement: ir.For) -> State | None:
    """Run a `for` loop: twice at most, joined."""
    note_loop(frame, state, statement)
    source = evaluate(frame, state, statement.iter)
    if statement.is_async:
        note_await(frame, state, statement.at)
    items = iteration.known_items(frame, state, source)
    exact = items is not None and len(items) <= iteration.UNROLL
    before = state.fork()
    outs: list[State] = []
    current: State | None = state
    at = getattr(statement.iter, "at", statement.at)
    if exact and items is not None:
        for item in items:
            if current is None:
                break
            assign(frame, current, statement.target, item, at)
            current, breaks = _round(frame, current, statement.body)
            outs.extend(breaks)
    else:
        for _ in range(ROUNDS):
            if current is None:
                break
            item = iteration.element(frame, current, source, at)
            assign(frame, current, statement.target, item, at)
            _forget(current)
            head = current.fork()
            current, breaks = _round(frame, current, statement.body)
            outs.extend(breaks)
            if current is None or is_settled(head, current):
                break
        current = _maybe_skipped(before, current, outs)
    return _ended(frame, current, statement.orelse, outs)


def _ended(frame: Frame, end: State | None, orelse: ir.Body, outs: list[State]) -> State | None:
    """The state behind a loop that comes to its end in `end`, or is left in one of the others."""
    if end is not None and orelse:
        end = _run(frame, end, orelse)
    for one in outs:
        end = join(end, one)
    return end


def _forget(state: State) -> None:
    """Facts about a loop's own conditions do not carry over to its next turn."""
    for key in [key for key in state.facts if key.startswith("?")]:
        del state.facts[key]


def _maybe_skipped(before: State, after: State | None, outs: list[State]) -> State | None:
    """The state behind a loop that may not have run at all."""
    if after is None:
        return None if outs else before
    common, _, written = parted(before, after)
    for identity, later in list(written.items()):
        fields = common.find(identity) if common is not None and identity <= common.highest else None
        if fields is None or later is fields:
            continue
        for name, value in fields.items():
            now = later.get(name)
            if now is not None and now is not value and isinstance(value, Tensor) and now != value:
                after.write(identity, name, overlay(before.resolve(value), after.resolve(now)))
    if before.mode != after.mode:
        joined = join(before, after)
        assert joined is not None
        after.mode = joined.mode
    return after


def run_while(frame: Frame, state: State, statement: ir.While) -> State | None:
    """Run a `while` loop: twice at most, joined."""
    outs: list[State] = []
    current: State | None = state
    for _ in range(ROUNDS):
        if current is None:
            break
        test = evaluate(frame, current, statement.test)
        known = truth(current, test)
        if known is False:
            break
        if known is None:
            skipped = current.fork()
            condition = as_test(current, test)
            assume(current, condition, True)
            assume(skipped, condition, False)
            outs.append(skipped)
        _forget(current)
        head = current.fork()
        current, breaks = _round(frame, current, statement.body)
        outs.extend(breaks)
        if current is None or is_settled(head, current):
            break
    endless = isinstance(statement.test, ir.Const) and bool(statement.test.value)
    return _ended(frame, None if endless else current, statement.orelse, outs)
