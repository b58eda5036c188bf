"""Parameters: leaves that modules collect."""

from __future__ import annotations

from gradguard.runtime.ops.conversion import clone
from gradguard.runtime.ops.creation import zeros
from gradguard.runtime.tensor import Tensor
from gradguard.runtime.unchecked import Unchecked


class Parameter(Tensor):
    """A fresh leaf over a tensor's storage; it tracks in every mode (torch 2.13).

    Raises:
        RuntimeError: the data is an inference tensor and inference mode is off.
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        """Alias ``data``."""
        made = (zeros(0) if data is None else data).alias()
        made._set_flag(
            requires_grad, "Only Tensors of floating point and complex dtype can require gradients"
        )
        made.__class__ = cls
        assert isinstance(made, Parameter)
        return made

    def __init__(self, data: Tensor | None = None, requires_grad: bool = True) -> None:
        """Nothing is left to do."""

    def __deepcopy__(self, memo: dict[int, Unchecked]) -> Parameter:
        """Copy values and flag; the gradient is not copied (torch 2.13)."""
        if id(self) in memo:
            known: Parameter = memo[id(self)]
            return known
        made = type(self)(clone(self.data), self.requires_grad)
        memo[id(self)] = made
        return made

    def __repr__(self) -> str:
        """Show what it is."""
        return "Parameter containing:\n" + super().__repr__()
