"""``torch.autograd``."""

from __future__ import annotations

import warnings

from gradguard.runtime.backward import backward, grad
from gradguard.runtime.function import Function
from gradguard.runtime.guards import (
    enable_grad,
    inference_mode,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)
from gradguard.runtime.tensor import Tensor
from gradguard.runtime.torch._absent import absent
from gradguard.runtime.torch.autograd import function, functional, grad_mode, graph
from gradguard.runtime.unchecked import Unchecked

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
]

detect_anomaly = set_detect_anomaly


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Unchecked) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """The old spelling of a tensor: a fresh leaf over the tensor's storage."""

    def __new__(  # type: ignore[misc]
        cls, data: Tensor, requires_grad: bool = False, volatile: bool | None = None
    ) -> Tensor:
        """Alias ``data``; ``volatile`` has no effect any more."""
        if volatile is not None:
            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                UserWarning,
                stacklevel=2,
            )
        made = data.alias()
        made.requires_grad_(requires_grad)
        return made


__getattr__ = absent("torch.autograd")
