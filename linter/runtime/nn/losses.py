"""Losses as functions: parameter-free, so they pass on what goes in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.ops import arithmetic, pointwise, reduction, softmax
from gradguard.runtime.ops.joining import broadcast_tensors
from gradguard.runtime.ops.operands import aligned, run
from gradguard.runtime.record import Operation, OperationNode
from gradguard.runtime.state import from_array
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.dtypes import Array
    from gradguard.runtime.graph import Grads
    from gradguard.runtime.tensor import Tensor


def _reduced(loss: Tensor, reduction_name: str) -> Tensor:
    if reduction_name == "mean":
        return reduction.mean(loss)
    if reduction_name == "sum":
        return reduction.sum_(loss)
    if reduction_name == "none":
        return loss
    raise ValueError(f"{reduction_name} is not a valid value for reduction")


def _reducing(values: Array, how: str) -> Array:
    if how == "none":
        return np.asarray(values)
    return np.asarray(values.mean() if how == "mean" else values.sum())


def _paired(label: str, values: Unchecked, slope: Unchecked) -> Operation:
    """Make a loss of two tensors that saves both, whichever is tracked (torch 2.13)."""

    def forward(a: Array, b: Array, how: str, *options: float) -> Array:
        a, b = aligned(a, b)
        return _reducing(values(a - b, *options), how)

    def backward(node: OperationNode, grad: Tensor) -> Grads:
        how, *options = node.params
        difference = node[0] - node[1]
        share = slope(difference, *options) * grad
        if how == "mean":
            share = share / max(difference._array.size, 1)
        return share if node.needs(0) else None, -share if node.needs(1) else None

    return Operation(label, forward, backward, ((0, 1), (0, 1)))


MSE_LOSS = _paired("MseLoss", lambda d: d * d, lambda d: d * 2)
SMOOTH_L1_LOSS = _paired(
    "SmoothL1Loss",
    lambda d, beta: np.where(np.abs(d) < beta, 0.5 * d * d / (beta or 1.0), np.abs(d) - 0.5 * beta),
    lambda d, beta: pointwise.clamp(d / beta, -1, 1) if beta else pointwise.sign(d),
)
HUBER_LOSS = _paired(
    "HuberLoss",
    lambda d, delta: np.where(np.abs(d) <= delta, 0.5 * d * d, delta * (np.abs(d) - 0.5 * delta)),
    lambda d, delta: pointwise.clamp(d, -delta, delta),
)


def _check_reduction(name: str) -> None:
    if name not in ("none", "mean", "sum"):
        raise ValueError(f"{name} is not a valid value for reduction")


def _pair_loss(op: Operation, input: Tensor, target: Tensor, how: str, *options: float) -> Tensor:
    # torch expands both first, which makes views of them even if their shapes are equal.
    _check_reduction(how)
    return run(op, op.label, broadcast_tensors(input, target), None, how, *options)


def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean", **_: Unchecked) -> Tensor:
    """Return the squared error."""
    return _pair_loss(MSE_LOSS, input, target, reduction)


def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", **_: Unchecked) -> Tensor:
    """Return the absolute error."""
    a, b = broadcast_tensors(input, target)
    return _reduced(pointwise.absolute(a - b), reduction)


def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """Return the error, squared near zero and absolute elsewhere."""
    return _pair_loss(SMOOTH_L1_LOSS, input, target, reduction, beta)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """Return the error, squared near zero and absolute elsewhere, scaled by ``delta``."""
    return _pair_loss(HUBER_LOSS, input, target, reduction, delta)


def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Return the cross entropy of probabilities; logarithms are at least -100."""
    positive = pointwise.clamp(pointwise.log(input), min=-100)
    negative = pointwise.clamp(pointwise.log(1 - input), min=-100)
    loss = -(target * positive + (1 - target) * negative)
    return _reduced(loss if weight is None else loss * weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """Return the cross entropy of the sigmoid."""
    if pos_weight is None:
        loss = (1 - target) * input - pointwise.logsigmoid(input)
    else:
        factor = (pos_weight - 1) * target + 1
        loss = (1 - target) * input - factor * pointwise.logsigmoid(input)
    return _reduced(loss if weight is None else loss * weight, reduction)


def _shares(scores: Array, classes: Array, weight: Array | None, ignored: int) -> Array:
    """Return how much each element counts: minus its class's weight, or nothing."""
    rows = np.atleast_2d(scores)
    flat = np.atleast_1d(classes)
    counted = flat != ignored
    safe = np.where(counted, flat, 0)
    if safe.size and not (safe.min() >= 0 and safe.max() < rows.shape[1]):
        raise IndexError(f"Target {safe.max()} is out of bounds.")
    factor = counted.astype(rows.dtype) if weight is None else counted * weight[safe]
    shares = np.zeros_like(rows)
    shares[np.arange(safe.size), safe] = -factor
    return shares.reshape(scores.shape)


def _nll(scores: Array, classes: Array, weight: Array | None, how: str, ignored: int) -> Array:
    shares = _shares(scores, classes, weight, ignored)
    losses = (scores * shares).sum(axis=-1)
    if how == "none":
        return np.asarray(losses)
    with np.errstate(all="ignore"):
        return np.asarray(losses.sum() / -shares.sum() if how == "mean" else losses.sum())


def _nll_backward(node: OperationNode, grad: Tensor) -> Grads:
    weight, how, ignored = node.params
    shares = _shares(node[0]._array, node[1]._array, weight, ignored)
    if how == "mean":
        shares = shares / -shares.sum()
    upstream = grad.unsqueeze(-1) if how == "none" and grad.dim() else grad
    return upstream * from_array(shares), None


NLL_LOSS: Operation = Operation("NllLoss", _nll, _nll_backward, ((0, 1), ()))


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int = -100,
) -> Tensor:
    """Return the negative log likelihood of classes given by index, for one row or several.

    Raises:
        IndexError: a class is out of bounds.
    """
    _check_reduction(reduction)
    factor = None if weight is None else weight._array
    return run(NLL_LOSS, "nll_loss", (input, target), None, factor, reduction, ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Return the cross entropy of logits with classes given by index or by probability."""
    dim = 1 if input._array.ndim > 1 else 0
    scores = softmax.log_softmax(input, dim)
    if not target.dtype.is_floating_point and not label_smoothing:
        return nll_loss(scores, target, weight, reduction, ignore_index)
    if not target.dtype.is_floating_point:
        count = input._array.shape[dim]
        flat = np.eye(count, dtype=input._array.dtype)[target._array]
        target = from_array(flat * (1 - label_smoothing) + label_smoothing / count)
    loss = -(scores * target).sum(dim)
    return _reduced(loss, reduction)


def kl_div(input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Return the divergence of ``target`` from the log probabilities ``input``."""
    if log_target:
        loss = pointwise.exp(target) * (target - input)
    else:
        safe = pointwise.log(pointwise.clamp(target, min=1e-300))
        loss = target * (safe - input)
    if reduction == "batchmean":
        return arithmetic.div(loss.sum(), input._array.shape[0])
    return _reduced(loss, reduction)
