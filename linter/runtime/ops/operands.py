"""What goes into an operation: tensors, Python numbers, dimensions, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime import dtypes
from gradguard.runtime.dtypes import Array, Number
from gradguard.runtime.record import Operation, apply, apply_in_place, apply_out
from gradguard.runtime.state import TensorState, VersionCounter
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def is_number(value: object) -> bool:
    """Tell whether a value counts as a Python number in an operation."""
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def wrap_number(value: Number, like: Tensor) -> Tensor:
    """Make the zero-dimensional tensor that stands for a number beside ``like``.

    It is a normal tensor whatever the mode: that is why an inference tensor times a number
    is recorded, and its square is not (torch 2.13).
    """
    from gradguard.runtime.tensor import Tensor

    own = dtypes.of_number(value if isinstance(value, (bool, int)) else float(value))
    chosen = like.dtype if own.category <= like.dtype.category else own
    made = Tensor.__new__(Tensor)
    made._array = np.asarray(value, chosen.numpy)
    made._counter = VersionCounter()
    made._wrapped = True
    return made


def require_tensor(value: object, op: str, argument: str = "input", position: int = 1) -> Tensor:
    """Return a tensor argument.

    Raises:
        TypeError: it is something else.
    """
    if not isinstance(value, TensorState):
        raise TypeError(
            f"{op}(): argument '{argument}' (position {position}) must be Tensor, not {type(value).__name__}"
        )
    return value._self()


def pair(a: object, b: object, op: str) -> tuple[Tensor, Tensor]:
    """Return two operands, of which one may be a number.

    Raises:
        TypeError: an operand is neither tensor nor number.
    """
    if isinstance(a, TensorState):
        left = a._self()
        if isinstance(b, TensorState):
            return left, b._self()
        if is_number(b):
            return left, wrap_number(b, left)  # type: ignore[arg-type]
        raise TypeError(f"{op}(): argument 'other' (position 2) must be Tensor, not {type(b).__name__}")
    if isinstance(b, TensorState) and is_number(a):
        right = b._self()
        return wrap_number(a, right), right  # type: ignore[arg-type]
    raise TypeError(f"{op}(): argument 'input' (position 1) must be Tensor, not {type(a).__name__}")


def aligned(*arrays: Array) -> list[Array]:
    """Cast arrays to their common type and check that their shapes broadcast.

    Raises:
        RuntimeError: they do not.
    """
    first = arrays[0]
    if any(a.dtype != first.dtype for a in arrays):
        by_rank: tuple[list[dtypes.dtype], list[dtypes.dtype]] = ([], [])
        for a in arrays:
            by_rank[a.ndim == 0].append(dtypes.of_array(a))
        common = dtypes.promote(by_rank[0], by_rank[1], []).numpy
        arrays = tuple(a if a.dtype == common else a.astype(common) for a in arrays)
    if any(a.shape != first.shape for a in arrays):
        check_broadcast(*[a.shape for a in arrays])
    return list(arrays)


def check_broadcast(*shapes: tuple[int, ...]) -> None:
    """Check that shapes broadcast.

    Raises:
        RuntimeError: they do not, with torch's account of where.
    """
    total = shapes[0]
    for shape in shapes[1:]:
        rank = max(len(total), len(shape))
        padded_a = (1,) * (rank - len(total)) + tuple(total)
        padded_b = (1,) * (rank - len(shape)) + tuple(shape)
        joined = []
        for dim, (m, n) in reversed(list(enumerate(zip(padded_a, padded_b, strict=True)))):
            if m != n and m != 1 and n != 1:
                raise RuntimeError(
                    f"The size of tensor a ({m}) must match the size of tensor b ({n}) at "
                    f"non-singleton dimension {dim}"
                )
            joined.append(n if m == 1 else m)
        total = tuple(reversed(joined))


def expanded_shape(array: Array, wanted: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape that expanding gives; -1 keeps an extent.

    Raises:
        RuntimeError: an extent other than one would have to change.
    """
    shape = array.shape
    lead = len(wanted) - len(shape)
    if lead < 0:
        name = dtypes.of_array(array).scalar_name
        raise RuntimeError(
            f"expand(torch.{name}Tensor{{{list(shape)}}}, size={list(wanted)}): the number of "
            f"sizes provided ({len(wanted)}) must be greater or equal to the number of dimensions "
            f"in the tensor ({len(shape)})"
        )
    full = list(wanted)
    for at, extent in reversed(list(enumerate(shape, lead))):
        if full[at] == -1:
            full[at] = extent
        if extent not in (1, full[at]):
            raise RuntimeError(
                f"The expanded size of the tensor ({full[at]}) must match the existing size "
                f"({extent}) at non-singleton dimension {at}.  Target sizes: {list(wanted)}.  "
                f"Tensor sizes: {list(shape)}"
            )
    return tuple(full)


def floating(array: Array) -> Array:
    """Cast integers to the default floating type, as true division and exp do."""
    if dtypes.of_array(array).category < 2:
        return array.astype(dtypes.get_default_dtype().numpy)
    return array


def run(op: Operation, name: str, inputs: Sequence[Tensor], out: Tensor | None, *params: Unchecked) -> Tensor:
    """Run an operation, into ``out`` if given."""
    for position, value in enumerate(inputs):
        if not isinstance(value, TensorState):
            require_tensor(value, name, "input" if not position else "other", position + 1)
    if out is None:
        return apply(op, inputs, *params)
    return apply_out(op, name, inputs, out, *params)


def run_in_place(op: Operation, inputs: Sequence[Tensor], *params: Unchecked) -> Tensor:
    """Run an operation into its first input."""
    return apply_in_place(op, inputs, *params)


def wrap_dim(dim: int, ndim: int) -> int:
    """Return a dimension counted from the front.

    Raises:
        IndexError: there is no such dimension.
    """
    extent = max(ndim, 1)
    if not -extent <= dim < extent:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-extent}, {extent - 1}], but got {dim})"
        )
    return dim % extent


def shape_arguments(sizes: tuple[Unchecked, ...]) -> tuple[int, ...]:
    """Return a shape given as ``(2, 3)`` or as ``2, 3``."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        return tuple(int(s) for s in sizes[0])
    return tuple(int(s) for s in sizes)
