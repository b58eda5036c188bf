"""Assigning to names, attributes, items and unpackings."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.ir import nodes as ir
from gradguard.replay.access import write_attribute, write_item
from gradguard.replay.functions import Steps
from gradguard.replay.scopes import Frame
from gradguard.replay.value import Value
from gradguard.replay.wild import Wild


def assign(frame: Frame, target: Value, value: Value) -> Steps:
    """Bind a target; what it evaluates may give control away."""
    from gradguard.replay.evaluate import evaluate

    match target:
        case ir.Name(id=name):
            frame.bind(name, value)
        case ir.Attr(base=base, name=name):
            owner = yield from evaluate(frame, base)
            _written(frame, target.at, owner, lambda: write_attribute(frame.session, owner, name, value))
        case ir.Item(base=base, index=index):
            owner = yield from evaluate(frame, base)
            key = yield from evaluate(frame, index)
            _written(frame, target.at, owner, lambda: write_item(frame.session, owner, key, value))
        case ir.Star(value=inner):
            yield from assign(frame, inner, list(value) if not isinstance(value, Wild) else value)
        case ir.Sequence(items=items):
            yield from _unpack(frame, items, value)
        case _:
            return


def _written(frame: Frame, at: int, owner: Value, write: Callable[[], None]) -> None:
    """Write into an object, and note it where the target is watched."""
    session = frame.session
    session.operands = (owner,)
    if at not in frame.watched:
        write()
        return
    before = session.backend.modes()
    try:
        write()
    except Exception as error:
        session.note(frame.site(at), "node", before, error=error, operands=(owner,))
        raise
    session.note(frame.site(at), "node", before, operands=(owner,))


def _unpack(frame: Frame, items: tuple[Value, ...], value: Value) -> Steps:
    star = next((i for i, item in enumerate(items) if isinstance(item, ir.Star)), None)
    values = _values(frame, value, len(items))
    if star is not None:
        behind = len(items) - star - 1
        middle = values[star : len(values) - behind]
        values = [*values[:star], middle, *values[len(values) - behind :]]
        items = tuple(item.value if isinstance(item, ir.Star) else item for item in items)
    if len(values) < len(items):
        raise ValueError(f"not enough values to unpack (expected {len(items)}, got {len(values)})")
    if len(values) > len(items):
        raise ValueError(f"too many values to unpack (expected {len(items)})")
    for item, one in zip(items, values, strict=True):
        yield from assign(frame, item, one)


def _values(frame: Frame, value: Value, count: int) -> list[Value]:
    if isinstance(value, Wild):
        return value.elements(count)
    if frame.session.backend.is_tensor(value) and (not value.dim() or len(value) != count):
        return Wild(frame.session, "", source=value).elements(count)
    return list(value)
