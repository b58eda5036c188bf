"""Operations that choose among elements or mix them: where, maximum, lerp ..."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime import dtypes
from gradguard.runtime.dtypes import Array, Number
from gradguard.runtime.graph import Grads
from gradguard.runtime.ops import comparison
from gradguard.runtime.ops.creation import zeros_like
from gradguard.runtime.ops.operands import (
    aligned,
    check_broadcast,
    is_number,
    require_tensor,
    run,
    run_in_place,
    wrap_number,
)
from gradguard.runtime.record import Operation, OperationNode
from gradguard.runtime.state import TensorState, from_array
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _where(condition: Array, a: Array, b: Array) -> Array:
    check_broadcast(condition.shape, a.shape, b.shape)
    a, b = aligned(a, b)
    return np.where(condition, a, b)


def _where_backward(node: OperationNode, grad: Tensor) -> Grads:
    condition = node[0]
    zero = zeros_like(grad)
    return (
        None,
        where(condition, grad, zero) if node.needs(1) else None,
        where(condition, zero, grad) if node.needs(2) else None,
    )


WHERE: Operation = Operation("Where", _where, _where_backward, ((), (0,), (0,)))


def where(condition: Tensor, input: Unchecked = None, other: Unchecked = None) -> Unchecked:
    """Return ``input`` where the condition holds and ``other`` elsewhere.

    Raises:
        RuntimeError: the condition is not boolean.
    """
    require_tensor(condition, "where", "condition")
    if input is None and other is None:
        return tuple(from_array(i) for i in np.nonzero(condition._array))
    if condition.dtype is not dtypes.bool_:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            + condition.dtype.scalar_name
        )
    anchor = next((t for t in (input, other) if isinstance(t, TensorState)), None)
    operands = [_operand(value, anchor) for value in (input, other)]
    return run(WHERE, "where", (condition, *operands), None)


def _operand(value: Unchecked, anchor: TensorState | None) -> Tensor:
    if isinstance(value, TensorState):
        return value._self()
    if anchor is not None:
        return wrap_number(value, anchor._self())
    return from_array(np.asarray(value, dtypes.of_number(value).numpy))


def _extreme_backward(strictly: Unchecked) -> Unchecked:
    # Ties share the gradient half and half (torch 2.13).
    def backward(node: OperationNode, grad: Tensor) -> Grads:
        a, b = node[0], node[1]
        half = grad * 0.5
        zero = zeros_like(grad)
        tie = comparison.eq(a, b)
        nan_a, nan_b = comparison.isnan(a), comparison.isnan(b)
        mine = where(tie, half, where(strictly(b, a) | nan_b & ~nan_a, zero, grad))
        theirs = where(tie, half, where(strictly(a, b) | nan_a & ~nan_b, zero, grad))
        return mine if node.needs(0) else None, theirs if node.needs(1) else None

    return backward


def _forward(compute: Unchecked) -> Unchecked:
    def forward(*arrays: Array) -> Array:
        return np.asarray(compute(*aligned(*arrays)))

    return forward


MAXIMUM: Operation = Operation(
    "Maximum", _forward(np.maximum), _extreme_backward(comparison.gt), ((0, 1), (0, 1))
)
MINIMUM: Operation = Operation(
    "Minimum", _forward(np.minimum), _extreme_backward(comparison.lt), ((0, 1), (0, 1))
)


def maximum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the larger elements."""
    a, b = require_tensor(input, "maximum"), require_tensor(other, "maximum", "other", 2)
    return run(MAXIMUM, "maximum", (a, b), out)


