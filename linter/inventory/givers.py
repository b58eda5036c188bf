"""Functions and classes of the file that give a guard when they are called."""

from __future__ import annotations

from gradguard.inventory.reading import Frame, Reading
from gradguard.inventory.resolve import Resolver
from gradguard.inventory.senses import Called, Local, Made, Path, Scope, Senses, Space
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk

_DEEPEST = 12
_MANAGERS = ("contextlib.contextmanager", "contextlib.asynccontextmanager")


def guards_of(reading: Reading, expr: ir.Expr | None, scope: Scope) -> tuple[Made, ...]:
    """The guard objects that an expression may give, without repetition."""
    return forced(reading, reading.resolver.senses(expr, scope))


def forced(reading: Reading, senses: Senses) -> tuple[Made, ...]:
    """The guard objects among what an expression may stand for."""
    found: dict[Made, None] = {}
    for sense in senses:
        match sense:
            case Made():
                found[sense] = None
            case Called(target=target, at=at) if _gives_guard(reading, target):
                name = target.name if isinstance(target, Space) else target.function.name
                found[Made(name, "", at, helper=True)] = None
    return tuple(found)


def is_manager(decorator: ir.Expr, scope: Scope, resolver: Resolver) -> bool:
    """Whether a decorator is `contextlib.contextmanager` or its asynchronous twin."""
    return any(
        isinstance(sense, Path) and sense.name in _MANAGERS for sense in resolver.senses(decorator, scope)
    )


def _gives_guard(reading: Reading, target: Local | Space) -> bool:
    if isinstance(target, Space):
        entering = (one for one in target.get("__enter__") if isinstance(one, Local))
        return bool(target.guards) or any(_leaves_open(reading, one) for one in entering)
    frame = _frame_of(reading, target)
    if frame is None:
        return False
    function = target.function
    if any(is_manager(decorator, target.scope, reading.resolver) for decorator in function.decorators):
        return _yields_under_guard(reading, frame)
    return not function.is_generator and not function.is_async and _returns_guard(reading, frame)


def _frame_of(reading: Reading, target: Local) -> Frame | None:
    """The function, read; None where it is being read, or stands behind too many others."""
    from gradguard.inventory.statements import read_function

    if target.function.at in reading.frames:
        return reading.frames[target.function.at]
    if reading.depth >= _DEEPEST:
        return None
    reading.depth += 1
    try:
        return read_function(reading, target)
    finally:
        reading.depth -= 1


def _yields_under_guard(reading: Reading, frame: Frame) -> bool:
    return any(
        isinstance(node, ir.Yield)
        for found in reading.found
        if found.frame == frame.number and not found.decorated
        for node in walk(found.reach.region, into_functions=False)
    )


def _returns_guard(reading: Reading, frame: Frame) -> bool:
    if reading.depth >= _DEEPEST:
        return False
    reading.depth += 1
    try:
        return any(
            isinstance(node, ir.Return) and guards_of(reading, node.value, frame.scope)
            for node in walk(frame.body, into_functions=False)
        )
    finally:
        reading.depth -= 1


def _leaves_open(reading: Reading, entering: Local) -> bool:
    frame = _frame_of(reading, entering)
    return frame is not None and any(
        found.frame == frame.number and found.form in ("call", "entered") and found.reach.end is None
        for found in reading.found
    )
