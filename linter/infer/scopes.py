"""Names: looking them up and binding them."""

from __future__ import annotations

import builtins
from dataclasses import replace
from typing import Any

from gradguard.infer.frames import Frame
from gradguard.infer.objects import set_attribute, set_item
from gradguard.infer.state import State
from gradguard.infer.tensors import longer
from gradguard.infer.values import Imported, Known, List, Literal, Module, Rebound, Tensor, Track, Tuple
from gradguard.ir import nodes as ir

_BUILTINS = frozenset(dir(builtins))
_ABSENT = object()


def lookup(frame: Frame, state: State, name: str) -> Any:
    """The value a name is bound to; Known("builtins.x") for builtins, unknown otherwise."""
    if name in frame.outer_names:
        value = state.read(frame.outer_names[name], name)
        if value is not None:
            return value
    for scope in reversed(frame.scopes):
        value = state.read(scope, name)
        if isinstance(value, Imported):
            value = frame.run.program.imported(frame, state, value)
            state.write(scope, name, value)
        if value is not None:
            return value
    late = frame.run.program.bind_late(frame, state, name)
    if isinstance(late, Imported):
        late = frame.run.program.imported(frame, state, late)
        state.write(frame.scopes[0], name, late)
    if late is not None:
        return late
    if name in _BUILTINS:
        return Known(f"builtins.{name}")
    value = frame.run.unknown(name)
    state.write(frame.scopes[0], name, value)
    return value


def scope_for(frame: Frame, state: State, name: str) -> int:
    """The scope in which a name is bound when it is assigned to here."""
    return frame.outer_names.get(name, frame.scopes[-1])


def assign(frame: Frame, state: State, target: ir.Expr, value: Any, at: int) -> None:
    """Bind a target: a name, an attribute, an item, or an unpacking."""
    match target:
        case ir.Name(id=name):
            _assign_name(frame, state, name, value, at)
        case ir.Attr():
            from gradguard.infer.expressions import evaluate

            base = evaluate(frame, state, target.base)
            set_attribute(frame, state, base, target, named(frame, value, target.name, at))
        case ir.Item():
            from gradguard.infer.expressions import evaluate

            base = evaluate(frame, state, target.base)
            index = evaluate(frame, state, target.index)
            set_item(frame, state, base, index, value, target)
        case ir.Sequence(items=items):
            _unpack(frame, state, items, value, at)
        case ir.Star(value=inner):
            assign(frame, state, inner, frame.run.unknown(), at)
        case _:
            return


def _assign_name(frame: Frame, state: State, name: str, value: Any, at: int) -> None:
    scope = scope_for(frame, state, name)
    before = state.resolve(state.read(scope, name))
    value = rebinding(frame, before, value, name, at)
    rebinding_items(frame, state, before, value, name, at)
    state.write(scope, name, named(frame, value, name, at))


def rebinding(frame: Frame, before: Any, value: Any, name: str, at: int) -> Any:
    """Mark a value that takes over the name of a parameter while recording is off."""
    if not isinstance(value, Tensor) or not isinstance(before, Tensor):
        return value
    if value.track is not Track.UNTRACKED or value.cause is None or value.cause.kind != "guard":
        return value
    if value.number or value.origin <= frame.run.statement_start or value.cause.guard is None:
        return value
    if before.track is not Track.LEAF and not (before.rebound and before.rebound[-1].name == name):
        return value
    if value.cause.guard.form == "call" or value.cause.depth != frame.depth:
        return value
    return replace(value, rebound=(Rebound(frame.site(at), name),))


def rebinding_items(frame: Frame, state: State, before: Any, value: Any, name: str, at: int) -> None:
    """The same for a list of parameters that is built anew."""
    from gradguard.infer import iteration

    if not isinstance(value, List):
        return
    old = iteration.known_items(frame, state, before) if before is not None else None
    new = state.read(value.id, "#items")
    if not old or new is None or not all(_is_parameter(state.resolve(one), name) for one in old):
        return
    marked = tuple(rebinding(frame, state.resolve(old[0]), state.resolve(one), name, at) for one in new.items)
    state.write(value.id, "#items", Tuple(marked))
    rest = state.read(value.id, "#rest")
    if rest is not None:
        state.write(value.id, "#rest", rebinding(frame, state.resolve(old[0]), state.resolve(rest), name, at))


def _is_parameter(value: Any, name: str) -> bool:
    return isinstance(value, Tensor) and (
        value.track is Track.LEAF or bool(value.rebound and value.rebound[-1].name == name)
    )


def named(frame: Frame, value: Any, name: str, at: int) -> Any:
    """The value with the step that gives it a name on its trail."""
    if isinstance(value, Tensor) and value.converted is not None and value.track is Track.LEAF:
        value = replace(value, converted=None)
    if isinstance(value, Tensor) and value.track is Track.TRACKED and not value.bound:
        value = replace(value, bound=True)
    if isinstance(value, Tensor) and value.trail is not None:
        return replace(value, trail=longer(value.trail, frame.site(at), f"`{name}` is built from it"))
    return value


def _unpack(frame: Frame, state: State, targets: tuple[ir.Expr, ...], value: Any, at: int) -> None:
    from gradguard.infer import iteration

    value = state.resolve(value)
    items = iteration.known_items(frame, state, value)
    starred = next((i for i, t in enumerate(targets) if isinstance(t, ir.Star)), None)
    if items is not None and starred is not None and len(items) >= len(targets) - 1:
        after = len(targets) - starred - 1
        middle = items[starred : len(items) - after]
        items = [
            *items[:starred],
            iteration.new_list(frame, state, list(middle), None),
            *items[len(items) - after :],
        ]
        for target, item in zip(targets, items, strict=True):
            assign(frame, state, target.value if isinstance(target, ir.Star) else target, item, at)
        return
    if items is not None and len(items) == len(targets):
        for target, item in zip(targets, items, strict=True):
            assign(frame, state, target, item, at)
        return
    for index, target in enumerate(targets):
        if isinstance(target, ir.Star):
            inner = iteration.new_list(frame, state, [], iteration.element(frame, state, value, at))
            assign(frame, state, target.value, inner, at)
        else:
            assign(frame, state, target, iteration.element(frame, state, value, at, index), at)


def unbind(frame: Frame, state: State, target: ir.Expr) -> None:
    """`del name`."""
    if isinstance(target, ir.Name):
        state.drop(scope_for(frame, state, target.id), target.id)


__all__ = ["Literal", "Module", "Tuple", "assign", "lookup", "named", "rebinding", "scope_for", "unbind"]
