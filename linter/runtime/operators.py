"""Python's operators on tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.ops import arithmetic, comparison, linalg, pointwise
from gradguard.runtime.ops.creation import from_numpy
from gradguard.runtime.ops.operands import is_number
from gradguard.runtime.profiles import active_profile
from gradguard.runtime.protocols import TensorProtocols
from gradguard.runtime.state import TensorState
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _taken(other: object) -> bool:
    return isinstance(other, (TensorState, np.ndarray)) or is_number(other)


def _operand(other: Unchecked) -> Unchecked:
    return from_numpy(other) if isinstance(other, np.ndarray) else other


class TensorOperators(TensorProtocols):
    """Operators; what no operation takes is left to Python.

    An augmented assignment writes into the tensor, or makes a new one where the profile says
    so: Paddle (3.3.1) and tenferro have no in-place update.
    """

    __hash__ = TensorProtocols.__hash__

    def __add__(self, other: Unchecked) -> Tensor:
        """Return the sum."""
        return arithmetic.add(self, _operand(other)) if _taken(other) else NotImplemented

    def __radd__(self, other: Unchecked) -> Tensor:
        """Return the sum."""
        return arithmetic.add(self._self(), _operand(other)) if _taken(other) else NotImplemented

    def __iadd__(self, other: Unchecked) -> Tensor:
        """Return the sum."""
        if not _taken(other):
            return NotImplemented
        if active_profile().rebinds_augmented:
            return arithmetic.add(self, _operand(other))
        return arithmetic.add_(self._self(), _operand(other))

    def __sub__(self, other: Unchecked) -> Tensor:
        """Return the difference."""
        return arithmetic.sub(self, _operand(other)) if _taken(other) else NotImplemented

    def __rsub__(self, other: Unchecked) -> Tensor:
        """Return the difference."""
        return arithmetic.rsub(self._self(), _operand(other)) if _taken(other) else NotImplemented

    def __isub__(self, other: Unchecked) -> Tensor:
        """Return the difference."""
        if not _taken(other):
            return NotImplemented
        if active_profile().rebinds_augmented:
            return arithmetic.sub(self, _operand(other))
        return arithmetic.sub_(self._self(), _operand(other))

    def __mul__(self, other: Unchecked) -> Tensor:
        """Return the product."""
        return arithmetic.mul(self, _operand(other)) if _taken(other) else NotImplemented

    def __rmul__(self, other: Unchecked) -> Tensor:
        """Return the product."""
        return arithmetic.mul(self._self(), _operand(other)) if _taken(other) else NotImplemented

    def __imul__(self, other: Unchecked) -> Tensor:
        """Return the product."""
        if not _taken(other):
            return NotImplemented
        if active_profile().rebinds_augmented:
            return arithmetic.mul(self, _operand(other))
        return arithmetic.mul_(self._self(), _operand(other))

    def __truediv__(self, other: Unchecked) -> Tensor:
        """Return the quotient."""
        return arithmetic.div(self, _operand(other)) if _taken(other) else NotImplemented

    def __rtruediv__(self, other: Unchecked) -> Tensor:
        """Return the quotient."""
        return arithmetic.rdiv(self._self(), _operand(other)) if _taken(other) else NotImplemented

    def __itruediv__(self, other: Unchecked) -> Tensor:
        """Return the quotient."""
        if not _taken(other):
            return NotImplemented
        if active_profile().rebinds_augmented:
            return arithmetic.div(self, _operand(other))
        return arithmetic.div_(self._self(), _operand(other))

    def __floordiv__(self, other: Unchecked) -> Tensor:
        """Return the quotient, rounded down."""
        return arithmetic.floor_divide(self, _operand(other)) if _taken(other) else NotImplemented

    def __rfloordiv__(self, other: Unchecked) -> Tensor:
        """Return the quotient, rounded down."""
        return arithmetic.rfloor_divide(self._self(), _operand(other)) if _taken(other) else NotImplemented

    def __ifloordiv__(self, other: Unchecked) -> Tensor:
        """Return the quotient, rounded down."""
        if not _taken(other):
            return NotImplemented
        if active_profile().rebinds_augmented:
            return arithmetic.floor_divide(self, _operand(other))
        return arithmetic.floor_divide_(self._self(), _operand(other))

    def __mod__(self, other: Unchecked) -> Tensor:
        """Return the remainder."""
        return arithmetic.remainder(self, _operand(other)) if _taken(other) else NotImplemented

    def __rmod__(self, other: Unchecked) -> Tensor:
        """Return the remainder."""
        return arithmetic.rremainder(self._self(), _operand(other)) if _taken(other) else NotImplemented

    def __imod__(self, other: Unchecked) -> Tensor:
        """Return the remainder."""
        if not _taken(other):
            return NotImplemented
        if active_profile().rebinds_augmented:
            return arithmetic.remainder(self, _operand(other))
        return arithmetic.remainder_(self._self(), _operand(other))

    def __pow__(self, other: Unchecked) -> Tensor:
        """Return the power."""
        return arithmetic.power(self, _operand(other)) if _taken(other) else NotImplemented

    def __rpow__(self, other: Unchecked) -> Tensor:
        """Return the power."""
        return arithmetic.rpower(self._self(), _operand(other)) if _taken(other) else NotImplemented

    def __ipow__(self, other: Unchecked) -> Tensor:
        """Return the power."""
        if not _taken(other):
            return NotImplemented
        if active_profile().rebinds_augmented:
            return arithmetic.power(self, _operand(other))
        return arithmetic.pow_(self._self(), _operand(other))

    def __matmul__(self, other: Unchecked) -> Tensor:
        """Return the product of matrices."""
        return linalg.matmul(self._self(), other) if _taken(other) else NotImplemented

    def __neg__(self) -> Tensor:
        """Return the negative."""
        return pointwise.neg(self._self())

    def __abs__(self) -> Tensor:
        """Return the absolute values."""
        return pointwise.absolute(self._self())

    def __invert__(self) -> Tensor:
        """Return the bits inverted."""
        return comparison.bitwise_not(self._self())

    def __eq__(self, other: Unchecked) -> Unchecked:
        """Return where elements are equal."""
        return comparison.eq(self, other) if _taken(other) else False

    def __ne__(self, other: Unchecked) -> Unchecked:
        """Return where elements are not equal."""
        return comparison.ne(self, other) if _taken(other) else True

    def __lt__(self, other: Unchecked) -> Tensor:
        """Return where elements are less."""
        return comparison.lt(self, other) if _taken(other) else NotImplemented

    def __le__(self, other: Unchecked) -> Tensor:
        """Return where elements are less or equal."""
        return comparison.le(self, other) if _taken(other) else NotImplemented

    def __gt__(self, other: Unchecked) -> Tensor:
        """Return where elements are greater."""
        return comparison.gt(self, other) if _taken(other) else NotImplemented

    def __ge__(self, other: Unchecked) -> Tensor:
        """Return where elements are greater or equal."""
        return comparison.ge(self, other) if _taken(other) else NotImplemented

    def __and__(self, other: Unchecked) -> Tensor:
        """Return the bitwise and."""
        return comparison.bitwise_and(self, other) if _taken(other) else NotImplemented

    __rand__ = __and__

    def __or__(self, other: Unchecked) -> Tensor:
        """Return the bitwise or."""
        return comparison.bitwise_or(self, other) if _taken(other) else NotImplemented

    __ror__ = __or__

    def __xor__(self, other: Unchecked) -> Tensor:
        """Return the bitwise xor."""
        return comparison.bitwise_xor(self, other) if _taken(other) else NotImplemented

    __rxor__ = __xor__
