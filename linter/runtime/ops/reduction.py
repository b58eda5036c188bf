"""Operations that reduce dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime import dtypes
from gradguard.runtime.dtypes import Array, dtype
from gradguard.runtime.graph import Grads
from gradguard.runtime.ops.operands import require_tensor, run, wrap_dim
from gradguard.runtime.record import OUTPUT, Operation, OperationNode
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor

Dims = tuple[int, ...]


def dims_of(dim: int | Sequence[int] | None, ndim: int) -> Dims:
    """Return the dimensions reduced, all of them for None."""
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(ndim))
    chosen = (dim,) if isinstance(dim, int) else tuple(dim)
    return tuple(wrap_dim(d, ndim) for d in chosen) if ndim else (wrap_dim(chosen[0], 0),) * 0


def spread(reduced: Tensor, shape: Sequence[int], dims: Dims, keepdim: bool) -> Tensor:
    """Expand what a reduction gave back to the shape it came from."""
    from gradguard.runtime.ops import shape as shaping

    if not keepdim and reduced._array.ndim != len(shape):
        for dim in sorted(dims):
            reduced = shaping.unsqueeze(reduced, dim)
    return shaping.expand(reduced, tuple(shape))


def _sum(a: Array, dims: Dims, keepdim: bool) -> Array:
    kind = np.dtype(np.int64) if a.dtype.kind in "iub" else a.dtype
    return np.asarray(a.sum(axis=dims, keepdims=keepdim, dtype=kind))


def _spread_backward(node: OperationNode, grad: Tensor) -> Grads:
    dims, keepdim = node.params
    return (spread(grad, node.shapes[0], dims, keepdim),)


SUM: Operation = Operation("Sum", _sum, _spread_backward)
SUM_DIM: Operation = Operation("Sum", _sum, _spread_backward, suffix=1)


def _mean(a: Array, dims: Dims, keepdim: bool) -> Array:
    if a.dtype.kind != "f":
        raise RuntimeError(
            "mean(): could not infer output dtype. Input dtype must be either a floating point or "
            f"complex dtype. Got: {dtypes.of_array(a).scalar_name}"
        )
    with np.errstate(all="ignore"):
        count = int(np.prod([a.shape[d] for d in dims])) if dims else 1
        return np.asarray(a.sum(axis=dims, keepdims=keepdim) / a.dtype.type(count))


def _mean_backward(node: OperationNode, grad: Tensor) -> Grads:
    dims, keepdim = node.params
    count = 1
    for d in dims:
        count *= node.shapes[0][d]
    return (spread(grad, node.shapes[0], dims, keepdim) / count,)


MEAN: Operation = Operation("Mean", _mean, _mean_backward)
MEAN_DIM: Operation = Operation("Mean", _mean, _mean_backward, suffix=1)


def sum_(
    input: Tensor,
    dim: Unchecked = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    axis: Unchecked = None,
) -> Tensor:
    """Return the sum over some dimensions, or all."""
    source = _typed(require_tensor(input, "sum"), dtype)
    dim = axis if dim is None else dim
    dims = dims_of(dim, source._array.ndim)
    return run(SUM if dim is None else SUM_DIM, "sum", (source,), None, dims, keepdim)


def mean(
    input: Tensor,
    dim: Unchecked = None,
    keepdim: bool = False,
    *,
    dtype: dtype | None = None,
    axis: Unchecked = None,
) -> Tensor:
    """Return the mean over some dimensions, or all.

    Raises:
        RuntimeError: the elements are integers.
    """
    source = _typed(require_tensor(input, "mean"), dtype)
    dim = axis if dim is None else dim
    dims = dims_of(dim, source._array.ndim)
    return run(MEAN if dim is None else MEAN_DIM, "mean", (source,), None, dims, keepdim)


def _typed(input: Tensor, kind: dtype | None) -> Tensor:
    if kind is None:
        return input
    from gradguard.runtime.ops.conversion import to

    return to(input, kind)


def sum_to_shape(input: Tensor, shape: Sequence[int]) -> Tensor:
    """Sum over the dimensions that broadcasting stretched ``shape`` to."""
    extra = input._array.ndim - len(shape)
    dims = list(range(extra))
    for index, extent in enumerate(shape):
        if extent == 1 and input._array.shape[extra + index] != 1:
            dims.append(extra + index)
    summed = sum_(input, dims, True) if dims else input
    if extra:
        from gradguard.runtime.ops import shape as shaping

        summed = shaping.reshape(summed, tuple(shape))
    return summed


# -- products ---------------------------------------------------------------------------


def _others_product(a: Tensor, dim: int) -> Tensor:
    # The product of all elements but one, without dividing: an element is zero.
    from gradguard.runtime.ops import joining, parts

    pieces = parts.unbind(a, dim)
    results = []
    for skipped in range(len(pieces)):
        product: Tensor | None = None
        for index, piece in enumerate(pieces):
            if index != skipped:
                product = piece if product is None else product * piece
        results.append(_ones_like(pieces[0]) if product is None else product)
    return joining.stack(results, dim)


def _ones_like(t: Tensor) -> Tensor:
    from gradguard.runtime.ops.creation import ones_like

    return ones_like(t)


def _prod(a: Array, dim: int | None, keepdim: bool) -> Array:
    return np.asarray(a.prod(axis=dim, keepdims=keepdim and dim is not None))


def _prod_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops import shape as shaping

    dim, keepdim = node.params
    source, shape = node[0], node.shapes[0]
    if not shape:
        return (grad,)
    if np.all(source._array):
        dims = dims_of(dim, len(shape))
        result = spread(node[OUTPUT], shape, dims, keepdim)
        return (spread(grad, shape, dims, keepdim) * (result / source),)
    if dim is None:
        flat = shaping.reshape(source, (-1,))
        others = shaping.reshape(_others_product(flat, 0), shape)
        return (grad * others,)
    wrapped = wrap_dim(dim, len(shape))
    return (spread(grad, shape, (wrapped,), keepdim) * _others_product(source, wrapped),)


PROD: Operation = Operation("Prod", _prod, _prod_backward, ((0, OUTPUT),))


def prod(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Return the product."""
    return run(PROD, "prod", (require_tensor(input, "prod"),), None, dim, keepdim)
