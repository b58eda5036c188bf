"""Executing statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradguard.infer import calls, iteration
from gradguard.infer.definitions import define_class, define_function
from gradguard.infer.describe import last_name
from gradguard.infer.expressions import arithmetic, evaluate, note_await
from gradguard.infer.frames import Exit, Frame
from gradguard.infer.guards import Leave, enter_context
from gradguard.infer.joins import join
from gradguard.infer.loops import run_for, run_while
from gradguard.infer.loose_guards import note_assigned, note_discarded
from gradguard.infer.objects import set_attribute, set_item, written_into
from gradguard.infer.run import Ended
from gradguard.infer.scopes import assign, lookup, named, rebinding, scope_for, unbind
from gradguard.infer.sinks import ANYWHERE
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.truths import as_test, assume, is_setting, truth
from gradguard.infer.values import NONE, Lazy, List, Literal, Tensor, Test, Track, Tuple
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk

EXPECTING = ("raises", "assertRaises", "assertRaisesRegex", "assertRaisesRegexp", "warns")


def execute(frame: Frame, state: State, body: ir.Body) -> State | None:
    """Run statements in order; the state behind them, None where no path gets there."""
    current: State | None = state
    for statement in body:
        if current is None:
            return None
        frame.run.tick()
        site = Site(frame.module, statement.at)
        frame.run.covered.add(site)
        try:
            current = _EXECUTORS[type(statement)](frame, current, statement)
        except Ended:
            return None
    return current


def _evaluate(frame: Frame, state: State, statement: ir.Evaluate) -> State | None:
    value = evaluate(frame, state, statement.value)
    note_discarded(frame, state, statement, value)
    return state


def _assign(frame: Frame, state: State, statement: ir.Assign) -> State | None:
    start = frame.run.fresh()
    value = evaluate(frame, state, statement.value)
    frame.run.statement_start = start
    note_assigned(frame, state, statement, value)
    for target in statement.targets:
        assign(frame, state, target, value, statement.at)
    return state


def _update(frame: Frame, state: State, statement: ir.Update) -> State | None:
    before = evaluate(frame, state, statement.target)
    operand = evaluate(frame, state, statement.value)
    site = frame.site(statement.at)
    if isinstance(before, List) and statement.op == "+":
        from gradguard.infer.containers import list_method

        list_method(frame, state, before, "extend", [operand], {})
        return state
    if isinstance(before, Tensor) and not before.number and not frame.run.program.rebinds(frame.module):
        if state.mode.records is False and before.track in (Track.LEAF, Track.TRACKED, Track.VIEW):
            return state
        if before.track is Track.LEAF and not before.opaque:
            return state
    value = arithmetic(frame, state, statement.op, [before, operand], site)
    if isinstance(value, Tensor) and isinstance(statement.target, ir.Name):
        if frame.run.program.rebinds(frame.module):
            value = rebinding(frame, before, value, statement.target.id, statement.at)
        scope = scope_for(frame, state, statement.target.id)
        state.write(scope, statement.target.id, named(frame, value, statement.target.id, statement.at))
        return state
    if isinstance(statement.target, ir.Item) and isinstance(before, Tensor):
        base = evaluate(frame, state, statement.target.base)
        if isinstance(base, Tensor):
            written_into(frame, state, base, operand, site)
            return state
    assign(frame, state, statement.target, value, statement.at)
    return state


def _if(frame: Frame, state: State, statement: ir.If) -> State | None:
    test = evaluate(frame, state, statement.test)
    known = truth(state, test)
    if known is not None:
        taken, left = (statement.then, statement.other) if known else (statement.other, statement.then)
        if not is_setting(frame, statement.test):
            return execute(frame, state, taken)
        frame.settled += 1
        end = execute(frame, state, taken)
        if not (left and isinstance(left[-1], ir.Return | ir.Raise)):
            frame.settled -= 1
        return end
    other = _split(frame, state, as_test(state, test))
    then_end = execute(frame, state, statement.then)
    other_end = execute(frame, other, statement.other)
    return join(then_end, other_end)


def _split(frame: Frame, state: State, condition: Any) -> State:
    """The state in which a condition does not hold; `state` becomes the one in which it does.

    Where the condition is no single fact, or has no name, one that nothing else has tells the two apart.
    """
    other = state.fork()
    assume(state, condition, True)
    assume(other, condition, False)
    if not isinstance(condition, Test):
        taken = f"?{frame.run.fresh()}"
        state.facts[taken], other.facts[taken] = True, False
    return other


def _with(frame: Frame, state: State, statement: ir.With) -> State | None:
    return _enter_next(frame, state, statement, 0)


def _enter_next(frame: Frame, state: State, statement: ir.With, index: int) -> State | None:
    if index == len(statement.entries):
        return execute(frame, state, statement.body)
    entry = statement.entries[index]
    since, held = len(frame.exits), len(frame.guards)
    if isinstance(entry.context, ir.Call) and last_name(entry.context.func) in EXPECTING:
        frame.run.expected.append(ANYWHERE)
        try:
            end = _enter_next(frame, state, statement, index + 1)
        finally:
            frame.run.expected.pop()
        return end if end is not None else state
    value, leave = enter_context(frame, state, entry)
    if statement.is_async:
        note_await(frame, state, entry.at)
    if entry.target is not None:
        assign(frame, state, entry.target, value, entry.at)
    end = _enter_next(frame, state, statement, index + 1)
    if leave is not None:
        _leave(frame, leave, end, since)
        del frame.guards[held:]
    return end


def _leave(frame: Frame, leave: Leave, end: State | None, since: int) -> None:
    if end is not None:
        leave(end)
    for one in frame.exits[since:]:
        leave(one.state)


def _try(frame: Frame, state: State, statement: ir.Try) -> State | None:
    entry = state.fork()
    since = len(frame.exits)
    expecting = any(_expects_error(handler) for handler in statement.handlers)
    if expecting:
        frame.run.expected.append(frame.depth)
    try:
        end = execute(frame, state, statement.body)
    finally:
        if expecting:
            frame.run.expected.pop()
    raised = [one for one in frame.exits[since:] if one.kind == "raise"]
    after_body = end.fork() if end is not None else None
    if end is not None and statement.orelse:
        end = execute(frame, end, statement.orelse)
    if statement.handlers:
        frame.exits[since:] = [one for one in frame.exits[since:] if one.kind != "raise"]
        end = join(end, _handlers(frame, statement, entry, after_body, raised))
    if statement.final:
        return _finally(frame, statement.final, end, since)
    return end


def _expects_error(handler: ir.Handler) -> bool:
    """Whether a handler takes the error that an untracked value raises as an answer: it names it and does not
    raise again."""
    names = handler.type.items if isinstance(handler.type, ir.Sequence) else (handler.type,)
    if not any(last_name(name) == "RuntimeError" for name in names):
        return False
    return not any(isinstance(node, ir.Raise) for node in walk(handler.body))


def _is_fallback(handler: ir.Handler) -> bool:
    """Whether a handler stands in for a package that is not installed."""
    names = handler.type.items if isinstance(handler.type, ir.Sequence) else (handler.type,)
    return any(last_name(name) in ("ImportError", "ModuleNotFoundError") for name in names)


def _handlers(
    frame: Frame, statement: ir.Try, entry: State, after_body: State | None, raised: list[Exit]
) -> State | None:
    end: State | None = None
    for handler in statement.handlers:
        if after_body is not None and _is_fallback(handler):
            continue
        start = entry.fork()
        if after_body is not None:
            mixed = join(start, after_body.fork())
            assert mixed is not None
            mixed.mode = entry.mode
            start = mixed
        for one in raised:
            mixed = join(start, one.state.fork())
            assert mixed is not None
            start = mixed
        if handler.name:
            assign(
                frame, start, ir.Name(handler.name, handler.at), frame.run.unknown(handler.name), handler.at
            )
        end = join(end, execute(frame, start, handler.body))
    return end


def _finally(frame: Frame, body: ir.Body, end: State | None, since: int) -> State | None:
    """Run a finally block on every way out."""
    pending = frame.exits[since:]
    del frame.exits[since:]
    for one in pending:
        after = execute(frame, one.state, body)
        if after is not None:
            one.state = after
            frame.exits.append(one)
    return execute(frame, end, body) if end is not None else None


def _match(frame: Frame, state: State, statement: ir.Match) -> State | None:
    subject = evaluate(frame, state, statement.subject)
    result: State | None = None
    current: State | None = state
    for case in statement.cases:
        if current is None:
            break
        taken, current = _case(frame, current, subject, case)
        if taken is not None:
            result = join(result, execute(frame, taken, case.body))
    return join(result, current)


def _case(frame: Frame, state: State, subject: Any, case: ir.Case) -> tuple[State | None, State | None]:
    """The state in which an arm is taken, and that in which it is not."""
    from gradguard.infer.truths import compare

    for name in case.captures:
        whole = case.catches_all and len(case.captures) == 1
        assign(frame, state, ir.Name(name, case.at), subject if whole else frame.run.unknown(name), case.at)
    if case.test is not None:
        wanted = evaluate(frame, state, case.test)
        condition = compare(state, "==", subject, wanted, frame.run.fresh)
    elif case.catches_all:
        condition = Literal(True)
    else:
        condition = None
    if case.guard is not None:
        condition = as_test(state, evaluate(frame, state, case.guard))
    known = truth(state, condition)
    if known is not None:
        return (state, None) if known else (None, state)
    return state, _split(frame, state, condition)


def _return(frame: Frame, state: State, statement: ir.Return) -> State | None:
    value = evaluate(frame, state, statement.value) if statement.value is not None else NONE
    site = frame.site(statement.at)
    if isinstance(value, Lazy):
        note_returned_lazy(frame, state, value, site)
    frame.exits.append(Exit("return", state, value, site))
    return None


def note_returned_lazy(frame: Frame, state: State, value: Lazy, site: Site) -> None:
    """A lazy expression made under a guard of this function and returned out of it."""
    from gradguard.infer.events import LazyEscaped

    guard = value.guard
    if guard is None or guard.depth != frame.depth or value.kind not in ("generator expression", "map"):
        return
    if guard.form in ("call", "entered"):
        return
    if iteration.records_when_run(frame, state, value):
        frame.run.emit(LazyEscaped(guard, value.site, value.kind, site))


def _raise(frame: Frame, state: State, statement: ir.Raise) -> State | None:
    evaluate(frame, state, statement.value)
    frame.exits.append(
        Exit("raise", state, site=frame.site(statement.at), name=last_name(statement.value) or "raise")
    )
    return None


def _break(frame: Frame, state: State, statement: ir.Break) -> State | None:
    frame.exits.append(Exit("break", state))
    return None


def _continue(frame: Frame, state: State, statement: ir.Continue) -> State | None:
    frame.exits.append(Exit("continue", state))
    return None


def _delete(frame: Frame, state: State, statement: ir.Delete) -> State | None:
    for target in statement.targets:
        unbind(frame, state, target)
    return state


def _declare(frame: Frame, state: State, statement: ir.Declare) -> State | None:
    for name in statement.names:
        if statement.kind == "global":
            frame.outer_names[name] = frame.scopes[0]
        else:
            holder = next(
                (s for s in reversed(frame.scopes[:-1]) if state.read(s, name) is not None), frame.scopes[0]
            )
            frame.outer_names[name] = holder
    return state


def _assert(frame: Frame, state: State, statement: ir.Assert) -> State | None:
    value = evaluate(frame, state, statement.test)
    condition = as_test(state, value)
    if condition is not None and truth(state, condition) is None:
        assume(state, condition, True)
    return state


def _import(frame: Frame, state: State, statement: ir.Import) -> State | None:
    frame.run.program.execute_import(frame, state, statement)
    return state


_EXECUTORS: dict[type, Callable[[Frame, State, Any], State | None]] = {
    ir.Evaluate: _evaluate,
    ir.Assign: _assign,
    ir.Update: _update,
    ir.If: _if,
    ir.For: run_for,
    ir.While: run_while,
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
    ir.Import: _import,
    ir.FunctionDef: define_function,
    ir.ClassDef: define_class,
}

__all__ = ["Tuple", "calls", "execute", "lookup", "set_attribute", "set_item"]
