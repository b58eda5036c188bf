"""Names, fields and elements: reading them, moving out of them, writing them."""

from __future__ import annotations

from gradguard.infer.rust.places import is_place
from gradguard.infer.rust.types import NO_TYPE, Type
from gradguard.ir import nodes as ir
from gradguard.replay.rust import lifetimes, witness
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import (
    Map,
    Panic,
    Plain,
    Ref,
    Stream,
    Struct,
    Variant,
    Vec,
    Wild,
    bare,
    opened,
)
from gradguard.replay.value import Value

SHORT = 8


def get_field(frame: Frame, value: Value, name: str) -> Value:
    """`value.name`."""
    value = opened(value)
    match value:
        case tuple() if name.isdigit() and int(name) < len(value):
            return value[int(name)]
        case Variant(items=items) if name.isdigit() and int(name) < len(items):
            return items[int(name)]
        case Struct(fields=fields):
            if name not in fields:
                fields[name] = _made_field(frame, value, name)
            return fields[name]
        case Wild(fields=fields, kind=kind):
            if name not in fields:
                fields[name] = witness.made(frame, _member(kind, name), f"{value.hint}.{name}".lstrip("."))
            return fields[name]
        case _:
            return value if name == "0" else Wild(name)


def _made_field(frame: Frame, value: Struct, name: str) -> Value:
    kind = value.owner.fields.get(name, NO_TYPE) if value.owner is not None else NO_TYPE
    return witness.made(frame, kind, f"self.{name}")


def _member(kind: Type, name: str) -> Type:
    if kind.name == "()" and name.isdigit() and int(name) < len(kind.args):
        return kind.args[int(name)]
    return NO_TYPE


def get_item(frame: Frame, value: Value, index: Value) -> Value:
    """`value[index]`; raises Panic where a list that is known has no such element."""
    value, index = opened(value), bare(index)
    match value:
        case Vec(items=items):
            return _element(frame, value, items, index)
        case Map(items=pairs):
            return pairs[index] if _is_key(index) and index in pairs else Wild("element")
        case str():
            return Wild("text")
        case Wild(fields=fields, kind=kind):
            key = ("[]", index if _is_key(index) else None)
            if key not in fields:
                inner = kind.args[-1] if kind.args else NO_TYPE
                fields[key] = witness.made(frame, inner, f"{value.hint}[{_shown(index)}]")
            return fields[key]
        case Plain(array=array):
            flat = array.flatten(order="F")
            return float(flat[index % len(flat)]) if isinstance(index, int) and len(flat) else Wild()
        case _:
            return Wild("element")


def _shown(index: Value) -> str:
    return str(index) if isinstance(index, int) else "..."


def _is_key(index: Value) -> bool:
    return isinstance(index, int | str | bool | float)


def _element(frame: Frame, value: Vec, items: list[Value], index: Value) -> Value:
    if isinstance(index, int) and 0 <= index < len(items):
        return items[index]
    if isinstance(index, int) and frame.session.trace.exact and not value.open:
        message = f"index out of bounds: the len is {len(items)} but the index is {index}"
        raise Panic(message)
    frame.session.invent()
    return items[index % len(items) if isinstance(index, int) else 0] if items else Wild("element")


def assign(frame: Frame, target: ir.Expr, value: Value) -> None:
    """`target = value`. What the place held is dropped when the statement ends."""
    from gradguard.replay.rust.evaluate import look

    match target:
        case ir.Name(id="_"):
            return
        case ir.Name(id=name):
            scope = frame.scope_of(name)
            scope = scope if scope is not None else frame.scopes[-1]
            lifetimes.own(frame.session, lifetimes.held_by(scope.get(name)))
            scope[name] = value
            frame.session.name(value, name)
        case ir.Attr(base=base, name=name):
            _set_field(frame, look(frame, base), name, value)
        case ir.Item(base=base, index=index):
            _set_item(frame, look(frame, base), look(frame, index), value)
        case ir.Op(op="*", operands=(inner,)):
            _write_through(frame, inner, look(frame, inner), value)
        case ir.Sequence(items=items):
            parts = bare(value)
            known = isinstance(parts, tuple) and len(parts) == len(items)
            for number, item in enumerate(items):
                assign(frame, item, parts[number] if known else Wild())
        case _:
            written = look(frame, target)
            if isinstance(written, Ref):
                written.set(value)


