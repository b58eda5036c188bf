"""Initialisers: they write in no_grad, so leaves stay leaves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gradguard.runtime.guards import no_grad
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Write one value."""
    with no_grad():
        return tensor.fill_(val)


def zeros_(tensor: Tensor) -> Tensor:
    """Write zeros."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Write ones."""
    return constant_(tensor, 1.0)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Unchecked = None) -> Tensor:
    """Write normal random numbers."""
    with no_grad():
        return tensor.normal_(mean, std)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Unchecked = None) -> Tensor:
    """Write uniform random numbers."""
    with no_grad():
        return tensor.uniform_(a, b)


def _fans(tensor: Tensor) -> tuple[int, int]:
    shape = tensor._array.shape
    if len(shape) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Write uniform numbers scaled by both fans."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Write normal numbers scaled by both fans."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))))


def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Write uniform numbers scaled by one fan."""
    fan = _fans(tensor)[0 if mode == "fan_in" else 1]
    bound = math.sqrt(2.0 / (1 + a * a)) * math.sqrt(3.0 / fan)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Write normal numbers scaled by one fan."""
    fan = _fans(tensor)[0 if mode == "fan_in" else 1]
    return normal_(tensor, 0.0, math.sqrt(2.0 / (1 + a * a) / fan))
