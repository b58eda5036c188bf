"""Comparisons and logic: never recorded, so they cut the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.dtypes import Array
from gradguard.runtime.ops.operands import aligned, pair, require_tensor
from gradguard.runtime.state import from_array
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _comparison(name: str, compute: Callable[[Array, Array], Unchecked]) -> Callable[..., Tensor]:
    def function(input: Unchecked, other: Unchecked) -> Tensor:
        a, b = pair(input, other, name)
        left, right = aligned(a._array, b._array)
        return from_array(np.asarray(compute(left, right)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return where ``{name}`` holds, as booleans."
    return function


eq = _comparison("eq", np.equal)
ne = _comparison("ne", np.not_equal)
lt = _comparison("lt", np.less)
le = _comparison("le", np.less_equal)
gt = _comparison("gt", np.greater)
ge = _comparison("ge", np.greater_equal)
logical_and = _comparison("logical_and", np.logical_and)
logical_or = _comparison("logical_or", np.logical_or)
logical_xor = _comparison("logical_xor", np.logical_xor)
bitwise_and = _comparison("bitwise_and", np.bitwise_and)
bitwise_or = _comparison("bitwise_or", np.bitwise_or)
bitwise_xor = _comparison("bitwise_xor", np.bitwise_xor)


def _test(name: str, compute: Callable[[Array], Unchecked]) -> Callable[[Tensor], Tensor]:
    def function(input: Tensor) -> Tensor:
        return from_array(np.asarray(compute(require_tensor(input, name)._array)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return where ``{name}`` holds, as booleans."
    return function


isnan = _test("isnan", np.isnan)
isinf = _test("isinf", np.isinf)
isfinite = _test("isfinite", np.isfinite)
logical_not = _test("logical_not", np.logical_not)
bitwise_not = _test("bitwise_not", np.invert)


def _over(name: str, compute: Callable[..., Unchecked]) -> Callable[..., Tensor]:
    def function(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
        array = require_tensor(input, name)._array
        return from_array(np.asarray(compute(array, axis=dim, keepdims=keepdim and dim is not None)))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the {name} over a dimension, or over everything."
    return function


all_ = _over("all", np.all)
any_ = _over("any", np.any)
argmax = _over("argmax", np.argmax)
argmin = _over("argmin", np.argmin)
count_nonzero = _over("count_nonzero", np.count_nonzero)


def equal(input: Tensor, other: Tensor) -> bool:
    """Tell whether shapes and all elements are equal."""
    return bool(np.array_equal(input._array, other._array))


def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:
    """Return where elements are close."""
    return from_array(np.isclose(input._array, other._array, rtol, atol, equal_nan))


def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Tell whether all elements are close."""
    return bool(np.allclose(input._array, other._array, rtol, atol, equal_nan))


def nonzero(input: Tensor) -> Tensor:
    """Return the indices of the elements that are not zero, one row each."""
    return from_array(np.argwhere(input._array))


def argsort(input: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Return the order that sorts along a dimension."""
    keys = -input._array if descending else input._array
    return from_array(np.argsort(keys, axis=dim, kind="stable"))
