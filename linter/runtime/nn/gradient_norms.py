"""Clipping gradients; parameters without one are passed over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gradguard.runtime.guards import no_grad
from gradguard.runtime.ops.creation import tensor
from gradguard.runtime.ops.joining import cat, stack
from gradguard.runtime.ops.pointwise import clamp
from gradguard.runtime.state import TensorState
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _gradients(parameters: Unchecked) -> list[Tensor]:
    given = [parameters] if isinstance(parameters, TensorState) else list(parameters)
    return [p._grad for p in given if p._grad is not None]


def clip_grad_norm_(
    parameters: Unchecked, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scale gradients in place so that their joint norm is at most ``max_norm``; return it."""
    with no_grad():
        grads = _gradients(parameters)
        if not grads:
            return tensor(0.0)
        total = stack([g.norm(norm_type) for g in grads]).norm(norm_type)
        scale = clamp(max_norm / (total + 1e-6), max=1.0)
        for grad in grads:
            grad.mul_(scale)
        return total


def clip_grad_value_(parameters: Unchecked, clip_value: float) -> None:
    """Clamp gradients in place."""
    with no_grad():
        for grad in _gradients(parameters):
            grad.clamp_(-clip_value, clip_value)


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Join parameters into one vector."""
    return cat([p.reshape(-1) for p in parameters])
