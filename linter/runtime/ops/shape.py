"""Views that rearrange a tensor without copying."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.dtypes import Array
from gradguard.runtime.ops.operands import expanded_shape, shape_arguments, wrap_dim
from gradguard.runtime.record import Operation, apply
from gradguard.runtime.unchecked import Unchecked
from gradguard.runtime.view_state import ViewStep
from gradguard.runtime.views import apply_view, refuse_stale

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _filled_shape(sizes: Sequence[int], numel: int) -> tuple[int, ...]:
    shape = list(sizes)
    known = 1
    for extent in shape:
        if extent != -1:
            known *= extent
    if shape.count(-1) > 1:
        raise RuntimeError("only one dimension can be inferred")
    if -1 in shape and known and numel % known == 0:
        shape[shape.index(-1)] = numel // known
    total = 1
    for extent in shape:
        total *= extent
    if -1 in shape or total != numel:
        raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {numel}")
    return tuple(shape)


def _back_to_shape(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
    return reshape(grad, shape)


def _view_step(source: Tensor, shape: tuple[int, ...], label: str) -> ViewStep:
    return ViewStep(label, lambda a: a.reshape(shape), _back_to_shape, source._array.shape)


def _is_view_of(array: Array, shape: tuple[int, ...]) -> bool:
    reshaped = array.reshape(shape)
    return array.size == 0 or np.may_share_memory(array, reshaped)


def view(input: Tensor, *sizes: Unchecked) -> Tensor:
    """Return the elements in another shape.

    Raises:
        RuntimeError: the shape does not fit, or would need a copy.
    """
    refuse_stale(input)
    shape = _filled_shape(shape_arguments(sizes), input._array.size)
    if not _is_view_of(input._array, shape):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return apply_view(input, _view_step(input, shape, "View"))


def reshape(input: Tensor, *sizes: Unchecked) -> Tensor:
    """Return a view in another shape if there can be one, else a recorded copy."""
    shape = _filled_shape(shape_arguments(sizes), input._array.size)
    if _is_view_of(input._array, shape):
        return apply_view(input, _view_step(input, shape, "View"))
    from gradguard.runtime.ops.conversion import clone

    return apply(UNSAFE_VIEW, (clone(input),), shape)


UNSAFE_VIEW: Operation = Operation(
    "UnsafeView",
    lambda a, shape: a.reshape(shape),
    lambda node, grad: (reshape(grad, node.shapes[0]),),
)


def view_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the elements in the other tensor's shape."""
    return view(input, tuple(other._array.shape))


def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the elements in the other tensor's shape, copied if need be."""
    return reshape(input, tuple(other._array.shape))


def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Join dimensions; a tensor that has nothing to join is returned itself (torch 2.13)."""
    ndim = input._array.ndim
    if ndim == 0:
        return reshape(input, (1,))
    start, end = wrap_dim(start_dim, ndim), wrap_dim(end_dim, ndim)
    if start == end:
        return input
    shape = input._array.shape
    joined = int(np.prod(shape[start : end + 1]))
    return reshape(input, (*shape[:start], joined, *shape[end + 1 :]))


def ravel(input: Tensor) -> Tensor:
    """Return the elements in one dimension."""
    return flatten(input)


def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """Split one dimension into several."""
    at = wrap_dim(dim, input._array.ndim)
    shape = input._array.shape
    return view(input, (*shape[:at], *_filled_shape(sizes, shape[at]), *shape[at + 1 :]))


def alias_view(input: Tensor) -> Tensor:
    """Return a view of everything, as ``x[...]`` gives."""
    step = ViewStep("Alias", lambda a: a[...], lambda g, s: g, input._array.shape)
    return apply_view(input, step)


# -- order of dimensions ----------------------------------------------------------------


def _permuted(input: Tensor, order: tuple[int, ...], label: str) -> Tensor:
    inverse = tuple(int(i) for i in np.argsort(order))

    def backward(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
        return _permuted(grad, inverse, label)

    return apply_view(input, ViewStep(label, lambda a: a.transpose(order), backward, input._array.shape))


def permute(input: Tensor, *dims: Unchecked) -> Tensor:
    """Return the dimensions in another order.

    Raises:
        RuntimeError: the order does not name each dimension once.
    """
    given = shape_arguments(dims)
    ndim = input._array.ndim
    if len(given) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {ndim} is not equal "
            f"to len(dims) = {len(given)}"
        )
    return _permuted(input, tuple(wrap_dim(d, ndim) for d in given), "Permute")


def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Return two dimensions swapped."""
    ndim = input._array.ndim
    first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    order = list(range(ndim))
    if ndim:
        order[first], order[second] = order[second], order[first]
    return _permuted(input, tuple(order), "Transpose")


