"""When a guard is dropped: with the last thing that holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from gradguard.replay.rust.session import Frame, RustSession, Statement
from gradguard.replay.rust.values import Closure, Held, Map, Ref, Struct, Variant, Vec, Wild, parts_of
from gradguard.replay.value import Value

_DEPTH = 8


def held_by(value: Value, depth: int = 0) -> set[Held]:
    """The guards that a value owns or refers to."""
    match value:
        case Held():
            return {value}
        case Ref():
            return held_by(value.get(), depth + 1) if depth <= _DEPTH else set()
        case Wild(fields=fields):
            parts: Iterable[Value] = fields.values()
        case Closure(captured=taken) if taken:
            parts = taken.values()
        case _:
            parts = parts_of(value)
    if depth > _DEPTH:
        return set()
    return {one for part in parts for one in held_by(part, depth + 1)}


def held_in(scope: dict[str, Value]) -> set[Held]:
    """The guards that the names of a scope hold."""
    return {one for value in scope.values() for one in held_by(value)}


def own(session: RustSession, guards: Iterable[Held]) -> None:
    """Let the statement at hand own guards until it ends."""
    if session.statements:
        session.statements[-1].owned.extend(guards)


def begin(session: RustSession) -> Statement:
    """A statement starts."""
    statement = Statement()
    session.statements.append(statement)
    return statement


def finish(session: RustSession, used: Value = None, kept: Value = None) -> None:
    """A statement ends, and with it what it owns and nothing else holds; `kept` lives on."""
    statement = session.statements.pop()
    if session.guards:
        drop(session, {*statement.owned, *held_by(used)}, kept)


def hand_on(session: RustSession) -> None:
    """A statement ends as the value of its block: what it owns is the outer statement's."""
    own_by = session.statements.pop()
    own(session, own_by.owned)


def drop(session: RustSession, guards: set[Held], kept: Value = None) -> None:
    """Drop those of the guards that nothing holds any more."""
    alive = {one for one in guards if one.alive and not one.forgotten}
    if alive:
        for one in alive - _reachable(session) - held_by(kept):
            one.drop()


def _reachable(session: RustSession) -> set[Held]:
    found = {one for statement in session.statements for one in statement.owned}
    for scope in session.live:
        found |= held_in(scope)
    return found


def enter(session: RustSession, scope: dict[str, Value]) -> None:
    """The names of a block come to life."""
    session.live.append(scope)


def leave(session: RustSession, scope: dict[str, Value], kept: Value = None) -> None:
    """A block ends with the value `kept`: what else its names hold is dropped."""
    for index in range(len(session.live) - 1, -1, -1):
        if session.live[index] is scope:
            del session.live[index]
            break
    if session.guards:
        drop(session, held_in(scope), kept)


def in_scope(frame: Frame, scope: dict[str, Value], run: Callable[[], Value]) -> Value:
    """Run something with the names of a scope, then drop what these hold."""
    session, saved = frame.session, frame.scopes
    enter(session, scope)
    frame.scopes = (*saved, scope)
    try:
        value = run()
    except BaseException as leaving:
        frame.scopes = saved
        leave(session, scope, getattr(leaving, "value", None))
        raise
    frame.scopes = saved
    leave(session, scope, value)
    return value


def take(scope: dict[str, Value], name: str, guards: set[Held]) -> None:
    """Guards were moved away from what a name holds."""
    if guards and name in scope:
        scope[name] = without(scope[name], guards)


def without(value: Value, taken: set[Held]) -> Value:
    """A value from which guards were moved away."""
    match value:
        case Held():
            return Wild("moved") if value in taken else value
        case tuple():
            return tuple(without(one, taken) for one in value)
        case Variant(items=items) if items:
            return Variant(value.name, tuple(without(one, taken) for one in items), value.owner)
        case Struct(fields=fields) | Map(items=fields):
            for key, part in list(fields.items()):
                fields[key] = without(part, taken)
            return value
        case Vec(items=inside):
            inside[:] = [without(one, taken) for one in inside]
            return value
        case _:
            return Wild("moved") if held_by(value) & taken else value
