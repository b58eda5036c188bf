"""Factories; ``requires_grad=True`` is honoured in every mode (torch 2.13)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime import dtypes
from gradguard.runtime.dtypes import Array, Number, dtype
from gradguard.runtime.ops.operands import shape_arguments
from gradguard.runtime.state import TensorState, from_array
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


class _Random:
    generator: np.random.Generator | None = None


def random_generator() -> np.random.Generator:
    """Return the generator behind the random factories; its numbers are not torch's."""
    if _Random.generator is None:
        _Random.generator = np.random.default_rng(0)
    return _Random.generator


def manual_seed(seed: int) -> None:
    """Seed the random factories."""
    _Random.generator = None if seed == 0 else np.random.default_rng(seed)


def get_rng_state() -> Unchecked:
    """Return the generator's state."""
    return random_generator().bit_generator.state


def set_rng_state(state: Unchecked) -> None:
    """Put the generator's state back."""
    random_generator().bit_generator.state = state


def _leaf(array: Array, requires_grad: bool) -> Tensor:
    made = from_array(array)
    if requires_grad:
        made._set_flag(True, "Only Tensors of floating point and complex dtype can require gradients")
    return made


def _plain(data: Unchecked) -> Unchecked:
    if isinstance(data, TensorState):
        return data._array.tolist()
    if isinstance(data, (list, tuple)):
        return [_plain(item) for item in data]
    return data


def _kind_of(data: Unchecked) -> str:
    if isinstance(data, (list, tuple)):
        kinds = [_kind_of(item) for item in data]
        return max(kinds, key="biuf".index, default="f")
    if isinstance(data, TensorState):
        return str(data._array.dtype.kind).replace("u", "i")
    if isinstance(data, np.ndarray):
        return str(data.dtype.kind).replace("u", "i")
    if isinstance(data, (bool, np.bool_)):
        return "b"
    if isinstance(data, (int, np.integer)):
        return "i"
    if isinstance(data, (float, np.floating)):
        return "f"
    if isinstance(data, str):
        raise TypeError("new(): invalid data type 'str'")
    raise RuntimeError(f"Could not infer dtype of {type(data).__name__}")


def _check_sequences(data: Unchecked, depth: int = 0) -> int | None:
    if not isinstance(data, list):
        return None
    lengths = [len(item) if isinstance(item, list) else -1 for item in data]
    for length in lengths[1:]:
        if length != lengths[0]:
            raise ValueError(f"expected sequence of length {lengths[0]} at dim {depth + 1} (got {length})")
    for item in data:
        _check_sequences(item, depth + 1)
    return None


def to_array(data: Unchecked, wanted: dtype | None = None) -> Array:
    """Copy data into a new array, as ``torch.tensor`` reads it.

    Raises:
        TypeError: it holds something that is no number.
        ValueError: nested sequences differ in length.
    """
    if isinstance(data, (TensorState, np.ndarray, np.generic)):
        array = data._array if isinstance(data, TensorState) else np.asarray(data)
        return np.array(array, wanted.numpy if wanted else array.dtype)
    kind = _kind_of(data)
    plain = _plain(data)
    _check_sequences(plain)
    natural = {"b": dtypes.bool_, "i": dtypes.int64, "f": dtypes.get_default_dtype()}[kind]
    return np.array(plain, (wanted or natural).numpy)