def t(input: Tensor) -> Tensor:
    """Return a matrix transposed; a vector stays as it is, as a view.

    Raises:
        RuntimeError: there are more than two dimensions.
    """
    ndim = input._array.ndim
    if ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {ndim}D")
    return _permuted(input, tuple(reversed(range(ndim))), "T")


def reversed_dims(input: Tensor) -> Tensor:
    """Return the dimensions in reverse order, as ``x.T`` does."""
    return _permuted(input, tuple(reversed(range(input._array.ndim))), "Permute")


def matrix_transpose(input: Tensor) -> Tensor:
    """Return the last two dimensions swapped, as ``x.mT`` does."""
    return transpose(input, -2, -1)


def movedim(input: Tensor, source: int, destination: int) -> Tensor:
    """Move one dimension elsewhere."""
    ndim = input._array.ndim
    order = [d for d in range(ndim) if d != wrap_dim(source, ndim)]
    order.insert(wrap_dim(destination, ndim), wrap_dim(source, ndim))
    return _permuted(input, tuple(order), "Permute")


# -- dimensions of extent one -----------------------------------------------------------


def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Insert a dimension of extent one."""
    at = wrap_dim(dim, input._array.ndim + 1)
    shape = input._array.shape
    larger = (*shape[:at], 1, *shape[at:])
    return apply_view(input, _view_step(input, larger, "Unsqueeze"))


def squeeze(input: Tensor, dim: Unchecked = None) -> Tensor:
    """Drop dimensions of extent one."""
    shape = input._array.shape
    ndim = len(shape)
    dims = range(ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    chosen = {wrap_dim(d, ndim) for d in dims}
    smaller = tuple(s for d, s in enumerate(shape) if s != 1 or d not in chosen)
    return apply_view(input, _view_step(input, smaller, "Squeeze"))


def expand(input: Tensor, *sizes: Unchecked) -> Tensor:
    """Repeat dimensions of extent one without copying.

    Raises:
        RuntimeError: another dimension would have to change.
    """
    refuse_stale(input)
    full = expanded_shape(input._array, shape_arguments(sizes))
    return apply_view(input, _expand_step(full, input._array.shape))


def _expand_step(full: tuple[int, ...], shape: tuple[int, ...]) -> ViewStep:
    lead = len(full) - len(shape)

    def forward(a: Array) -> Array:
        strides: list[int] = []
        for at in range(len(full) - 1, -1, -1):
            if at >= lead:
                extent, stride = shape[at - lead], a.strides[at - lead]
            else:
                extent, stride = 1, full[at + 1] * strides[0] if strides else a.itemsize
            strides.insert(0, stride if extent == full[at] else 0)
        return np.lib.stride_tricks.as_strided(a, full, strides)

    def backward(grad: Tensor, source: tuple[int, ...]) -> Tensor:
        from gradguard.runtime.ops.reduction import sum_to_shape

        return sum_to_shape(grad, source)

    return ViewStep("Expand", forward, backward, shape)


def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """Repeat dimensions to the other tensor's shape."""
    return expand(input, tuple(other._array.shape))


def broadcast_to(input: Tensor, size: Sequence[int]) -> Tensor:
    """Repeat dimensions to a shape."""
    return expand(input, tuple(size))
