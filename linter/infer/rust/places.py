"""Names, fields and elements: reading them, moving out of them, writing them."""

from __future__ import annotations

from typing import Any

from gradguard.infer.joins import merge
from gradguard.infer.rust import lifetimes
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.spaces import TypeInfo
from gradguard.infer.rust.types import MAPS, NO_TYPE, Type, parse_type, unwrapped, written
from gradguard.infer.rust.values import ABSENT, Stream, Variant
from gradguard.infer.state import State
from gradguard.infer.values import Instance, List, Literal, Tensor, Tuple, Unknown
from gradguard.ir import nodes as ir

_LONGEST = 8


def is_place(expr: ir.Expr | None) -> bool:
    """Whether an expression names a place rather than making a value."""
    match expr:
        case ir.Name(id=name):
            return "::" not in name and not name[:1].isupper()
        case ir.Attr(base=base) | ir.Item(base=base):
            return is_place(base)
        case ir.Op(op="*", operands=(inner,)):
            return is_place(inner)
        case _:
            return False


def scope_of(frame: RustFrame, state: State, name: str) -> int | None:
    """The innermost scope that binds a name."""
    return next((scope for scope in reversed(frame.scopes) if name in state.fields(scope)), None)


def bind(frame: RustFrame, state: State, name: str, value: Any) -> None:
    """A new binding in the innermost scope; one of the same name lives on, out of sight."""
    scope = frame.scopes[-1]
    before = state.read(scope, name)
    held = lifetimes.held_by(frame.session, state, before)
    if held - lifetimes.held_by(frame.session, state, value):
        keep(frame, state, before)
    state.write(scope, name, value)


def keep(frame: RustFrame, state: State, value: Any) -> None:
    """Let a value live until the innermost scope ends, without a name."""
    frame.session.shadows += 1
    state.write(frame.scopes[-1], f"<{frame.session.shadows}>", value)


def root_of(frame: RustFrame, state: State, expr: ir.Expr | None) -> tuple[int, str] | None:
    """The scope and the name that a place starts from."""
    while isinstance(expr, ir.Attr | ir.Item | ir.Op):
        expr = expr.operands[0] if isinstance(expr, ir.Op) else expr.base
    if not isinstance(expr, ir.Name):
        return None
    scope = scope_of(frame, state, expr.id)
    return (scope, expr.id) if scope is not None else None


def take(frame: RustFrame, state: State, expr: ir.Expr, guards: set[int]) -> None:
    """Guards were moved out of a place."""
    source = root_of(frame, state, expr) if guards else None
    if source is not None:
        strip(frame, state, *source, guards)


def strip(frame: RustFrame, state: State, scope: int, name: str, guards: set[int]) -> None:
    """Guards were moved away from what a name holds."""
    if guards:
        value = state.read(scope, name)
        state.write(scope, name, lifetimes.without(frame.session, state, value, guards))


def type_of(frame: RustFrame, value: Any) -> Type:
    """The type that is known of a value."""
    match value:
        case Unknown(role=role) if role:
            return unwrapped(parse_type(role))
        case Instance(klass=TypeInfo() as info):
            return Type(info.name, (), info.name)
        case _:
            return NO_TYPE


def info_of(frame: RustFrame, value: Any) -> TypeInfo | None:
    """The type of the tree that a value has."""
    if isinstance(value, Instance) and isinstance(value.klass, TypeInfo):
        return value.klass
    kind = type_of(frame, value)
    if kind.name == "Self":
        return frame.owner
    return find_type(frame, kind) if kind.name else None


def find_type(frame: RustFrame, kind: Type) -> TypeInfo | None:
    """The type of the tree that a written type means."""
    found = frame.session.spaces.find(frame.space, kind.path or kind.name, frame.owner)
    if found.kind == "type":
        return found.owner
    if found.kind == "outside" and "::" in found.path:
        return None
    for space in frame.session.spaces.known.values():
        if space is not None and kind.name in space.types and space.types[kind.name].kind:
            return space.types[kind.name]
    return None


def unknown_of(frame: RustFrame, kind: Type, hint: str = "") -> Unknown:
    """Any value of a type."""
    return Unknown(frame.run.fresh(), hint, written(unwrapped(kind)) if kind.name else "")


def get_field(frame: RustFrame, state: State, value: Any, name: str) -> Any:
    """A field of a value."""
    match value:
        case Tuple(items=items) if name.isdigit() and int(name) < len(items):
            return items[int(name)]
        case Variant(items=items) if name.isdigit() and int(name) < len(items):
            return items[int(name)]
        case Instance(id=identity) | Unknown(origin=identity):
            found = state.read(identity, name)
            if found is None:
                info = info_of(frame, value)
                kind = (
                    info.fields.get(name, NO_TYPE)
                    if info is not None
                    else _member(type_of(frame, value), name)
                )
                found = unknown_of(frame, kind, name)
                state.write(identity, name, found)
            return state.resolve(found)
        case Tensor() if name.isdigit():
            return value
        case _:
            return frame.run.unknown(name)


