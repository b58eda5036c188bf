"""Picking and reordering along one dimension."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.dtypes import Array
from gradguard.runtime.graph import Grads
from gradguard.runtime.ops import shape as shaping
from gradguard.runtime.ops.comparison import argsort
from gradguard.runtime.ops.indexing import getitem
from gradguard.runtime.ops.operands import run, wrap_dim
from gradguard.runtime.record import Operation, OperationNode
from gradguard.runtime.state import from_array
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def scatter_zeros(grad: Tensor, indices: Array, dim: int, shape: tuple[int, ...]) -> Tensor:
    """Add gradients into zeros of ``shape``, at indices along one dimension; recorded."""
    return run(SCATTER_ZEROS, "scatter", (grad,), None, indices, dim, shape)


def _scatter_zeros(grad: Array, indices: Array, dim: int, shape: tuple[int, ...]) -> Array:
    whole = np.zeros(shape, grad.dtype)
    grid = np.ogrid[tuple(slice(0, n) for n in indices.shape)]
    at = tuple(indices if d == dim else axis for d, axis in enumerate(grid))
    np.add.at(whole, at, grad)
    return whole


SCATTER_ZEROS: Operation = Operation(
    "ScatterAdd",
    _scatter_zeros,
    lambda node, grad: (run(GATHER_FIXED, "gather", (grad,), None, node.params[0], node.params[1]),),
)
GATHER_FIXED: Operation = Operation(
    "Gather",
    lambda a, indices, dim: np.take_along_axis(a, indices, dim),
    lambda node, grad: (scatter_zeros(grad, node.params[0], node.params[1], node.shapes[0]),),
)
GATHER: Operation = Operation(
    "Gather",
    lambda a, index, dim: np.take_along_axis(a, index, dim),
    lambda node, grad: (
        scatter_zeros(grad, node[1]._array, node.params[0], node.shapes[0]),
        None,
    ),
    ((1,), ()),
)


def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Pick elements along a dimension."""
    return run(GATHER, "gather", (input, index), None, wrap_dim(dim, input._array.ndim))


def index_select(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Pick whole slices along a dimension."""
    at = wrap_dim(dim, input._array.ndim)
    return getitem(input, (*[slice(None)] * at, index))


def masked_select(input: Tensor, mask: Tensor) -> Tensor:
    """Return the elements where the mask holds, in one dimension."""
    return getitem(shaping.expand(input, np.broadcast_shapes(input.shape, mask.shape)), mask)


SortedAndIndices = namedtuple("SortedAndIndices", ["values", "indices"])


def _take_backward(node: OperationNode, grad: Tensor) -> Grads:
    return scatter_zeros(grad, node[1]._array, node.params[0], node.shapes[0]), None


SORT: Operation = Operation(
    "Sort", lambda a, order, dim: np.take_along_axis(a, order, dim), _take_backward, ((1,), ())
)
TOPK: Operation = Operation("Topk", SORT.forward, _take_backward, ((1,), ()))


def sort(input: Tensor, dim: int = -1, descending: bool = False) -> SortedAndIndices:
    """Return the elements in order along a dimension, and where they were."""
    at = wrap_dim(dim, input._array.ndim)
    order = argsort(input, at, descending)
    return SortedAndIndices(run(SORT, "sort", (input, order), None, at), order)


def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True) -> SortedAndIndices:
    """Return the ``k`` largest elements along a dimension, and where they were.

    Raises:
        RuntimeError: there are fewer than ``k``.
    """
    at = wrap_dim(dim, input._array.ndim)
    if k > input._array.shape[at]:
        raise RuntimeError("selected index k out of range")
    order = from_array(np.take(argsort(input, at, largest)._array, np.arange(k), axis=at))
    return SortedAndIndices(run(TOPK, "topk", (input, order), None, at), order)


FLIP: Operation = Operation(
    "Flip",
    lambda a, dims: np.array(np.flip(a, dims), order="C"),
    lambda node, grad: (flip(grad, node.params[0]),),
)
ROLL: Operation = Operation(
    "Roll",
    lambda a, shifts, dims: np.roll(a, shifts, dims),
    lambda node, grad: (run(ROLL, "roll", (grad,), None, -node.params[0], node.params[1]),),
)


def flip(input: Tensor, dims: Unchecked) -> Tensor:
    """Return the elements in reverse order along some dimensions."""
    chosen = (dims,) if isinstance(dims, int) else tuple(dims)
    chosen = tuple(wrap_dim(d, input._array.ndim) for d in chosen) if input._array.ndim else ()
    return run(FLIP, "flip", (input,), None, chosen)


def roll(input: Tensor, shifts: int, dims: int | None = None) -> Tensor:
    """Return the elements moved along a dimension, what falls off coming in again."""
    return run(ROLL, "roll", (input,), None, shifts, dims)
