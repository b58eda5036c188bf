"""Softmax and its logarithm."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.dtypes import Array, dtype
from gradguard.runtime.graph import Grads
from gradguard.runtime.ops import pointwise
from gradguard.runtime.ops.operands import run, wrap_dim
from gradguard.runtime.ops.reduction import sum_
from gradguard.runtime.record import OUTPUT, Operation, OperationNode

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _log_softmax(a: Array, dim: int) -> Array:
    shifted = a - a.max(axis=dim, keepdims=True, initial=-np.inf) if a.ndim else a - a
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=dim if a.ndim else None, keepdims=True)))


def _softmax_backward(node: OperationNode, grad: Tensor) -> Grads:
    (dim,) = node.params
    result = node[OUTPUT]
    return ((grad - sum_(grad * result, dim, True)) * result,)


def _log_softmax_backward(node: OperationNode, grad: Tensor) -> Grads:
    (dim,) = node.params
    return (grad - pointwise.exp(node[OUTPUT]) * sum_(grad, dim, True),)


SOFTMAX: Operation = Operation(
    "Softmax", lambda a, dim: np.exp(_log_softmax(a, dim)), _softmax_backward, ((OUTPUT,),)
)
LOG_SOFTMAX: Operation = Operation("LogSoftmax", _log_softmax, _log_softmax_backward, ((OUTPUT,),))


def softmax(input: Tensor, dim: int = -1, dtype: dtype | None = None) -> Tensor:
    """Return exponentials that sum to one along a dimension."""
    source = input if dtype is None else input.to(dtype)
    return run(SOFTMAX, "softmax", (source,), None, wrap_dim(dim, source._array.ndim))


def log_softmax(input: Tensor, dim: int = -1, dtype: dtype | None = None) -> Tensor:
    """Return the logarithm of the softmax."""
    source = input if dtype is None else input.to(dtype)
    return run(LOG_SOFTMAX, "log_softmax", (source,), None, wrap_dim(dim, source._array.ndim))
