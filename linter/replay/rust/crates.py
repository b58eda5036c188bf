"""What the crates that differentiate do, as their tables tell, on the embedded runtime."""

from __future__ import annotations

import numpy as np

from gradguard.facts.crates import Crate
from gradguard.ir import nodes as ir
from gradguard.replay.limits import WIDEST
from gradguard.replay.rust import modules, tensors
from gradguard.replay.rust.gradients import backward, reached, read_gradient
from gradguard.replay.rust.known import MISSING
from gradguard.replay.rust.session import Frame, RustSession
from gradguard.replay.rust.values import (
    Closure,
    Handle,
    Held,
    Native,
    Plain,
    Table,
    Vec,
    Wild,
    bare,
    ok,
    opened,
)
from gradguard.replay.value import Value
from gradguard.runtime.modes import fresh_modes, modes
from gradguard.runtime.profiles import PROFILES
from gradguard.runtime.tenferro import EagerNoGradGuard, EagerTensor

_VALUES = frozenset(("value", "to_tensor", "materialized", "data", "to_data", "into_data"))
_SCALARS = frozenset(("item", "to_scalar", "into_scalar", "double_value", "int64_value", "to_vec0"))
_LISTS = frozenset(("as_slice", "to_vec", "to_vec1", "to_vec2", "to_vec3"))
_SHAPED = ("zeros", "ones", "rand", "empty")
_SHAPES = frozenset(("shape", "dims", "size", "size1", "size2"))


def method(frame: Frame, receiver: Value, name: str, args: list[Value], expr: ir.Call) -> Value:
    """A method that a crate's table tells of; MISSING where none does."""
    value = opened(receiver)
    for crate in frame.crates:
        if crate.has("backward.takers", name) and args:
            return _taken(frame, crate, value, args, expr)
        found = modules.method(frame, crate, value, name, args)
        if found is not MISSING:
            return found
        found = _method(frame, crate, value, name, args, expr)
        if found is not MISSING:
            return found
    return MISSING


def _method(frame: Frame, crate: Crate, value: Value, name: str, args: list[Value], expr: ir.Call) -> Value:
    match value:
        case Handle(kind="runtime"):
            return _runtime(frame, crate, name, args, expr)
        case Handle(kind="session"):
            return _session(frame, crate, name, args, expr)
        case EagerTensor():
            return _tensor(frame, crate, value, name, args, expr)
        case Table():
            return _table(frame, crate, value, name, args)
        case Plain():
            return _plain(value, name)
        case Wild():
            return _unknown(frame, crate, value, name, args, expr)
        case _:
            return MISSING


def _runtime(frame: Frame, crate: Crate, name: str, args: list[Value], expr: ir.Call) -> Value:
    from gradguard.replay.rust.calls import call_value

    session = frame.session
    if crate.has("guards.methods", name) and not args:
        return guard(frame, expr.at)
    if crate.has("sessions.methods", name):
        body = next((bare(one) for one in reversed(args) if isinstance(bare(one), Closure | Native)), None)
        return (
            call_value(frame, body, [Handle("session")]) if body is not None else unknown_tensor(frame, name)
        )
    if crate.has("leaves.methods", name) and args:
        return tensors.leaf(session, tensors.array_of(session, args[0]))
    if crate.has("constants.methods", name):
        return tensors.constant(session, tensors.array_of(session, args[0] if args else None))
    if name == "clear_grads":
        for _, leaf in session.leaves.values():
            leaf._grad = None
        return ok(None)
    if name in ("grad", "grad_optional", "vjp", "vjp_optional", "jvp", "jvp_optional"):
        return Wild(name)
    return MISSING if name != "clone" else Handle("runtime")


def guard(frame: Frame, at: int) -> Held:
    """A new guard, alive."""
    held = Held(EagerNoGradGuard(), frame.site(at))
    frame.session.guards.append(held)
    from gradguard.replay.rust.lifetimes import own

    own(frame.session, (held,))
    return held


def _session(frame: Frame, crate: Crate, name: str, args: list[Value], expr: ir.Call) -> Value:
    if any(word in name for word in ("variable", "constant")):
        return _runtime(frame, crate, name, args, expr)
    if any(tensors.operands_in(one) for one in args):
        return tensors.operate(frame.session, name, args)
    return unknown_tensor(frame, name) if name not in ("clone", "by_ref") else Handle("session")


