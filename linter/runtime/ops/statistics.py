"""Norms, variances, and sums that run or take logarithms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.dtypes import Array
from gradguard.runtime.graph import Grads
from gradguard.runtime.ops import pointwise
from gradguard.runtime.ops.creation import zeros_like
from gradguard.runtime.ops.operands import floating, run, wrap_dim
from gradguard.runtime.ops.reduction import Dims, dims_of, mean, spread
from gradguard.runtime.record import OUTPUT, Operation, OperationNode
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _norm(a: Array, p: float, dims: Dims, keepdim: bool) -> Array:
    magnitude = np.abs(floating(a))
    if p == np.inf:
        return np.asarray(magnitude.max(axis=dims, keepdims=keepdim))
    total = (magnitude**p).sum(axis=dims, keepdims=keepdim)
    return np.asarray(total ** (1.0 / p)).astype(magnitude.dtype, copy=False)


def _norm_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.comparison import eq
    from gradguard.runtime.ops.selection import where

    p, dims, keepdim = node.params
    shape = node.shapes[0]
    source = node[0]
    norm = spread(node[OUTPUT], shape, dims, keepdim)
    upstream = spread(grad, shape, dims, keepdim)
    if p == np.inf:
        slope = pointwise.sign(source) * eq(pointwise.absolute(source), norm)
        return (upstream * slope,)
    if p == 1.0:
        return (upstream * pointwise.sign(source),)
    if p == 2.0:
        slope = upstream * (source / norm)
    else:
        size = pointwise.absolute(source)
        slope = upstream * pointwise.sign(source) * size ** (p - 1) / norm ** (p - 1)
    return (where(eq(norm, 0.0), zeros_like(slope), slope),)


NORM: Operation = Operation("LinalgVectorNorm", _norm, _norm_backward, ((0, OUTPUT),))


def norm(input: Tensor, p: Unchecked = 2, dim: Unchecked = None, keepdim: bool = False) -> Tensor:
    """Return the p-norm; its gradient at zero is zero."""
    order = 2.0 if p in (None, "fro") else float(p)
    return run(NORM, "norm", (input,), None, order, dims_of(dim, input._array.ndim), keepdim)


def _count(shape: Sequence[int], dims: Dims) -> int:
    total = 1
    for d in dims:
        total *= shape[d]
    return total


def _variance(a: Array, dims: Dims, correction: int, keepdim: bool) -> Array:
    with np.errstate(all="ignore"):
        centred = a - a.mean(axis=dims, keepdims=True)
        total = (centred * centred).sum(axis=dims, keepdims=keepdim)
        return np.asarray(total / a.dtype.type(max(_count(a.shape, dims) - correction, 0)))


def _variance_slope(node: OperationNode, grad: Tensor) -> Tensor:
    dims, correction, keepdim = node.params
    shape = node.shapes[0]
    centred = node[0] - mean(node[0], dims, True)
    factor = 2.0 / max(_count(shape, dims) - correction, 0) if _count(shape, dims) > correction else np.nan
    return spread(grad, shape, dims, keepdim) * centred * factor


def _std_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.comparison import eq
    from gradguard.runtime.ops.selection import masked_fill

    result = node[OUTPUT]
    return (_variance_slope(node, masked_fill(grad / (result * 2), eq(result, 0), 0)),)


VAR: Operation = Operation("Var", _variance, lambda node, grad: (_variance_slope(node, grad),), ((0,),))
STD: Operation = Operation(
    "Std", lambda *arguments: np.sqrt(_variance(*arguments)), _std_backward, ((0, OUTPUT),)
)


def _spread_of(
    op: Operation,
    input: Tensor,
    dim: Unchecked,
    unbiased: bool,
    keepdim: bool,
    correction: int | None,
) -> Tensor:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    off = int(unbiased) if correction is None else correction
    dims = dims_of(dim, input._array.ndim)
    return run(op, op.label.lower(), (input,), None, dims, off, keepdim)


def var(
    input: Tensor,
    dim: Unchecked = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: int | None = None,
) -> Tensor:
    """Return the variance."""
    return _spread_of(VAR, input, dim, unbiased, keepdim, correction)


def std(
    input: Tensor,
    dim: Unchecked = None,
    unbiased: bool = True,
    keepdim: bool = False,
    *,
    correction: int | None = None,
) -> Tensor:
    """Return the standard deviation; its gradient at zero is zero."""
    return _spread_of(STD, input, dim, unbiased, keepdim, correction)


def _logsumexp(a: Array, dims: Dims, keepdim: bool) -> Array:
    top = a.max(axis=dims, keepdims=True, initial=-np.inf)
    safe = np.where(np.isfinite(top), top, 0)
    with np.errstate(all="ignore"):
        total = np.log(np.exp(a - safe).sum(axis=dims, keepdims=True)) + safe
    return np.asarray(total if keepdim else np.squeeze(total, axis=dims))


def _logsumexp_backward(node: OperationNode, grad: Tensor) -> Grads:
    dims, keepdim = node.params
    shape = node.shapes[0]
    shifted = node[0] - spread(node[OUTPUT], shape, dims, keepdim)
    return (spread(grad, shape, dims, keepdim) * pointwise.exp(shifted),)


LOGSUMEXP: Operation = Operation(
    "Logsumexp", _logsumexp, _logsumexp_backward, ((0, OUTPUT),), through_out="logsumexp"
)


def logsumexp(input: Tensor, dim: Unchecked, keepdim: bool = False) -> Tensor:
    """Return the logarithm of the sum of exponentials."""
    return run(LOGSUMEXP, "logsumexp", (input,), None, dims_of(dim, input._array.ndim), keepdim)


CUMSUM: Operation = Operation(
    "Cumsum",
    lambda a, dim: np.cumsum(a, axis=dim) if a.ndim else np.array(a),
    lambda node, grad: (_reverse_cumsum(grad, node.params[0]),),
)


def _reverse_cumsum(grad: Tensor, dim: int) -> Tensor:
    from gradguard.runtime.ops.gathering import flip

    return grad if grad._array.ndim == 0 else flip(cumsum(flip(grad, [dim]), dim), [dim])


def cumsum(input: Tensor, dim: int) -> Tensor:
    """Return running sums along a dimension."""
    return run(CUMSUM, "cumsum", (input,), None, wrap_dim(dim, input._array.ndim))
