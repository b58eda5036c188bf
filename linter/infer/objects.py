"""Attributes and items: reading and writing them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer import bases, classes, iteration, sinks
from gradguard.infer.describe import describe, last_name
from gradguard.infer.events import FlagMisplaced
from gradguard.infer.flags import flag_assigned, freeze
from gradguard.infer.frames import Frame
from gradguard.infer.joins import either, merge
from gradguard.infer.lineage import joined, lineage_of
from gradguard.infer.state import State
from gradguard.infer.tensors import Operation, cut, guarded_view, operate
from gradguard.infer.values import (
    Alternatives,
    Bound,
    Closure,
    Dict,
    Guard,
    Instance,
    Klass,
    Known,
    Lazy,
    List,
    Literal,
    Module,
    Parameters,
    Super,
    Tensor,
    Test,
    Track,
    Tuple,
    Unknown,
)
from gradguard.ir import nodes as ir

_ALIASES = {"torch.autograd.grad_mode": "torch", "torch.nn.modules": "torch.nn"}


def get_attribute(frame: Frame, state: State, base: Any, name: str, expr: ir.Attr) -> Any:
    """`base.name`."""
    base = state.resolve(base)
    match base:
        case Known(path=path):
            return Known(f"{path}.{name}")
        case Tensor():
            return tensor_attribute(frame, state, base, name, expr)
        case Instance():
            return classes.instance_attribute(frame, state, base, name, expr)
        case Klass():
            found = bases.member(frame, state, base, name)
            return found if found is not None else frame.run.unknown(name)
        case Super():
            return classes.super_attribute(frame, state, base, name)
        case Module(name=module):
            return frame.run.program.module_attribute(frame, state, module, name)
        case Unknown():
            return unknown_attribute(frame, state, base, name, expr)
        case Alternatives(key=key, then=then, other=other):
            return either(
                get_attribute(frame, state, then, name, expr),
                get_attribute(frame, state, other, name, expr),
                (key, True),
            )
        case Tuple() if name in ("values", "indices") and len(base.items) == 2:
            return base.items[0 if name == "values" else 1]
        case Closure() if name == "__wrapped__":
            return replace(base, wraps=())
        case Guard() | List() | Dict() | Tuple() | Literal() | Lazy() | Parameters() | Closure() | Bound():
            return Bound(base, name)
        case _:
            return Bound(base, name)


def tensor_attribute(frame: Frame, state: State, base: Tensor, name: str, expr: ir.Attr) -> Any:
    facts = frame.run.facts
    site = frame.site(expr.at)
    if name == "requires_grad":
        return _requires_grad(state, base)
    if name == "grad":
        sinks.grad_read(frame, state, base, describe(expr.base), site)
        gradient = _gradient(frame, state, base)
        if isinstance(gradient, Tensor) and base.track is Track.TRACKED and base.made and not base.opaque:
            frame.run.grad_of[gradient.origin] = (base, describe(expr.base), site)
        return gradient
    if name == "grad_fn":
        known = _requires_grad(state, base)
        if isinstance(known, Literal) and not known.value:
            return Literal(None)
        return frame.run.unknown(name)
    if facts.has("cuts.attributes", name):
        if base.opaque and base.track is Track.DATA:
            return replace(base, origin=frame.run.fresh())
        return cut(frame, state, site, base, f".{name}")
    if facts.has("cuts.plain_attributes", name):
        return frame.run.unknown(name, "setting")
    if facts.has("tensor.view_attributes", name):
        return view_of(frame, state, site, base, name)
    if name == "is_leaf":
        return frame.run.unknown(name)
    if base.opaque and not frame.run.facts.has("backward.methods", name):
        part = member_of_opaque(frame, base)
        return replace(part, lossy="loss" in name.lower())
    return Bound(base, name)


def member_of_opaque(frame: Frame, base: Tensor) -> Tensor:
    """A part of a structure of tensors, all of one kind."""
    return replace(base, origin=frame.run.fresh(), lossy=False)


def _requires_grad(state: State, base: Tensor) -> Any:
    if base.track is Track.CONDITIONAL and base.when is not None and not base.opaque:
        return Test(base.when.key, base.when.truth)
    known = sinks.is_tracked(base)
    if known is None:
        return Test(f"t{base.origin}.requires_grad")
    return Literal(known)


def _gradient(frame: Frame, state: State, base: Tensor) -> Any:
    key = f"t{base.origin}.grad"
    present = state.facts.get(f"{key} is None")
    if present is True:
        return Literal(None)
    known = state.read(0, key)
    if known is None:
        if not state.has(0):
            state.allocate(0)
        known = Tensor(Track.DATA, frame.run.fresh(), made=True, opaque=True)
        state.write(0, key, known)
    return known


def view_of(frame: Frame, state: State, site: Any, base: Any, name: str) -> Any:
    """The result of a view operation."""
    base = state.resolve(base)
    if isinstance(base, Tensor):
        if state.mode.records is False and not base.opaque and not base.number:
            if base.track in (Track.TRACKED, Track.LEAF):
                return guarded_view(frame, state, site, base, name)
            if base.track is Track.VIEW:
                return replace(base, origin=frame.run.fresh())
        if base.track in (Track.UNTRACKED, Track.DATA):
            return replace(base, origin=frame.run.fresh(), made=True, forced=None, lineage=lineage_of(base))
    linear = frame.run.facts.has("tensor.linear", name)
    return operate(frame, state, site, (base,), Operation(name, linear=linear))


def unknown_attribute(frame: Frame, state: State, base: Unknown, name: str, expr: ir.Attr) -> Any:
    site = frame.site(expr.at)
    if frame.run.facts.has("cuts.attributes", name):
        taken = cut(frame, state, site, base, f".{name}")
        note = f"`{describe(expr.base) or 'the value'}` is a tensor"
        return replace(taken, assumed=(note,)) if isinstance(taken, Tensor) else taken
    if name == "grad":
        value = state.read(base.origin, name)
        return value if value is not None else _remember(frame, state, base, name)
    return _remember(frame, state, base, name)


def _remember(frame: Frame, state: State, base: Unknown, name: str) -> Any:
    value = state.read(base.origin, name)
    if value is None:
        value = Unknown(frame.run.fresh(), name)
        if not state.has(base.origin):
            state.allocate(base.origin)
        state.write(base.origin, name, value)
    return value


def set_attribute(frame: Frame, state: State, base: Any, target: ir.Attr, value: Any) -> None:
    """`base.name = value`."""
    base = state.resolve(base)
    name, site = target.name, frame.site(target.at)
    subject = describe(target.base)
    if name == "requires_grad":
        flag_assigned(frame, state, base, value, subject, site, target)
        return
    _check_spelling(frame, base, name, subject, site, target)
    match base:
        case Instance(id=identity) | Klass(id=identity):
            from gradguard.infer.scopes import rebinding

            value = rebinding(
                frame, state.resolve(state.read(identity, name)), value, subject_of(subject, name), target.at
            )
            state.write(identity, name, value)
        case Unknown(origin=origin):
            if not state.has(origin):
                state.allocate(origin)
            state.write(origin, name, value)
        case Tensor() if name == "data":
            if base.track is Track.LEAF and isinstance(value, Tensor) and value.inference is not None:
                state.change(base, replace(base, inference=value.inference))
        case Tensor() if name == "grad":
            if not state.has(0):
                state.allocate(0)
            state.facts.pop(f"t{base.origin}.grad is None", None)
            if state.resolve(value) == Literal(None):
                state.facts[f"t{base.origin}.grad is None"] = True
        case Module(name=module):
            frame.run.program.set_module_attribute(frame, state, module, name, value)
        case _:
            return


def subject_of(base: str, name: str) -> str:
    return f"{base}.{name}" if base else name


def _check_spelling(frame: Frame, base: Any, name: str, subject: str, site: Any, target: ir.Attr) -> None:
    facts = frame.run.facts
    if name == "requires_grad_" and isinstance(base, Tensor | Instance | Unknown) and not _is_self(target):
        frame.run.emit(FlagMisplaced(name, subject, "overwritten", site))
    elif facts.has("misspelt.flags", name):
        known = isinstance(base, Tensor) and base.track in (Track.LEAF, Track.TRACKED, Track.DATA)
        if (known and not (base.opaque and base.track is Track.DATA)) or (
            isinstance(base, Instance) and bases.is_module(frame, state_free(base)) and not _is_self(target)
        ):
            frame.run.emit(FlagMisplaced(name, subject, "misspelt", site))


def state_free(base: Instance) -> Instance:
    return base


def _is_self(target: ir.Attr) -> bool:
    return isinstance(target.base, ir.Name) and target.base.id in ("self", "cls")


def get_item(frame: Frame, state: State, base: Any, index: Any, expr: ir.Item) -> Any:
    """`base[index]`."""
    base, index = state.resolve(base), state.resolve(index)
    match base:
        case Tuple() | List() if (piece := _piece(frame, state, base, expr.index)) is not None:
            return piece
        case Tuple(items=items):
            return item_of_items(frame, state, items, None, index)
        case List(id=identity):
            known = state.read(identity, "#items")
            return item_of_items(
                frame, state, known.items if known else (), state.read(identity, "#rest"), index, base
            )
        case Dict(id=identity):
            return item_of_dict(frame, state, identity, index)
        case Tensor():
            return _tensor_item(frame, state, base, index, expr)
        case Instance(id=identity):
            return classes.instance_item(frame, state, base, index, expr)
        case Alternatives(key=key, then=then, other=other):
            return either(
                get_item(frame, state, then, index, expr),
                get_item(frame, state, other, index, expr),
                (key, True),
            )
        case Unknown(origin=origin):
            if isinstance(index, Literal):
                found = state.read(origin, ("key", index.value))
                if found is not None:
                    return found
                value = Unknown(frame.run.fresh(), index.value if isinstance(index.value, str) else base.hint)
                if not state.has(origin):
                    state.allocate(origin)
                state.write(origin, ("key", index.value), value)
                return value
            return frame.run.unknown(base.hint)
        case Known(path=path):
            return base if path.startswith(("typing.", "collections.abc.")) else frame.run.unknown()
        case _:
            return frame.run.unknown(last_name(expr.base))


def _piece(frame: Frame, state: State, base: Tuple | List, index: ir.Expr) -> Any:
    """`base[1:]`, where the items are known and the bounds are constants."""
    items = iteration.known_items(frame, state, base)
    if items is None or not isinstance(index, ir.Slice):
        return None
    bounds: list[int | None] = [
        part.value
        for part in index.parts
        if isinstance(part, ir.Const) and (part.value is None or isinstance(part.value, int))
    ]
    if len(bounds) < 3 or bounds[2] == 0:
        return None
    taken = items[bounds[0] : bounds[1] : bounds[2]]
    return Tuple(tuple(taken)) if isinstance(base, Tuple) else iteration.new_list(frame, state, taken, None)


def item_of_items(
    frame: Frame, state: State, items: tuple[Any, ...], rest: Any, index: Any, whole: Any = None
) -> Any:
    """`whole[index]` of something that starts with `items` and goes on with `rest`s."""
    if isinstance(index, Literal) and isinstance(index.value, int) and rest is None:
        position = index.value
        if -len(items) <= position < len(items):
            return items[position]
        return frame.run.unknown()
    if isinstance(index, Unknown) and index.role == "slice":
        return whole if whole is not None else Tuple(items)
    options = [*items, *([rest] if rest is not None else [])]
    if not options:
        return frame.run.unknown()
    value = options[0]
    for option in options[1:]:
        value = merge(value, option)
    return value


def item_of_dict(frame: Frame, state: State, identity: int, index: Any) -> Any:
    """What a dictionary holds under a key."""
    fields = state.fields(identity)
    if isinstance(index, Literal):
        found = fields.get(("key", index.value))
        if found is not None:
            return found
        return fields["#rest"] if fields.get("#rest") is not None else frame.run.unknown(str(index.value))
    options = [
        value
        for key, value in fields.items()
        if value is not None and (key == "#rest" or isinstance(key, tuple))
    ]
    if not options:
        return frame.run.unknown()
    value = options[0]
    for option in options[1:]:
        value = merge(value, option)
    return value


def _tensor_item(frame: Frame, state: State, base: Tensor, index: Any, expr: ir.Item) -> Any:
    if base.opaque:
        return member_of_opaque(frame, base)
    site = frame.site(expr.at)
    if isinstance(index, Tensor) or (isinstance(index, Unknown) and index.role != "slice"):
        if isinstance(index, Unknown) and base.track in (Track.TRACKED, Track.LEAF):
            return operate(frame, state, site, (base,), Operation("index"))
        return operate(frame, state, site, (base,), Operation("index", saves=isinstance(index, Tensor)))
    if isinstance(index, Tuple) and any(isinstance(state.resolve(i), Tensor) for i in index.items):
        return operate(frame, state, site, (base,), Operation("index"))
    return view_of(frame, state, site, base, "index")


def set_item(frame: Frame, state: State, base: Any, index: Any, value: Any, target: ir.Item) -> None:
    """`base[index] = value`."""
    base, index = state.resolve(base), state.resolve(index)
    match base:
        case List(id=identity):
            items = state.read(identity, "#items")
            if isinstance(index, Literal) and isinstance(index.value, int) and items:
                changed = list(items.items)
                if -len(changed) <= index.value < len(changed):
                    changed[index.value] = value
                    state.write(identity, "#items", Tuple(tuple(changed)))
                    return
            rest = state.read(identity, "#rest")
            state.write(identity, "#rest", value if rest is None else merge(rest, value))
        case Dict(id=identity):
            if isinstance(index, Literal):
                state.write(identity, ("key", index.value), value)
            else:
                rest = state.read(identity, "#rest")
                state.write(identity, "#rest", value if rest is None else merge(rest, value))
        case Instance():
            classes.set_instance_item(frame, state, base, index, value)
        case Tensor():
            written_into(frame, state, base, value, frame.site(target.at))
        case Unknown(origin=origin):
            if isinstance(index, Literal):
                if not state.has(origin):
                    state.allocate(origin)
                state.write(origin, ("key", index.value), value)
        case _:
            return


def written_into(frame: Frame, state: State, base: Tensor, value: Any, site: Any) -> None:
    """An in-place write of `value` into a tensor: with recording on, a buffer becomes tracked."""
    value = state.resolve(value)
    if state.mode.records is not True or base.opaque:
        if state.mode.records is None and base.track in (Track.DATA, Track.UNTRACKED):
            state.change(base, replace(base, track=Track.CONDITIONAL, when=None, opaque=True))
        return
    if base.track in (Track.DATA, Track.UNTRACKED):
        if isinstance(value, Tensor) and value.track in (Track.TRACKED, Track.LEAF):
            state.change(
                base,
                replace(
                    base, track=Track.TRACKED, cause=None, trail=None, would=True, lineage=joined(base, value)
                ),
            )
        elif isinstance(value, Unknown):
            state.change(base, replace(base, track=Track.CONDITIONAL, when=None, opaque=True))
        elif base.track is Track.DATA and isinstance(value, Tensor) and value.track is Track.UNTRACKED:
            state.change(base, replace(value, origin=base.origin, inference=base.inference))


__all__ = ["freeze", "get_attribute", "get_item", "set_attribute", "set_item"]
