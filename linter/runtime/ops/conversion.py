"""Copies, conversions, and writes that replace a whole tensor."""

from __future__ import annotations

import copy
import warnings
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime import dtypes, messages
from gradguard.runtime.dtypes import Array, Number, dtype
from gradguard.runtime.graph import Grads
from gradguard.runtime.modes import modes
from gradguard.runtime.ops.operands import check_broadcast, run, run_in_place
from gradguard.runtime.record import Operation, OperationNode
from gradguard.runtime.state import TensorState, from_array
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor

CLONE: Operation = Operation("Clone", lambda a: np.array(a), lambda node, grad: (grad,))
CONTIGUOUS: Operation = Operation("Clone", lambda a: np.ascontiguousarray(a), lambda node, grad: (grad,))
# The engine casts a gradient to the type of what it flows to.
CAST: Operation = Operation("ToCopy", lambda a, kind: a.astype(kind), lambda node, grad: (grad,))


def clone(input: Tensor, *, memory_format: object = None) -> Tensor:
    """Return a recorded copy."""
    return run(CLONE, "clone", (input,), None)


def detach(input: Tensor) -> Tensor:
    """Return an untracked alias that shares storage and version."""
    return input.alias()


def detach_(input: Tensor) -> Tensor:
    """Cut the tensor itself out of the graph; inside inference mode nothing happens (2.13).

    Raises:
        RuntimeError: the tensor is a view.
    """
    if modes.inference or input._inference:
        return input
    if input._view is not None:
        raise RuntimeError(messages.DETACH_VIEW)
    input._flag = False
    input._node = None
    input._output_nr = 0
    return input


def to(input: Tensor, *args: Unchecked, **kwargs: Unchecked) -> Tensor:
    """Return the tensor itself if it has the type already, else a recorded conversion."""
    wanted = kwargs.get("dtype")
    for argument in args:
        if isinstance(argument, dtype):
            wanted = argument
        elif isinstance(argument, TensorState):
            wanted = argument.dtype
    if wanted is None or wanted is input.dtype:
        return clone(input) if kwargs.get("copy") else input
    return run(CAST, "to", (input,), None, wanted.numpy)


def double(input: Tensor) -> Tensor:
    """Return the tensor as float64."""
    return to(input, dtypes.float64)


def to_float(input: Tensor) -> Tensor:
    """Return the tensor as float32."""
    return to(input, dtypes.float32)


def half(input: Tensor) -> Tensor:
    """Return the tensor as float16."""
    return to(input, dtypes.float16)


def long(input: Tensor) -> Tensor:
    """Return the tensor as int64."""
    return to(input, dtypes.int64)


def to_int(input: Tensor) -> Tensor:
    """Return the tensor as int32."""
    return to(input, dtypes.int32)


def to_bool(input: Tensor) -> Tensor:
    """Return the tensor as bool."""
    return to(input, dtypes.bool_)


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """Return the tensor in the other's type."""
    return to(input, other.dtype)


def cpu(input: Tensor) -> Tensor:
    """Return the tensor itself: there is no other device."""
    return input


def contiguous(input: Tensor, memory_format: object = None) -> Tensor:
    """Return the tensor itself if its elements lie in order, else a recorded copy."""
    return input if input._array.flags.c_contiguous else run(CONTIGUOUS, "contiguous", (input,), None)


# -- writes -----------------------------------------------------------------------------


def _copy(target: Array, source: Array) -> Array:
    check_broadcast(target.shape, source.shape)
    return source.astype(target.dtype, copy=False)


def _copy_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.creation import zeros_like

    return zeros_like(grad) if node.needs(0) else None, grad


COPY: Operation = Operation("Copy", _copy, _copy_backward, ((), ()))


