"""Largest and smallest elements."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.dtypes import Array
from gradguard.runtime.graph import Grads
from gradguard.runtime.ops.operands import require_tensor, run, wrap_dim
from gradguard.runtime.ops.reduction import dims_of, spread
from gradguard.runtime.record import OUTPUT, Operation, OperationNode
from gradguard.runtime.state import TensorState, from_array
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor

ValuesAndIndices = namedtuple("ValuesAndIndices", ["values", "indices"])


def _extreme(compute: Unchecked, name: str) -> Unchecked:
    def forward(a: Array) -> Array:
        if not a.size:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. "
                "Specify the reduction dim with the 'dim' argument."
            )
        return np.asarray(compute(a))

    return forward


def _shared_backward(node: OperationNode, grad: Tensor) -> Grads:
    # Equal extremes share the gradient evenly (torch 2.13).
    from gradguard.runtime.ops.comparison import eq

    mask = eq(node[0], node[OUTPUT])
    count = max(int(mask._array.sum()), 1)
    return ((mask * grad) / count,)


MAX: Operation = Operation("Max", _extreme(np.max, "max"), _shared_backward, ((0, OUTPUT),), 1)
MIN: Operation = Operation("Min", _extreme(np.min, "min"), _shared_backward, ((0, OUTPUT),), 1)


def _pick(a: Array, chosen: Array, indices: Array, dim: int, keepdim: bool) -> Array:
    if a.ndim == 0:
        return np.array(a)
    picked = np.take_along_axis(a, np.expand_dims(indices, dim), dim)
    return picked if keepdim else np.squeeze(picked, dim)


def _pick_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops import gathering
    from gradguard.runtime.ops import shape as shaping

    indices, dim, keepdim = node.params
    shape = node.shapes[0]
    if not shape:
        return grad, None
    kept = grad if keepdim else shaping.unsqueeze(grad, dim)
    return gathering.scatter_zeros(kept, np.expand_dims(indices, dim), dim, shape), None


# The indices are saved, so a second backward raises.
MAX_DIM: Operation = Operation("Max", _pick, _pick_backward, ((1,), ()))
MIN_DIM: Operation = Operation("Min", _pick, _pick_backward, ((1,), ()))


def _extreme_along(
    op: Operation, search: Unchecked, input: Tensor, dim: int, keepdim: bool
) -> ValuesAndIndices:
    array = input._array
    wrapped = wrap_dim(dim, array.ndim)
    indices = np.asarray(search(array, axis=wrapped) if array.ndim else 0)
    shown = np.expand_dims(indices, wrapped) if keepdim and array.ndim else indices
    chosen = from_array(np.asarray(shown))
    values = run(op, op.label.lower(), (input, chosen), None, indices, wrapped, keepdim)
    return ValuesAndIndices(values, chosen)


def max_(input: Tensor, dim: Unchecked = None, keepdim: bool = False) -> Unchecked:
    """Return the largest element, or along a dimension values and indices; or see ``maximum``."""
    if isinstance(dim, TensorState):
        from gradguard.runtime.ops.selection import maximum

        return maximum(input, dim._self())
    if dim is None:
        return run(MAX, "max", (require_tensor(input, "max"),), None)
    return _extreme_along(MAX_DIM, np.argmax, input, dim, keepdim)


def min_(input: Tensor, dim: Unchecked = None, keepdim: bool = False) -> Unchecked:
    """Return the smallest element, or along a dimension values and indices; or see ``minimum``."""
    if isinstance(dim, TensorState):
        from gradguard.runtime.ops.selection import minimum

        return minimum(input, dim._self())
    if dim is None:
        return run(MIN, "min", (require_tensor(input, "min"),), None)
    return _extreme_along(MIN_DIM, np.argmin, input, dim, keepdim)


def _amax_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.comparison import eq

    dims, keepdim = node.params
    shape = node.shapes[0]
    mask = eq(node[0], spread(node[OUTPUT], shape, dims, keepdim))
    count = from_array(np.broadcast_to(mask._array.sum(axis=dims, keepdims=True), shape))
    return (spread(grad, shape, dims, keepdim) * mask / count,)


AMAX: Operation = Operation("Amax", lambda a, d, k: a.max(axis=d, keepdims=k), _amax_backward, ((0, OUTPUT),))
AMIN: Operation = Operation("Amin", lambda a, d, k: a.min(axis=d, keepdims=k), _amax_backward, ((0, OUTPUT),))


def amax(input: Tensor, dim: Unchecked = (), keepdim: bool = False) -> Tensor:
    """Return the largest elements over some dimensions; equals share the gradient."""
    return run(AMAX, "amax", (input,), None, dims_of(dim, input._array.ndim), keepdim)


def amin(input: Tensor, dim: Unchecked = (), keepdim: bool = False) -> Tensor:
    """Return the smallest elements over some dimensions; equals share the gradient."""
    return run(AMIN, "amin", (input,), None, dims_of(dim, input._array.ndim), keepdim)