def _tensor(
    frame: Frame, crate: Crate, value: EagerTensor, name: str, args: list[Value], expr: ir.Call
) -> Value:
    session = frame.session
    if crate.has("backward.methods", name):
        return backward(frame, crate, value, frame.site(expr.at), name)
    if crate.has("queries.methods", name) and not args:
        return value.tracks_grad()
    if crate.has("gradient.reads", name) and len(args) == len(crate.layers) % 2:
        table = opened(args[0]) if args else None
        return read_gradient(frame, crate, value, table if isinstance(table, Table) else None)
    if name == "grad" and crate.profile == "torch":
        found = read_gradient(frame, crate, value, None)
        return found.items[0] if found.items else Wild("undefined")
    if name == "defined":
        return True
    if crate.has("cuts.methods", name) or name in _VALUES | _SCALARS | _LISTS:
        return _cut(frame, value, name)
    if crate.has("leaves.markers", name):
        return _marked(frame, value, args)
    if crate.has("tensor.identities", name):
        return value
    if name in _SHAPES:
        return Vec(list(value._inner._array.shape))
    if name in ("clear_grad", "zero_grad"):
        value._inner._grad = None
        return ok(None)
    if name in ("set", "copy_", "set_data", "copy_data") and args:
        return _written(frame, value, args[0])
    if crate.has("tensor.plain", name):
        return Wild(name)
    if name in (
        "map",
        "and_then",
        "unwrap",
        "expect",
        "ok",
        "map_err",
        "unwrap_or_else",
        "or_else",
        "as_ref",
    ):
        return MISSING
    if any(isinstance(bare(one), Closure) for one in args):
        return MISSING
    if crate.profile == "torch" and name.endswith("_"):
        return tensors.in_place(session, value, name, args)
    return tensors.operate(session, name, [value, *args])


def _cut(frame: Frame, value: EagerTensor, name: str) -> Value:
    array = np.array(value._inner._array, dtype=np.float64)
    if name in _SCALARS:
        return float(array.flatten()[0]) if array.size else 0.0
    if name in _LISTS:
        return Vec(array.flatten(order="F").tolist())
    if name in _VALUES:
        return Plain(array)
    if name.startswith("arg"):
        return tensors.constant(frame.session, np.array(0.0))
    found = value.detach()
    found.is_root = True  # type: ignore[attr-defined]
    return found


def _marked(frame: Frame, value: EagerTensor, args: list[Value]) -> Value:
    """`require_grad()`, `set_requires_grad(true)`: a tensor that asks for a gradient itself."""
    if args and opened(args[0]) is False:
        return tensors.constant(frame.session, tensors.array_of(frame.session, value))
    if value.tracks_grad():
        return value
    return tensors.leaf(frame.session, tensors.array_of(frame.session, value))


def _written(frame: Frame, value: EagerTensor, new: Value) -> Value:
    array = tensors.array_of(frame.session, new)
    if array.shape == value._inner._array.shape:
        value._inner._array[...] = array
    return ok(None)


def _table(frame: Frame, crate: Crate, value: Table, name: str, args: list[Value]) -> Value:
    if name in ("len", "is_empty"):
        count = reached(frame.session, value)
        return count if name == "len" else not count
    if crate.has("gradient.lookups", name) and args:
        tensor = opened(args[0])
        if isinstance(tensor, EagerTensor):
            return read_gradient(frame, crate, tensor, value)
        return Wild(name)
    return MISSING


def _plain(value: Plain, name: str) -> Value:
    if name in ("as_slice", "to_vec", "data", "as_slice_mut", "into_vec", "values"):
        return Vec(value.array.flatten(order="F").tolist())
    if name in ("shape", "dims"):
        return Vec(list(value.array.shape))
    if name in ("item", "as_scalar", "scalar"):
        return float(value.array.flatten()[0]) if value.array.size else 0.0
    if name in ("clone", "tensor", "to_owned", "value", "to_tensor", "as_tensor"):
        return value
    if name == "len":
        return int(value.array.size)
    return MISSING


def _unknown(frame: Frame, crate: Crate, value: Wild, name: str, args: list[Value], expr: ir.Call) -> Value:
    """A method of an unknown value that only the crate's objects have, or that makes a tensor of tensors."""
    if crate.has("guards.methods", name) and not args and not value.fields.get("<tensor>"):
        return guard(frame, expr.at)
    if crate.has("sessions.methods", name) or crate.has("leaves.methods", name):
        return _runtime(frame, crate, name, args, expr)
    if crate.has("backward.methods", name):
        return _tensor(frame, crate, tensor_in(frame, value), name, args, expr)
    if crate.has("gradient.reads", name) and len(args) == len(crate.layers) % 2:
        return _tensor(frame, crate, tensor_in(frame, value), name, args, expr)
    if crate.has("queries.methods", name) and not args:
        return tensor_in(frame, value).tracks_grad()
    if any(tensors.operands_in(one) for one in args) and not any(isinstance(bare(o), Closure) for o in args):
        hidden = tensor_in(frame, value)
        return tensors.operate(frame.session, f"{name}_mixed_with", [*args, _scalar(frame, hidden)])
    return MISSING


def _scalar(frame: Frame, value: EagerTensor) -> EagerTensor:
    return tensors.operate(frame.session, "sum_all", [value])


def tensor_in(frame: Frame, value: Wild) -> EagerTensor:
    """The tensor that an unknown value turns out to be, or whose gradient it asks for: always the same."""
    found = value.fields.get("<tensor>")
    if isinstance(found, EagerTensor):
        return found
    made = unknown_tensor(frame, value.hint)
    value.fields["<tensor>"] = made
    return made


def unknown_tensor(frame: Frame, name: str) -> EagerTensor:
    """A tensor nobody knows: with a graph where recording is on, unless the run says otherwise."""
    session = frame.session
    session.invent()
    array = np.array(1.0 if tensors.reduces(name) else (1.0, 2.0, 3.0))
    if session.off or not session.policy.tracked:
        return tensors.constant(session, array)
    made = tensors.leaf(session, array)
    session.seeded[id(made._inner)] = made._inner
    return made