def minimum(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Return the smaller elements."""
    a, b = require_tensor(input, "minimum"), require_tensor(other, "minimum", "other", 2)
    return run(MINIMUM, "minimum", (a, b), out)


def _atan2_backward(node: OperationNode, grad: Tensor) -> Grads:
    a, b = node[0], node[1]
    squares = a * a + b * b
    scaled = grad * masked_fill(1 / squares, comparison.eq(squares, 0), 0)
    return (
        scaled * b if node.needs(0) else None,
        scaled * -a if node.needs(1) else None,
    )


ATAN2: Operation = Operation("Atan2", _forward(np.arctan2), _atan2_backward, ((0, 1), (0, 1)))


def atan2(input: Tensor, other: Tensor) -> Tensor:
    """Return the angle of ``(other, input)``."""
    return run(ATAN2, "atan2", (input, other), None)


def _lerp(a: Array, b: Array, weight: Number) -> Array:
    a, b = aligned(a, b)
    kind = a.dtype.type
    return np.asarray(a + kind(weight) * (b - a))


LERP: Operation = Operation(
    "Lerp",
    _lerp,
    lambda node, grad: (
        grad * (1 - node.params[0]) if node.needs(0) else None,
        grad * node.params[0] if node.needs(1) else None,
    ),
    ((), ()),
)


def lerp(input: Tensor, end: Tensor, weight: Unchecked) -> Tensor:
    """Return ``input + weight * (end - input)``."""
    if isinstance(weight, TensorState):
        return input + weight._self() * (end - input)
    return run(LERP, "lerp", (input, end), None, weight)


def lerp_(input: Tensor, end: Tensor, weight: Number) -> Tensor:
    """Move ``input`` towards ``end``, in place."""
    return run_in_place(LERP, (input, end), weight)


def _addcmul(a: Array, b: Array, c: Array, value: Number) -> Array:
    a, b, c = aligned(a, b, c)
    return np.asarray(a + a.dtype.type(value) * (b * c))


def _addcmul_backward(node: OperationNode, grad: Tensor) -> Grads:
    (value,) = node.params
    return (
        grad,
        grad * (node[2] * value) if node.needs(1) else None,
        grad * (node[1] * value) if node.needs(2) else None,
    )


ADDCMUL: Operation = Operation("Addcmul", _addcmul, _addcmul_backward, ((), (2,), (1,)))


def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """Return ``input + value * tensor1 * tensor2``."""
    return run(ADDCMUL, "addcmul", (input, tensor1, tensor2), None, value)


def addcmul_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """Add a product in place."""
    return run_in_place(ADDCMUL, (input, tensor1, tensor2), value)


def _addcdiv(a: Array, b: Array, c: Array, value: Number) -> Array:
    a, b, c = aligned(a, b, c)
    with np.errstate(all="ignore"):
        return np.asarray(a + a.dtype.type(value) * (b / c))


def _addcdiv_backward(node: OperationNode, grad: Tensor) -> Grads:
    (value,) = node.params
    divisor = node[2]
    return (
        grad,
        grad * (value / divisor) if node.needs(1) else None,
        -grad * (node[1] * value / (divisor * divisor)) if node.needs(2) else None,
    )


ADDCDIV: Operation = Operation("Addcdiv", _addcdiv, _addcdiv_backward, ((), (2,), (1, 2)))


def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """Return ``input + value * tensor1 / tensor2``."""
    return run(ADDCDIV, "addcdiv", (input, tensor1, tensor2), None, value)


def addcdiv_(input: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: Number = 1) -> Tensor:
    """Add a quotient in place."""
    return run_in_place(ADDCDIV, (input, tensor1, tensor2), value)


def _masked_fill(a: Array, mask: Array, value: Array, in_place: bool) -> Array:
    first, second = (a.shape, mask.shape) if in_place else (mask.shape, a.shape)
    check_broadcast(first, second)
    return np.where(mask, value.astype(a.dtype), a)


def _masked_fill_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.reduction import sum_

    mask = node[1]
    zero = zeros_like(grad)
    return (
        where(mask, zero, grad) if node.needs(0) else None,
        None,
        sum_(where(mask, grad, zero)) if node.needs(2) else None,
    )


MASKED_FILL: Operation = Operation(
    "MaskedFill",
    _masked_fill,
    _masked_fill_backward,
    ((1,), (), (1,)),
    writes_overlapping=True,
)


def masked_fill(input: Tensor, mask: Tensor, value: Unchecked) -> Tensor:
    """Return a copy with ``value`` where the mask holds."""
    return run(MASKED_FILL, "masked_fill", (input, mask, _fill_value(input, value)), None, False)


def masked_fill_(input: Tensor, mask: Tensor, value: Unchecked) -> Tensor:
    """Write ``value`` where the mask holds."""
    return run_in_place(MASKED_FILL, (input, mask, _fill_value(input, value)), True)


def _fill_value(input: Tensor, value: Unchecked) -> Tensor:
    if is_number(value):
        made = wrap_number(value, input)
        made._array = made._array.astype(input._array.dtype)
        return made
    return require_tensor(value, "masked_fill", "value", 3)