def _member(kind: Type, name: str) -> Type:
    if kind.name == "()" and name.isdigit() and int(name) < len(kind.args):
        return kind.args[int(name)]
    return NO_TYPE


def set_field(frame: RustFrame, state: State, value: Any, name: str, new: Any) -> None:
    """`value.name = new`."""
    if isinstance(value, Instance | Unknown):
        identity = value.id if isinstance(value, Instance) else value.origin
        old = state.read(identity, name)
        lifetimes.own(frame.session, lifetimes.held_by(frame.session, state, old), made=False)
        state.write(identity, name, new)
    else:
        lifetimes.lose(frame.session, state, lifetimes.held_by(frame.session, state, new))


def new_list(frame: RustFrame, state: State, items: list[Any], rest: Any = None) -> List:
    """A sequence of known items, or, with `rest`, of any number of values like it."""
    identity = frame.run.fresh()
    if len(items) > _LONGEST:
        items, rest = [], merged(frame, [*items, *([rest] if rest is not None else [])])
    fields: dict[Any, Any] = {"#items": Tuple(tuple(items))}
    if rest is not None:
        fields["#rest"] = rest
    state.allocate(identity, fields)
    return List(identity)


def items_of(frame: RustFrame, state: State, value: Any) -> tuple[tuple[Any, ...], bool]:
    """The elements of a sequence, and whether these are all; else one that stands for each."""
    match value:
        case Tuple(items=items):
            return items, True
        case Stream(items=items, exact=exact):
            return items, exact
        case List(id=identity):
            known = state.resolve(state.read(identity, "#items"))
            rest = state.read(identity, "#rest")
            if isinstance(known, Tuple) and rest is None:
                return known.items, True
            parts = [
                *(known.items if isinstance(known, Tuple) else ()),
                *([rest] if rest is not None else []),
            ]
            return (merged(frame, parts),), False
        case Unknown():
            kind = type_of(frame, value)
            inner = kind.args[0] if kind.name in ("[]", "Option") and kind.args else NO_TYPE
            if kind.name in MAPS and len(kind.args) == 2:
                inner = Type("()", kind.args)
            found = state.read(value.origin, "<element>")
            if found is None or frame.session.loops:
                found = unknown_of(frame, inner, value.hint)
                state.write(value.origin, "<element>", found)
            return (found,), False
        case Tensor():
            return (value,), False
        case _:
            return (frame.run.unknown(),), False


def merged(frame: RustFrame, values: list[Any]) -> Any:
    """One value that stands for all."""
    if not values:
        return frame.run.unknown()
    kinds = {value.role for value in values if isinstance(value, Unknown)}
    if len(kinds) == 1 and all(isinstance(value, Unknown) for value in values):
        return Unknown(frame.run.fresh(), values[0].hint, kinds.pop())
    first, *others = values
    for other in others:
        first = merge(first, other)
    return first


def get_item(frame: RustFrame, state: State, value: Any, index: Any) -> Any:
    """`value[index]`."""
    kind = type_of(frame, value)
    if kind.name in MAPS:
        return unknown_of(frame, kind.args[1]) if len(kind.args) == 2 else frame.run.unknown()
    items, exact = items_of(frame, state, value)
    if (
        exact
        and isinstance(index, Literal)
        and isinstance(index.value, int)
        and 0 <= index.value < len(items)
    ):
        return state.resolve(items[index.value])
    return items[0] if len(items) == 1 else merged(frame, list(items))


def set_item(frame: RustFrame, state: State, value: Any, index: Any, new: Any) -> None:
    """`value[index] = new`."""
    if not isinstance(value, List):
        if isinstance(value, Unknown):
            state.write(value.origin, "<element>", frame.run.unknown())
        lifetimes.lose(frame.session, state, lifetimes.held_by(frame.session, state, new))
        return
    items, exact = items_of(frame, state, value)
    if (
        exact
        and isinstance(index, Literal)
        and isinstance(index.value, int)
        and 0 <= index.value < len(items)
    ):
        state.write(value.id, "#items", Tuple((*items[: index.value], new, *items[index.value + 1 :])))
        return
    state.write(value.id, "#items", Tuple(()))
    state.write(value.id, "#rest", merged(frame, [*items, new]))


def is_start(value: Any) -> bool:
    """Whether a value is what a loop starts to gather from: a number, nothing yet, a constant tensor."""
    if isinstance(value, Tensor):
        return value.cause is not None and value.cause.kind == "data"
    return isinstance(value, Literal) or value == ABSENT