def tensor(
    data: Unchecked,
    *,
    dtype: dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Copy data into a new leaf: a tensor given as data is detached."""
    if isinstance(data, TensorState):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use "
            "sourceTensor.detach().clone() or sourceTensor.detach().clone().requires_grad_(True), "
            "rather than torch.tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    return _leaf(to_array(data, dtype), requires_grad)


def as_tensor(data: Unchecked, dtype: dtype | None = None, device: object = None) -> Tensor:
    """Return the tensor given, or share the array given, or copy."""
    if isinstance(data, TensorState):
        from gradguard.runtime.ops.conversion import to

        return to(data._self(), dtype)
    if isinstance(data, np.ndarray) and dtype is None:
        return from_numpy(data)
    return from_array(to_array(data, dtype))


def from_numpy(array: Unchecked) -> Tensor:
    """Make a tensor over the array's own memory."""
    dtypes.of_array(array)
    return from_array(array)


def _filled(shape: Sequence[int], value: Number, kind: dtype | None) -> Array:
    chosen = kind or dtypes.of_number(value)
    return np.full(tuple(shape), value, chosen.numpy)


def _factory(name: str, value: float) -> Callable[..., Tensor]:
    def function(
        *size: Unchecked,
        dtype: dtype | None = None,
        device: object = None,
        requires_grad: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        kind = dtype or dtypes.get_default_dtype()
        return _leaf(_filled(shape_arguments(size), value, kind), requires_grad)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return a new tensor, filled as ``{name}`` says."
    return function


zeros = _factory("zeros", 0.0)
ones = _factory("ones", 1.0)
empty = _factory("empty", 0.0)


def full(
    size: Unchecked,
    fill_value: Unchecked,
    *,
    dtype: dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a new tensor of one value."""
    if isinstance(fill_value, TensorState):
        fill_value = fill_value._array.item()
    return _leaf(_filled(shape_arguments((size,)), fill_value, dtype), requires_grad)


def _like(name: str, value: float) -> Callable[..., Tensor]:
    def function(
        input: Tensor,
        *,
        dtype: dtype | None = None,
        device: object = None,
        requires_grad: bool = False,
        memory_format: object = None,
    ) -> Tensor:
        kind = dtype or input.dtype
        return _leaf(np.full(input._array.shape, value, kind.numpy), requires_grad)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Return a new tensor of the same shape; it does not inherit tracking."
    return function


zeros_like = _like("zeros_like", 0.0)
ones_like = _like("ones_like", 1.0)
empty_like = _like("empty_like", 0.0)


def full_like(
    input: Tensor, fill_value: Number, *, dtype: dtype | None = None, requires_grad: bool = False
) -> Tensor:
    """Return a new tensor of the same shape and of one value."""
    kind = dtype or input.dtype
    return _leaf(np.full(input._array.shape, fill_value, kind.numpy), requires_grad)


def arange(
    *bounds: Number,
    dtype: dtype | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return the numbers of a range."""
    kind = dtype or (dtypes.int64 if all(isinstance(b, int) for b in bounds) else dtypes.get_default_dtype())
    return _leaf(np.arange(*bounds).astype(kind.numpy), requires_grad)


def linspace(
    start: Number,
    end: Number,
    steps: int,
    *,
    dtype: dtype | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return evenly spaced numbers."""
    kind = (dtype or dtypes.get_default_dtype()).numpy
    return _leaf(np.linspace(start, end, steps).astype(kind), requires_grad)


def eye(n: int, m: int | None = None, *, dtype: dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return the identity matrix."""
    return _leaf(np.eye(n, m, dtype=(dtype or dtypes.get_default_dtype()).numpy), requires_grad)


def _random(name: str, draw: Callable[[tuple[int, ...]], Unchecked]) -> Callable[..., Tensor]:
    def function(
        *size: Unchecked,
        dtype: dtype | None = None,
        device: object = None,
        generator: object = None,
        requires_grad: bool = False,
    ) -> Tensor:
        kind = (dtype or dtypes.get_default_dtype()).numpy
        return _leaf(np.asarray(draw(shape_arguments(size))).astype(kind), requires_grad)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Return random numbers (numpy's, not torch's)."
    return function


randn = _random("randn", lambda shape: random_generator().standard_normal(shape))
rand = _random("rand", lambda shape: random_generator().random(shape))


def randn_like(input: Tensor, *, dtype: dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return normal random numbers of the same shape."""
    return randn(*input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad)


def rand_like(input: Tensor, *, dtype: dtype | None = None, requires_grad: bool = False) -> Tensor:
    """Return uniform random numbers of the same shape."""
    return rand(*input.shape, dtype=dtype or input.dtype, requires_grad=requires_grad)


def randint(
    low: int, high: Unchecked = None, size: Unchecked = None, *, dtype: dtype | None = None
) -> Tensor:
    """Return random integers."""
    if size is None:
        low, high, size = 0, low, high
    drawn = random_generator().integers(low, high, tuple(size))
    return from_array(drawn.astype((dtype or dtypes.int64).numpy))


def randperm(n: int) -> Tensor:
    """Return a random order."""
    return from_array(random_generator().permutation(n))


# -- factories that are methods of a tensor ----------------------------------------------


def new_zeros(
    input: Tensor, *size: Unchecked, dtype: dtype | None = None, requires_grad: bool = False
) -> Tensor:
    """Return zeros of the tensor's type."""
    return zeros(*size, dtype=dtype or input.dtype, requires_grad=requires_grad)


def new_ones(
    input: Tensor, *size: Unchecked, dtype: dtype | None = None, requires_grad: bool = False
) -> Tensor:
    """Return ones of the tensor's type."""
    return ones(*size, dtype=dtype or input.dtype, requires_grad=requires_grad)


def new_empty(
    input: Tensor, *size: Unchecked, dtype: dtype | None = None, requires_grad: bool = False
) -> Tensor:
    """Return a tensor of the tensor's type whose values do not matter."""
    return empty(*size, dtype=dtype or input.dtype, requires_grad=requires_grad)


def new_full(
    input: Tensor,
    size: Unchecked,
    fill_value: Number,
    *,
    dtype: dtype | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of one value, of the tensor's type."""
    return full(size, fill_value, dtype=dtype or input.dtype, requires_grad=requires_grad)


def new_tensor(
    input: Tensor, data: Unchecked, *, dtype: dtype | None = None, requires_grad: bool = False
) -> Tensor:
    """Copy data into a new leaf of the tensor's type."""
    return _leaf(to_array(data, dtype or input.dtype), requires_grad)