def _taken(frame: Frame, crate: Crate, value: Value, args: list[Value], expr: ir.Call) -> Value:
    """`optimizer.backward_step(&loss)`."""
    values = [opened(one) for one in args]
    loss = next((one for one in values if isinstance(one, EagerTensor)), values[0])
    if not isinstance(loss, EagerTensor):
        loss = tensor_in(frame, loss) if isinstance(loss, Wild) else unknown_tensor(frame, "loss")
    backward(frame, crate, loss, frame.site(expr.at), "backward")
    return ok(None)


def function(frame: Frame, path: str, args: list[Value], at: int) -> Value:
    """A function of a crate, by its whole path; MISSING where no table tells of it."""
    parts = path.split("::")
    for crate in frame.crates:
        if not crate.owns(parts[0]):
            continue
        short = "::".join(parts[-2:])
        if crate.has("guards.functions", path) or crate.has("guards.functions", short):
            return guard(frame, at)
        if crate.has("guards.closures", path) and args:
            return under(frame, args[0], off=True)
        if crate.has("guards.enabling", path) and args:
            return under(frame, args[0], off=False)
        if crate.has("leaves.functions", short):
            return tensors.leaf(frame.session, _array(frame, args, parts[-1]))
        if crate.has("constants.functions", short):
            return tensors.constant(frame.session, _array(frame, args, parts[-1]))
        return _associated(frame, crate, parts, args, at)
    return MISSING


def _array(frame: Frame, args: list[Value], name: str = "") -> tensors.Array:
    """The numbers that a constructor is given, or those of the shape that it is given."""
    session = frame.session
    if name.startswith(_SHAPED) and args:
        return _of_shape(session, opened(args[0]), name)
    for value in args:
        inside = opened(value)
        if isinstance(inside, EagerTensor | Plain | float) or (isinstance(inside, Vec) and inside.items):
            return tensors.array_of(session, inside)
    return tensors.array_of(session, None)


def _of_shape(session: RustSession, shape: Value, name: str) -> tensors.Array:
    parts = shape.items if isinstance(shape, Vec) else shape if isinstance(shape, tuple) else [shape]
    extents = [min(bare(one), WIDEST) for one in parts if isinstance(bare(one), int) and bare(one) >= 0]
    if len(extents) != len(parts):
        return tensors.array_of(session, None)
    size = int(np.prod(extents))
    if size > WIDEST**2:
        return tensors.array_of(session, None)
    filled = np.arange(1.0, size + 1) if name.startswith("rand") else np.full(size, float(name == "ones"))
    return filled.reshape(extents)


def _associated(frame: Frame, crate: Crate, parts: list[str], args: list[Value], at: int) -> Value:
    """`Type::function(..)`: constructors, and methods called with their receiver."""
    if len(parts) < 2:
        return MISSING
    kind, name = parts[-2], parts[-1]
    if crate.has("types.runtime", kind) and not (args and isinstance(bare(args[0]), Handle)):
        return Handle("runtime")
    if crate.has("types.plain", kind) and kind.endswith("Tensor"):
        return _plain_made(frame, name, args)
    receiver = opened(args[0]) if args else None
    if isinstance(receiver, EagerTensor | Handle) and not kind[:1].islower():
        as_call = ir.Call(ir.Name(name, at), (), at)
        found = _method(frame, crate, receiver, name, args[1:], as_call)
        if found is not MISSING:
            return found
    module = modules.made(frame, crate, parts)
    if module is not MISSING and not any(tensors.operands_in(one) for one in args):
        return module
    return MISSING if any(tensors.operands_in(one) for one in args) else Wild(name)


def _plain_made(frame: Frame, name: str, args: list[Value]) -> Value:
    """`Tensor::from_vec_col_major(shape, data)` and what else makes an array."""
    if len(args) >= 2:
        extents, numbers = opened(args[0]), opened(args[1])
        if isinstance(extents, Vec) and isinstance(numbers, Vec):
            array = tensors.array_of(frame.session, numbers)
            shape = tuple(one for one in map(bare, extents.items) if isinstance(one, int))
            if int(np.prod(shape)) == array.size:
                return Plain(array.reshape(shape, order="F"))
            return Plain(array)
    return Plain(_array(frame, args))


def under(frame: Frame, closure: Value, *, off: bool) -> Value:
    """`no_grad(|| ..)` and `with_grad(|| ..)`."""
    from gradguard.replay.rust.calls import call_value

    depth = modes.no_grad_depth
    modes.no_grad_depth = depth + 1 if off else 0
    try:
        return call_value(frame, closure, [])
    finally:
        modes.no_grad_depth = depth


def apart(frame: Frame, closure: Value) -> Value:
    """Run a closure as a thread of its own would."""
    from gradguard.replay.rust.calls import call_value

    with fresh_modes(PROFILES.get(frame.session.backend.profile)):
        return call_value(frame, closure, [Wild("scope")])
