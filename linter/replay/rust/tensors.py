"""Operations of all crates on the engine, by what their names say."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from gradguard.replay.limits import WIDEST
from gradguard.replay.rust.session import RustSession
from gradguard.replay.rust.values import Plain, Ref, Variant, Vec, bare, parts_of
from gradguard.replay.value import Value
from gradguard.runtime.modes import grad_mode, modes
from gradguard.runtime.ops import arithmetic, linalg, pointwise, reduction
from gradguard.runtime.ops import shape as shaping
from gradguard.runtime.state import from_array
from gradguard.runtime.tenferro import EagerTensor
from gradguard.runtime.tensor import Tensor

Array = npt.NDArray[np.float64]

_BINARY: dict[str, Callable[..., Tensor]] = {
    **dict.fromkeys(("add", "add_", "broadcast_add", "+", "g_add"), arithmetic.add),
    **dict.fromkeys(("sub", "sub_", "broadcast_sub", "-", "g_sub"), arithmetic.sub),
    **dict.fromkeys(("mul", "mul_", "broadcast_mul", "*", "hadamard", "scale", "mul_scalar"), arithmetic.mul),
    **dict.fromkeys(("div", "div_", "broadcast_div", "/", "div_scalar"), arithmetic.div),
    **dict.fromkeys(("add_scalar",), arithmetic.add),
    **dict.fromkeys(("sub_scalar",), arithmetic.sub),
    **dict.fromkeys(("matmul", "mm", "dot", "dot_general"), linalg.matmul),
}
_UNARY: dict[str, Callable[..., Tensor]] = {
    "neg": pointwise.neg,
    "exp": pointwise.exp,
    "log": pointwise.log,
    "sin": pointwise.sin,
    "cos": pointwise.cos,
    "tanh": pointwise.tanh,
    "sqrt": pointwise.sqrt,
    "relu": pointwise.relu,
    "sigmoid": pointwise.sigmoid,
    "abs": pointwise.absolute,
    **dict.fromkeys(("sqr", "square"), arithmetic.square),
}
_POWERS = frozenset(("powf", "powi", "powf_scalar", "powi_scalar", "pow_tensor_scalar", "pow"))
_REDUCING = ("sum", "mean", "loss", "norm", "entropy", "nll", "mse", "l1", "criterion", "prod_all")
_KEEPING = ("normalize", "norm_layer", "layer_norm", "batch_norm", "group_norm", "rms_norm", "dim", "keepdim")
_DEEPEST = 4


def recorded() -> bool:
    """Whether operations are recorded now."""
    return modes.grad and not modes.no_grad_depth


def wrapped(session: RustSession, compute: Callable[[], Tensor]) -> EagerTensor:
    """The result of an operation, recorded if recording is on."""
    with grad_mode(recorded()):
        return EagerTensor(session.runtime, compute())


def constant(session: RustSession, array: Array) -> EagerTensor:
    """A tensor that never tracks."""
    made = EagerTensor(session.runtime, from_array(np.array(_clipped(session, array), dtype=np.float64)))
    made.is_root = True  # type: ignore[attr-defined]
    return made


def leaf(session: RustSession, array: Array) -> EagerTensor:
    """A tensor that asks for a gradient itself, also when made under a guard."""
    made = constant(session, array)
    made._inner.requires_grad_()
    return made


def _clipped(session: RustSession, array: Array) -> Array:
    if any(extent > WIDEST for extent in array.shape):
        session.invent()
        return array[tuple(slice(0, WIDEST) for _ in array.shape)]
    return array


def array_of(session: RustSession, value: Value) -> Array:
    """The numbers of anything; some of its own where there are none."""
    value = bare(value)
    match value:
        case EagerTensor():
            return np.array(value._inner._array, dtype=np.float64)
        case Plain(array=array):
            return array
        case bool() | int() | float():
            return np.array(float(value))
        case Variant(items=(inner, *_)):
            return array_of(session, inner)
        case Vec(items=items) if items:
            parts = [array_of(session, one) for one in items[: WIDEST * WIDEST]]
            if len({part.shape for part in parts}) == 1:
                return np.array(parts)
    session.invent()
    return np.array((1.0, 2.0, 3.0))


def operands_in(value: Value, depth: int = 0) -> list[EagerTensor]:
    """The tensors in a value."""
    value = bare(value)
    match value:
        case EagerTensor():
            return [value]
        case Ref():
            return operands_in(value.get(), depth + 1)
    return (
        [one for part in parts_of(value) for one in operands_in(part, depth + 1)] if depth < _DEEPEST else []
    )


def operate(session: RustSession, name: str, values: Sequence[Value]) -> EagerTensor:
    """The result of the operation that a name tells, on all tensors among the values.

    What no table here knows is told by the sum of what goes in: it depends on all of it.
    """
    given = [bare(value) for value in values]
    operands = [one for value in given for one in operands_in(value)]
    try:
        return wrapped(session, lambda: _known(name, given, operands))
    except Exception:
        session.invent()
        return wrapped(session, lambda: _mixed(name, operands))


def in_place(session: RustSession, value: EagerTensor, name: str, args: Sequence[Value]) -> EagerTensor:
    """An operation that writes into a tensor: under a guard into its numbers, else it is what was computed."""
    found = operate(session, name, [value, *args])
    array = value._inner._array
    if found.tracks_grad():
        value._inner = found._inner
    elif found._inner._array.shape == array.shape:
        array[...] = found._inner._array
    return value


def _known(name: str, given: list[Value], operands: list[EagerTensor]) -> Tensor:
    first = operands[0]._inner
    name = name.removesuffix("_")
    if name in _BINARY and len(given) >= 2:
        left, right = (_operand(one) for one in given[:2])
        return _BINARY[name](left, right)
    if name in _UNARY:
        return _UNARY[name](first)
    if name in _POWERS and isinstance(given[-1], int | float):
        return arithmetic.power(first, given[-1])
    if name in ("reduce_sum", "sum", "sum_all", "sum_dim", "sum_keepdim"):
        return reduction.sum_(first, _axes(given[1:]))
    if name in ("mean", "mean_all", "reduce_mean"):
        return reduction.mean(first, _axes(given[1:]))
    if name == "mse_loss" or name.endswith("::mse"):
        return reduction.mean(arithmetic.square(arithmetic.sub(first, operands[1]._inner)))
    if name in ("reshape", "view", "broadcast_in_dim"):
        return shaping.reshape(first, _extents(given[1]))
    raise LookupError(name)


def _operand(value: Value) -> Value:
    if isinstance(value, EagerTensor):
        return value._inner
    if isinstance(value, int | float):
        return float(value)
    raise LookupError


def _axes(rest: list[Value]) -> list[int] | None:
    """The axes of a reduction; None for all."""
    for value in rest:
        inner = bare(value.items[0]) if isinstance(value, Variant) and value.items else value
        if isinstance(inner, Vec) and all(isinstance(bare(one), int) for one in inner.items):
            return [int(bare(one)) for one in inner.items]
        if isinstance(inner, int) and not isinstance(inner, bool):
            return [inner]
    return None


def _extents(value: Value) -> tuple[int, ...]:
    value = bare(value)
    parts = value.items if isinstance(value, Vec) else list(value)
    return tuple(int(bare(one)) for one in parts)


def _mixed(name: str, operands: list[EagerTensor]) -> Tensor:
    """Something that depends on every operand, of the first one's shape, or a scalar where the name says so."""
    total = operands[0]._inner
    if reduces(name):
        total = reduction.sum_(total)
    for other in operands[1:]:
        total = arithmetic.add(total, reduction.sum_(other._inner))
    return total


def reduces(name: str) -> bool:
    """Whether the name of an operation says that its result is a scalar."""
    return any(word in name for word in _REDUCING) and not any(word in name for word in _KEEPING)
