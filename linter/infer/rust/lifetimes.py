"""When a guard is alive: made, held by what owns it, dropped."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from gradguard.infer.events import GuardUnused
from gradguard.infer.joins import join
from gradguard.infer.modes import ON, GuardSite, Mode, When
from gradguard.infer.rust.session import ALIVE, RustFrame, Session, Statement
from gradguard.infer.rust.values import Stream, Variant
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import Alternatives, Closure, Guard, Instance, List, Literal, Test, Tuple, Unknown

_ON = Literal(True)
_OFF = Literal(False)
_MAYBE = Unknown(-2, "maybe alive")
_DEPTH = 6
_JOIN = 20
"""What joining two states costs, in steps."""


def start(frame: RustFrame, state: State, guard_site: GuardSite) -> Guard:
    """A new guard, alive, that the statement at hand owns until something else does."""
    session = frame.session
    guard = Guard("off", guard_site, origin=session.run.fresh())
    session.guards[guard.origin] = guard
    session.born[guard.origin] = session.activity
    own(session, (guard.origin,))
    state.write(ALIVE, guard.origin, _ON)
    settle(session, state)
    return guard


def own(session: Session, guards: Iterable[int], *, made: bool = True) -> None:
    """Let the statement at hand own guards until it ends: they were made in it, or taken from what held
    them."""
    if session.statements:
        statement = session.statements[-1]
        (statement.made if made else statement.taken).extend(guards)


def held_by(session: Session, state: State, value: Any, depth: int = 0) -> set[int]:
    """The guards that a value owns or refers to."""
    if not session.guards or depth > _DEPTH:
        return set()
    match value:
        case Guard(origin=origin):
            return {origin}
        case Tuple(items=items) | Variant(items=items) | Stream(items=items):
            parts: Iterable[Any] = items
        case Alternatives():
            parts = (value.then, value.other)
        case List(id=identity) | Instance(id=identity) | Unknown(origin=identity):
            parts = list(state.fields(identity).values())
        case Closure(scopes=scopes) if scopes and scopes[-1] in session.captures:
            parts = list(state.fields(scopes[-1]).values())
        case _:
            return set()
    return {one for part in parts for one in held_by(session, state, part, depth + 1)}


def held_in(session: Session, state: State, scope: int) -> set[int]:
    """The guards that the names of a scope hold."""
    return {one for value in state.fields(scope).values() for one in held_by(session, state, value)}


def release(session: Session, state: State, guards: Iterable[int]) -> bool:
    """Drop guards; whether any of them was alive."""
    alive = [one for one in guards if state.read(ALIVE, one) not in (None, _OFF)]
    for one in alive:
        state.write(ALIVE, one, _OFF)
    if alive:
        settle(session, state)
    return bool(alive)


def lose(session: Session, state: State, guards: Iterable[int]) -> None:
    """Guards went where they cannot be followed."""
    lost = set(guards)
    for statement in session.statements if lost else ():
        statement.made[:] = [one for one in statement.made if one not in lost]
        statement.taken[:] = [one for one in statement.taken if one not in lost]
    for one in lost:
        if state.read(ALIVE, one) not in (None, _OFF):
            state.write(ALIVE, one, _MAYBE)
    settle(session, state)


def settle(session: Session, state: State) -> None:
    """The grad mode that follows from which guards are alive."""
    fields = state.fields(ALIVE)
    if not fields:
        return
    maybe: Mode | None = None
    for origin in sorted(all_alive(state)):
        alive = state.resolve(fields[origin])
        site = session.guards[origin].site
        if alive == _ON:
            state.mode = Mode(False, False, site)
            return
        if alive == _OFF:
            continue
        when = _condition(alive)
        maybe = Mode(None, False, site, None if maybe is not None else when)
    state.mode = maybe if maybe is not None else ON


def all_alive(state: State) -> list[int]:
    """The guards that were alive at some time."""
    return [origin for origin in state.fields(ALIVE) if isinstance(origin, int)]


def _condition(alive: Any) -> When | None:
    """The condition under which recording is on, of a guard that is alive on one of two paths."""
    match alive:
        case Alternatives(key=key, then=Literal(value=bool(then)), other=Literal(value=bool(other))) if (
            then != other
        ):
            return When(key, not then)
        case Test(key=key, truth=truth):
            return When(key, not truth)
        case _:
            return None


def join_states(session: Session, a: State | None, b: State | None) -> State | None:
    """One state that covers both. A guard that neither still reaches may be alive for good."""
    if a is None or b is None:
        return a or b
    session.run.steps -= _JOIN
    fields = {**a.fields(ALIVE), **b.fields(ALIVE)}
    for origin in fields:
        for state in (a, b):
            if state.read(ALIVE, origin) is None:
                state.write(ALIVE, origin, _OFF)
    before = _reachable(session, a) | _reachable(session, b) if fields else set()
    joined = join(a, b)
    assert joined is not None
    if fields:
        lose(session, joined, before - _reachable(session, joined))
        settle(session, joined)
    return joined


def _reachable(session: Session, state: State) -> set[int]:
    """What the names of all calls under way hold, and the statements that are not done."""
    found = {one for statement in session.statements for one in (*statement.made, *statement.taken)}
    for scope in session.live:
        found |= held_in(session, state, scope)
    return found


def begin(frame: RustFrame, at: int) -> None:
    """A statement starts."""
    frame.session.statements.append(Statement(frame.site(at)))


def finish(frame: RustFrame, state: State | None, value: Any, since: int) -> None:
    """A statement ends: what it made and nothing holds is dropped, on every way out of it since exit
    `since`."""
    session = frame.session
    done = session.statements.pop()
    if not session.guards:
        return
    owned = {*done.made, *done.taken}
    for one in frame.exits[since:]:
        _drop(session, one.state, owned, one.value)
    if state is None:
        return
    candidates = owned | held_by(session, state, value)
    dropped = _drop(session, state, candidates, None)
    for origin in sorted(dropped & set(done.made)):
        if session.born[origin] == session.activity:
            _tell_dropped(frame, origin, done.site)


def _tell_dropped(frame: RustFrame, origin: int, site: Site) -> None:
    guard = frame.session.guards[origin].site
    frame.run.emit(GuardUnused(guard, "dropped", site))


def _drop(session: Session, state: State, candidates: set[int], kept: Any) -> set[int]:
    alive = {one for one in candidates if state.read(ALIVE, one) not in (None, _OFF)}
    if alive:
        alive -= _reachable(session, state) | held_by(session, state, kept)
        release(session, state, alive)
    return alive


def drop_now(frame: RustFrame, state: State, value: Any) -> None:
    """`drop(value)`: what it holds ends here, unless something else shares it."""
    session = frame.session
    guards = held_by(session, state, value)
    if not guards:
        return
    guards -= {one for scope in session.live for one in held_in(session, state, scope)}
    release(session, state, guards)
    statement = session.statements[-1] if session.statements else None
    for origin in sorted(guards & set(statement.made)) if statement is not None else ():
        if session.born[origin] == session.activity and statement is not None:
            _tell_dropped(frame, origin, statement.site)


def enter_scope(frame: RustFrame, state: State, scope: int) -> None:
    """The names of a block come to life."""
    if not state.has(scope):
        state.allocate(scope, {})
    frame.session.live.append(scope)


def drop_scope(session: Session, state: State, scope: int, kept: Any = None) -> None:
    """What the names of a scope that has ended hold is dropped, but for what the value `kept` holds."""
    if session.guards:
        _drop(session, state, held_in(session, state, scope), kept)


def leave_scope(frame: RustFrame, state: State | None, scope: int, value: Any, since: int) -> None:
    """A block ends with `value`: what its names hold is dropped, on every way out of it since exit
    `since`."""
    session = frame.session
    session.live.remove(scope)
    if not session.guards:
        return
    if state is not None:
        _drop(session, state, held_in(session, state, scope), value)
    for one in frame.exits[since:]:
        _drop(session, one.state, held_in(session, one.state, scope), one.value)


def without(session: Session, state: State, value: Any, taken: set[int]) -> Any:
    """A value from which guards were moved away."""
    match value:
        case Guard(origin=origin) if origin in taken:
            return Unknown(session.run.fresh(), "moved")
        case Tuple(items=items):
            return Tuple(tuple(without(session, state, item, taken) for item in items))
        case Variant(name=name, items=items):
            return Variant(name, tuple(without(session, state, item, taken) for item in items))
        case Instance(id=identity) | List(id=identity):
            for key, field in list(state.fields(identity).items()):
                if held_by(session, state, field) & taken:
                    state.write(identity, key, without(session, state, field, taken))
            return value
        case _:
            return Unknown(session.run.fresh(), "moved") if held_by(session, state, value) & taken else value
