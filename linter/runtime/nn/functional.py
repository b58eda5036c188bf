"""Layers and activations as functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.ops import (
    arithmetic,
    indexing,
    linalg,
    pointwise,
    reduction,
    selection,
    shape,
    statistics,
)
from gradguard.runtime.ops import (
    softmax as softmaxes,
)
from gradguard.runtime.ops.creation import random_generator
from gradguard.runtime.ops.operands import require_tensor
from gradguard.runtime.state import from_array
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return ``input @ weight.T + bias``.

    Raises:
        RuntimeError: the shapes do not fit.
    """
    ndim = require_tensor(input, "linear")._array.ndim
    if ndim == 0:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are 0D and {weight._array.ndim}D"
        )
    turned = shape.t(weight)
    if bias is None:
        if ndim == 1 and turned._array.ndim == 2:
            return shape.squeeze(linalg.mm(shape.unsqueeze(input, 0), turned), 0)
        return linalg.matmul(input, turned)
    if ndim == 2 and turned._array.ndim == 2:
        return linalg.addmm(bias, input, turned)
    one_row = bias._array.ndim == 1 or (bias._array.ndim == 2 and bias._array.shape[0] == 1)
    flat = one_row and input.is_contiguous() and bias.is_contiguous()
    if ndim == 1 and turned._array.ndim == 2 and flat:
        return shape.view(linalg.addmm(bias, shape.unsqueeze(input, 0), turned), (-1,))
    return arithmetic.add(linalg.matmul(input, turned), bias)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the positive part."""
    return relu_(input) if inplace else pointwise.relu(input)


def relu_(input: Tensor) -> Tensor:
    """Keep the positive part, in place."""
    return pointwise.IN_PLACE["relu_"](input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Return the elements moved into [0, 6]."""
    return pointwise.clamp(input, 0, 6)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Return ``x`` where positive, ``negative_slope * x`` elsewhere."""
    return pointwise.leaky_relu(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Return ``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere."""
    return pointwise.elu(input, alpha)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Return ``x * sigmoid(x)``."""
    return pointwise.silu(input)


def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """Return ``log(1 + exp(beta * x)) / beta``."""
    if beta == 1.0:
        return pointwise.softplus(input)
    return pointwise.softplus(input * beta) / beta


def softmax(input: Tensor, dim: int | None = None, dtype: Unchecked = None) -> Tensor:
    """Return exponentials that sum to one; the last dimension unless given."""
    return softmaxes.softmax(input, -1 if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, dtype: Unchecked = None) -> Tensor:
    """Return the logarithm of the softmax."""
    return softmaxes.log_softmax(input, -1 if dim is None else dim, dtype)


tanh = pointwise.tanh
sigmoid = pointwise.sigmoid
gelu = pointwise.gelu
logsigmoid = pointwise.logsigmoid


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """Zero elements at random; outside training the tensor itself is returned (torch 2.13).

    Raises:
        ValueError: ``p`` is no probability.
    """
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0.0:
        return input
    keep = random_generator().random(input._array.shape) >= p
    scale = 0.0 if p == 1.0 else 1.0 / (1.0 - p)
    mask = from_array((keep * scale).astype(input._array.dtype))
    return arithmetic.mul_(input, mask) if inplace else arithmetic.mul(input, mask)


def embedding(input: Tensor, weight: Tensor, padding_idx: int | None = None, **_: Unchecked) -> Tensor:
    """Pick rows of ``weight``."""
    return indexing.getitem(weight, input)


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """Return integer vectors with a one at each index."""
    count = int(tensor._array.max()) + 1 if num_classes == -1 else num_classes
    return from_array(np.eye(count, dtype=np.int64)[tensor._array])


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    """Divide by the norm along a dimension."""
    size = pointwise.clamp_min(statistics.norm(input, p, dim, True), eps)
    return input / shape.expand_as(size, input)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """Return the cosine of the angle along a dimension."""
    product = reduction.sum_(x1 * x2, dim)
    sizes = statistics.norm(x1, 2, dim) * statistics.norm(x2, 2, dim)
    return product / pointwise.clamp_min(sizes, eps)


def layer_norm(
    input: Tensor,
    normalized_shape: Unchecked,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise over the last dimensions."""
    count = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    dims = tuple(range(-count, 0))
    centred = input - reduction.mean(input, dims, True)
    variance = reduction.mean(centred * centred, dims, True)
    result = centred * pointwise.rsqrt(variance + eps)
    if weight is not None:
        result = result * weight
    return result if bias is None else result + bias


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise each channel, and follow the running statistics when training.

    Raises:
        ValueError: there is only one value a channel to learn from.
    """
    dims = tuple(d for d in range(input._array.ndim) if d != 1)
    broadcast = tuple(-1 if d == 1 else 1 for d in range(input._array.ndim))
    if training or running_mean is None or running_var is None:
        count = input._array.size // input._array.shape[1]
        if count == 1:
            raise ValueError(
                f"Expected more than 1 value per channel when training, got input size {input.shape}"
            )
        mean = reduction.mean(input, dims, True)
        centred = input - mean
        variance = reduction.mean(centred * centred, dims, True)
        if running_mean is not None and running_var is not None:
            _follow(running_mean, mean, momentum)
            _follow(running_var, variance * (count / (count - 1)), momentum)
    else:
        mean = shape.reshape(running_mean, broadcast)
        variance = shape.reshape(running_var, broadcast)
        centred = input - mean
    result = centred * pointwise.rsqrt(variance + eps)
    if weight is not None:
        result = result * shape.reshape(weight, broadcast)
    return result if bias is None else result + shape.reshape(bias, broadcast)


def _follow(running: Tensor, observed: Tensor, momentum: float) -> None:
    # The statistics are state: they are updated outside the graph.
    flat = observed._array.reshape(running._array.shape)
    running._array[...] = running._array * (1 - momentum) + flat * momentum
    if running._counter is not None:
        running._counter.value += 1


def where(condition: Tensor, input: Unchecked, other: Unchecked) -> Unchecked:
    """Choose element by element."""
    return selection.where(condition, input, other)
