"""Values that stand for arguments nobody knows, by the type that is asked for."""

from __future__ import annotations

import numpy as np

from gradguard.facts.crates import Crate
from gradguard.infer.rust.spaces import TypeInfo
from gradguard.infer.rust.types import NO_TYPE, Type, unwrapped
from gradguard.replay.rust import tensors
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import NONE, Handle, Map, Plain, Struct, Table, Vec, Wild, some
from gradguard.replay.value import Value

_DEEPEST = 5
_MAPS = frozenset(("HashMap", "BTreeMap", "IndexMap", "FxHashMap"))
VALUES = (1.0, 2.0, 3.0)


def made(frame: Frame, kind: Type, name: str, depth: int = 0) -> Value:
    """A value of a type; `name` is what a tensor of it is called."""
    frame.session.invent()
    if kind.name == "Option" and depth < _DEEPEST:
        inner = kind.args[0] if kind.args else NO_TYPE
        return some(made(frame, inner, name, depth + 1)) if frame.session.policy.truth else NONE
    kind = unwrapped(kind)
    if kind.name == "Self" and frame.owner is not None:
        return Struct(frame.owner)
    for crate in frame.crates:
        whole = any(crate.has("tensor.whole", one.name) for one in kind.args)
        found = _of_crate(frame, crate, kind.name, name, whole)
        if found is not None:
            return found
    if depth < _DEEPEST:
        found = _of_standard(frame, kind, name, depth)
        if found is not None:
            return found
    info = type_info(frame, kind)
    if info is not None and info.kind == "struct":
        return Struct(info)
    return Wild(name, kind)


def _of_crate(frame: Frame, crate: Crate, kind: str, name: str, whole: bool) -> Value:
    if whole and crate.has("types.tensor", kind):
        return tensors.constant(frame.session, np.array(VALUES))
    if crate.has("types.leaf", kind):
        return _named(frame, tensors.leaf(frame.session, np.array(VALUES)), name)
    if crate.has("types.tensor", kind):
        if not frame.session.policy.tracked or frame.session.off or crate.has("assume.data", name):
            return tensors.constant(frame.session, np.array(VALUES))
        return _named(frame, tensors.leaf(frame.session, np.array(VALUES)), name)
    if crate.has("types.table", kind):
        return Table({}, made_up=True)
    if crate.has("types.plain", kind) and kind.endswith("Tensor"):
        return Plain(np.array(VALUES))
    for handle in ("runtime", "session"):
        if crate.has(f"types.{handle}", kind):
            return Handle(handle)
    return None


def _named(frame: Frame, value: Value, name: str) -> Value:
    frame.session.seeded[id(value._inner)] = value._inner
    frame.session.name(value, name)
    return value


def _of_standard(frame: Frame, kind: Type, name: str, depth: int) -> Value:
    if kind.name == "[]":
        inner = kind.args[0] if kind.args else NO_TYPE
        return Vec([made(frame, inner, f"{name}[{index}]", depth + 1) for index in range(2)], open=True)
    if kind.name == "()" and kind.args:
        return tuple(made(frame, one, f"{name}.{index}", depth + 1) for index, one in enumerate(kind.args))
    if kind.name in _MAPS and len(kind.args) >= 2:
        keys: tuple[Value, ...] = ("a", "b") if kind.args[0].name in ("String", "str") else (0, 1)
        return Map({key: made(frame, kind.args[1], f"{name}[{key!r}]", depth + 1) for key in keys})
    return None


def type_info(frame: Frame, kind: Type) -> TypeInfo | None:
    """The type of the tree that a written type means; of a trait, the only type that has it."""
    from gradguard.infer.rust.spaces import only_type_with

    if not kind.name:
        return None
    found = frame.session.spaces.find(frame.space, kind.path or kind.name, frame.owner)
    if found.kind != "type" or found.owner is None:
        return None
    if found.owner.kind == "trait":
        return only_type_with(frame.session.spaces, found.owner)
    return found.owner
