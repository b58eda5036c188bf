"""Element types, their promotion rules and the names torch prints for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Number = bool | int | float


@dataclass(frozen=True, eq=False)
class dtype:
    """One element type; ``rank`` orders bool < integers < floats, as promotion needs."""

    name: str
    numpy: np.dtype[np.generic]
    category: int
    rank: int
    scalar_name: str

    @property
    def is_floating_point(self) -> bool:
        """Tell whether tensors of this type can require gradients."""
        return self.category == 2

    @property
    def is_complex(self) -> bool:
        """Always False: complex types are out of scope."""
        return False

    @property
    def itemsize(self) -> int:
        """Return the bytes of one element."""
        return int(self.numpy.itemsize)

    def __repr__(self) -> str:
        """Return ``torch.float32``."""
        return f"torch.{self.name}"


bool_ = dtype("bool", np.dtype(np.bool_), 0, 0, "Bool")
uint8 = dtype("uint8", np.dtype(np.uint8), 1, 1, "Byte")
int8 = dtype("int8", np.dtype(np.int8), 1, 1, "Char")
int16 = dtype("int16", np.dtype(np.int16), 1, 2, "Short")
int32 = dtype("int32", np.dtype(np.int32), 1, 3, "Int")
int64 = dtype("int64", np.dtype(np.int64), 1, 4, "Long")
float16 = dtype("float16", np.dtype(np.float16), 2, 5, "Half")
float32 = dtype("float32", np.dtype(np.float32), 2, 6, "Float")
float64 = dtype("float64", np.dtype(np.float64), 2, 7, "Double")

_BY_NUMPY: dict[np.dtype[np.generic], dtype] = {
    t.numpy: t for t in (bool_, uint8, int8, int16, int32, int64, float16, float32, float64)
}


class _Default:
    floating: dtype = float32


def get_default_dtype() -> dtype:
    """Return the type of tensors made from Python floats (process-wide, as in torch)."""
    return _Default.floating


def set_default_dtype(d: dtype) -> None:
    """Set the type of tensors made from Python floats.

    Raises:
        TypeError: ``d`` is not a floating-point type.
    """
    if not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    _Default.floating = d


def of_array(array: Array) -> dtype:
    """Return the element type of a numpy array.

    Raises:
        TypeError: the engine has no such type.
    """
    found = _BY_NUMPY.get(array.dtype)
    if found is None:
        raise TypeError(f"can't convert np.ndarray of type {array.dtype.type.__name__}.")
    return found


def of_number(value: Number) -> dtype:
    """Return the type that a tensor made from a Python number gets."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    return _Default.floating


def _join(a: dtype, b: dtype) -> dtype:
    if a is b:
        return a
    if {a.name, b.name} == {"uint8", "int8"}:
        return int16
    return a if (a.category, a.rank) >= (b.category, b.rank) else b


def promote(dimensioned: list[dtype], zero_dim: list[dtype], numbers: list[dtype]) -> dtype:
    """Return the common type; a lower group counts only if its category is higher (torch)."""
    result: dtype | None = None
    for group in (dimensioned, zero_dim, numbers):
        if not group:
            continue
        joined = group[0]
        for other in group[1:]:
            joined = _join(joined, other)
        if result is None:
            result = joined
        elif joined.category > result.category:
            result = get_default_dtype() if group is numbers and joined.category == 2 else joined
    assert result is not None
    return result
