"""Operations on several tensors at once, and copies of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime import dtypes
from gradguard.runtime.dtypes import Array
from gradguard.runtime.graph import Grads
from gradguard.runtime.ops.operands import check_broadcast, run, shape_arguments, wrap_dim
from gradguard.runtime.record import Operation, OperationNode
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _common(arrays: Sequence[Array]) -> list[Array]:
    kind = dtypes.promote([dtypes.of_array(a) for a in arrays], [], []).numpy
    return [a.astype(kind, copy=False) for a in arrays]


def _stack(*arguments: Unchecked) -> Array:
    *arrays, dim = arguments
    for index, array in enumerate(arrays):
        if array.shape != arrays[0].shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(arrays[0].shape)} at "
                f"entry 0 and {list(array.shape)} at entry {index}"
            )
    return np.stack(_common(arrays), axis=dim)


def _stack_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.parts import unbind

    return unbind(grad, node.params[0])


def _cat(*arguments: Unchecked) -> Array:
    *arrays, dim = arguments
    first = arrays[0]
    for index, array in enumerate(arrays):
        if array.ndim == 0:
            raise RuntimeError(f"zero-dimensional tensor (at position {index}) cannot be concatenated")
        if array.ndim != first.ndim:
            raise RuntimeError(
                f"Tensors must have same number of dimensions: got {first.ndim} and {array.ndim}"
            )
        for d, (m, n) in enumerate(zip(first.shape, array.shape, strict=True)):
            if d != dim and m != n:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {m} "
                    f"but got size {n} for tensor number {index} in the list."
                )
    return np.concatenate(_common(arrays), axis=dim)


def _cat_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.parts import narrow

    (dim,) = node.params
    grads = []
    start = 0
    for shape in node.shapes:
        grads.append(narrow(grad, dim, start, shape[dim]))
        start += shape[dim]
    return grads


# The gradients of all inputs read nothing, however many there are.
STACK: Operation = Operation("Stack", _stack, _stack_backward)
CAT: Operation = Operation("Cat", _cat, _cat_backward)


def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along a new dimension.

    Raises:
        RuntimeError: there are none, or their shapes differ.
    """
    given = list(tensors)
    if not given:
        raise RuntimeError("stack expects a non-empty TensorList")
    return run(STACK, "stack", given, None, wrap_dim(dim, given[0]._array.ndim + 1))


def cat(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Join tensors along a dimension they have.

    Raises:
        RuntimeError: there are none, or their other extents differ.
        ValueError: ``tensors`` is empty.
    """
    given = list(tensors)
    if not given:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    return run(CAT, "cat", given, None, wrap_dim(dim, given[0]._array.ndim))


def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join vectors end to end, anything else along the second dimension."""
    given = list(tensors)
    return cat(given, 0 if given[0]._array.ndim <= 1 else 1)


def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """Join along the first dimension; vectors become rows."""
    from gradguard.runtime.ops.shape import unsqueeze

    return cat([unsqueeze(t, 0) if t._array.ndim < 2 else t for t in tensors], 0)


def _repeat_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.reduction import sum_
    from gradguard.runtime.ops.shape import reshape

    (times,) = node.params
    shape = (1,) * (len(times) - len(node.shapes[0])) + tuple(node.shapes[0])
    pairs: list[int] = []
    for count, extent in zip(times, shape, strict=True):
        pairs += [count, extent]
    summed = sum_(reshape(grad, tuple(pairs)), tuple(range(0, len(pairs), 2)))
    return (reshape(summed, tuple(node.shapes[0])),)


REPEAT: Operation = Operation("Repeat", lambda a, times: np.tile(a, times), _repeat_backward)


def repeat(input: Tensor, *sizes: Unchecked) -> Tensor:
    """Return copies side by side."""
    return run(REPEAT, "repeat", (input,), None, shape_arguments(sizes))


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Expand tensors to their common shape."""
    from gradguard.runtime.ops.shape import expand

    shapes = [t._array.shape for t in tensors]
    check_broadcast(*shapes)
    shape = np.broadcast_shapes(*shapes)
    return tuple(expand(t, shape) for t in tensors)
