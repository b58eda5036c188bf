"""Losses as modules."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.runtime.nn import losses
from gradguard.runtime.nn.module import Module
from gradguard.runtime.unchecked import Unchecked


class Criterion(Module):
    """A loss function with its options; it has no parameters."""

    function: Callable[..., Unchecked]

    def __init__(self, *args: Unchecked, **kwargs: Unchecked) -> None:
        """Keep the options; a positional one is the weight."""
        super().__init__()
        if args:
            kwargs["weight"] = args[0]
        self.options = {k: v for k, v in kwargs.items() if v is not None}

    def forward(self, input: Unchecked, target: Unchecked) -> Unchecked:
        """Return the loss."""
        return type(self).function(input, target, **self.options)


def _criterion(name: str, function: Callable[..., Unchecked]) -> type[Criterion]:
    members = {"function": staticmethod(function), "__doc__": f"{name} as a module."}
    return type(name, (Criterion,), members)


MSELoss = _criterion("MSELoss", losses.mse_loss)
L1Loss = _criterion("L1Loss", losses.l1_loss)
SmoothL1Loss = _criterion("SmoothL1Loss", losses.smooth_l1_loss)
HuberLoss = _criterion("HuberLoss", losses.huber_loss)
BCELoss = _criterion("BCELoss", losses.binary_cross_entropy)
BCEWithLogitsLoss = _criterion("BCEWithLogitsLoss", losses.binary_cross_entropy_with_logits)
NLLLoss = _criterion("NLLLoss", losses.nll_loss)
CrossEntropyLoss = _criterion("CrossEntropyLoss", losses.cross_entropy)
KLDivLoss = _criterion("KLDivLoss", losses.kl_div)