def copy_(input: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Write another tensor's elements, which become the gradient's way out.

    Raises:
        TypeError: ``src`` is no tensor.
    """
    if not isinstance(src, TensorState):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {type(src).__name__}")
    return run_in_place(COPY, (input, src._self()))


def _fill(target: Array, value: Number) -> Array:
    return np.asarray(value).astype(target.dtype)


def _fill_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.creation import zeros_like

    return (zeros_like(grad),)


FILL: Operation = Operation("Fill", _fill, _fill_backward, writes_overlapping=True)
ZERO: Operation = Operation("Zero", _fill, _fill_backward, writes_overlapping=True)


def _fill_tensor_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.creation import zeros_like
    from gradguard.runtime.ops.reduction import sum_

    return zeros_like(grad) if node.needs(0) else None, sum_(grad) if node.needs(1) else None


FILL_TENSOR: Operation = Operation(
    "Fill",
    lambda target, value: value.astype(target.dtype),
    _fill_tensor_backward,
    ((), ()),
    suffix=1,
)


def fill_(input: Tensor, value: Unchecked) -> Tensor:
    """Write one value everywhere.

    Raises:
        RuntimeError: the value is a tensor with dimensions.
    """
    if isinstance(value, TensorState):
        source = value._self()
        if source._array.ndim:
            raise RuntimeError(
                "fill_ only supports 0-dimension value tensor but got tensor with "
                f"{source._array.ndim} dimensions."
            )
        if np.may_share_memory(input._array, source._array):
            source = clone(source)
        return run_in_place(FILL_TENSOR, (input, source))
    return run_in_place(FILL, (input,), value)


def zero_(input: Tensor) -> Tensor:
    """Write zeros."""
    return run_in_place(ZERO, (input,), 0)


def set_random_(input: Tensor, values: Array) -> Tensor:
    """Write values drawn elsewhere, as ``normal_`` and ``uniform_`` do."""
    return run_in_place(Operation("Normal", lambda a: values.astype(a.dtype), _fill_backward), (input,))


def normal_(input: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Write normal random numbers."""
    from gradguard.runtime.ops.creation import random_generator

    return set_random_(input, random_generator().normal(mean, std, input._array.shape))


def uniform_(input: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Write uniform random numbers."""
    from gradguard.runtime.ops.creation import random_generator

    return set_random_(input, random_generator().uniform(a, b, input._array.shape))


# -- leaving the engine -----------------------------------------------------------------


def item(input: Tensor) -> Number:
    """Return the one element as a Python number.

    Raises:
        RuntimeError: there is not exactly one.
    """
    if input._array.size != 1:
        raise RuntimeError(f"a Tensor with {input._array.size} elements cannot be converted to Scalar")
    value: Number = input._array.reshape(()).item()
    return value


def tolist(input: Tensor) -> Unchecked:
    """Return nested lists of Python numbers."""
    return input._array.tolist()


def to_numpy(input: Tensor, *, force: bool = False) -> Array:
    """Return the tensor's own memory as an array; writes to it are not counted.

    Raises:
        RuntimeError: the tensor is tracked and grad mode is on.
    """
    if force:
        return np.array(input._array)
    if modes.grad and input.requires_grad:
        raise RuntimeError(messages.NUMPY_TRACKED)
    return input._array


def _warn_scalar(input: Tensor) -> None:
    if modes.grad and input.requires_grad:
        warnings.warn(
            "Converting a tensor with requires_grad=True to a scalar may lead to unexpected "
            "behavior.\nConsider using tensor.detach() first.",
            UserWarning,
            stacklevel=3,
        )


def as_float(input: Tensor) -> float:
    """Return the one element as a float; on a tracked tensor that warns (torch 2.13)."""
    _warn_scalar(input)
    return float(item(input))


def as_int(input: Tensor) -> int:
    """Return the one element as an int."""
    _warn_scalar(input)
    return int(item(input))


def as_index(input: Tensor) -> int:
    """Return the one element of an integer tensor, for use as an index.

    Raises:
        TypeError: it is no integer.
    """
    if input._array.size != 1 or input.dtype.category == 2:
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(item(input))


def as_bool(input: Tensor) -> bool:
    """Return the one element as a bool.

    Raises:
        RuntimeError: there is not exactly one.
    """
    if input._array.size == 0:
        raise RuntimeError("Boolean value of Tensor with no values is ambiguous")
    if input._array.size > 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(input._array.reshape(()).item())


def _copied_storage(array: Array) -> Array:
    # Expanded dimensions stay expanded in the copy (torch 2.13).
    if 0 not in array.strides:
        return np.array(array)
    first = tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)
    kept = np.array(array[first])
    strides = [0 if s == 0 else k for s, k in zip(array.strides, kept.strides, strict=True)]
    return np.lib.stride_tricks.as_strided(kept, array.shape, strides)


def deepcopy(input: Tensor, memo: dict[int, Unchecked]) -> Tensor:
    """Copy a leaf with its flag, gradient and attributes.

    Raises:
        RuntimeError: the tensor is no leaf.
    """
    if id(input) in memo:
        known: Tensor = memo[id(input)]
        return known
    if not input.is_leaf:
        raise RuntimeError(messages.DEEPCOPY_NON_LEAF)
    made = from_array(_copied_storage(input._array))
    made.__class__ = type(input)
    memo[id(input)] = made
    if input.requires_grad:
        made.requires_grad_()
    if input._grad is not None:
        made._grad = copy.deepcopy(input._grad, memo)
    for name, value in vars(input).items():
        if not name.startswith("_"):
            setattr(made, name, copy.deepcopy(value, memo))
    return made