def _write_through(frame: Frame, inner: ir.Expr, place: Value, value: Value) -> None:
    new = bare(value)
    if isinstance(place, Ref):
        lifetimes.own(frame.session, lifetimes.held_by(place))
        place.set(new)
    elif isinstance(place, Vec) and isinstance(new, Vec):
        place.items[:] = new.items
    elif isinstance(place, Struct) and isinstance(new, Struct):
        place.owner, fields = new.owner, dict(new.fields)
        place.fields.clear()
        place.fields.update(fields)
    elif is_place(inner):
        assign(frame, inner, value)


def _set_field(frame: Frame, owner: Value, name: str, value: Value) -> None:
    owner = opened(owner)
    if isinstance(owner, Struct | Wild):
        lifetimes.own(frame.session, lifetimes.held_by(owner.fields.get(name)))
        owner.fields[name] = value
        frame.session.name(value, name)


def _set_item(frame: Frame, owner: Value, index: Value, value: Value) -> None:
    owner, index = opened(owner), bare(index)
    match owner:
        case Vec(items=items) if isinstance(index, int) and 0 <= index < len(items):
            items[index] = value
        case Vec(items=items, open=False) if isinstance(index, int) and frame.session.trace.exact:
            message = f"index out of bounds: the len is {len(items)} but the index is {index}"
            raise Panic(message)
        case Map(items=pairs) if _is_key(index):
            pairs[index] = value
        case Wild(fields=fields):
            fields["[]", index if _is_key(index) else None] = value
        case _:
            return


def reference(frame: Frame, expr: ir.Expr, value: Value) -> Value:
    """`&place`: what cannot be changed in itself is referred to where it stands."""
    if isinstance(value, Ref | Vec | Map | Struct | Wild | Stream):
        return value
    match expr:
        case ir.Name(id=name):
            scope = frame.scope_of(name)
            return Ref(scope, name) if scope is not None else value
        case ir.Attr(base=base, name=name):
            from gradguard.replay.rust.evaluate import look

            owner = opened(look(frame, base)) if is_place(base) else None
            return Ref(owner.fields, name) if isinstance(owner, Struct | Wild) else value
        case ir.Item(base=base, index=index) if is_place(base):
            from gradguard.replay.rust.evaluate import look

            inside, number = opened(look(frame, base)), bare(look(frame, index))
            if isinstance(inside, Vec) and isinstance(number, int) and 0 <= number < len(inside.items):
                return Ref(inside.items, number)
            return value
        case _:
            return value


def root_of(frame: Frame, expr: ir.Expr | None) -> tuple[dict[str, Value], str] | None:
    """The scope and the name that a place starts from."""
    while isinstance(expr, ir.Attr | ir.Item | ir.Op):
        expr = expr.operands[0] if isinstance(expr, ir.Op) else expr.base
    if not isinstance(expr, ir.Name):
        return None
    scope = frame.scope_of(expr.id)
    return (scope, expr.id) if scope is not None else None


def bind(frame: Frame, name: str, value: Value) -> None:
    """A new binding in the innermost scope; one of the same name lives on, out of sight."""
    scope = frame.scopes[-1]
    before = scope.get(name)
    if before is not None and lifetimes.held_by(before) - lifetimes.held_by(value):
        keep(frame, before)
    scope[name] = value
    frame.session.name(value, name)
    inside = opened(value)
    if isinstance(inside, Vec | tuple):
        parts = inside.items if isinstance(inside, Vec) else inside
        for number, item in enumerate(parts[:SHORT]):
            frame.session.name(item, f"{name}[{number}]" if isinstance(inside, Vec) else f"{name}.{number}")


def keep(frame: Frame, value: Value) -> None:
    """Let a value live until the innermost scope ends, without a name."""
    scope = frame.scopes[-1]
    scope[f"<{len(scope)}>"] = value
