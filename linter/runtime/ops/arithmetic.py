"""Arithmetic with two operands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.dtypes import Array, Number
from gradguard.runtime.graph import Grads
from gradguard.runtime.ops import pointwise
from gradguard.runtime.ops.operands import (
    aligned,
    floating,
    is_number,
    pair,
    require_tensor,
    run,
    run_in_place,
)
from gradguard.runtime.record import OUTPUT, Operation, OperationNode
from gradguard.runtime.state import TensorState
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _add(a: Array, b: Array, alpha: Number) -> Array:
    a, b = aligned(a, b)
    return np.asarray(a + b if alpha == 1 else a + b.dtype.type(alpha) * b)


def _add_backward(node: OperationNode, grad: Tensor) -> Grads:
    (alpha,) = node.params
    return grad, grad if alpha == 1 or not node.needs(1) else mul(grad, alpha)


ADD: Operation = Operation("Add", _add, _add_backward, ((), ()))


def _sub(a: Array, b: Array, alpha: Number) -> Array:
    a, b = aligned(a, b)
    if a.dtype == np.bool_:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
            "or `logical_xor()` operator instead."
        )
    return np.asarray(a - b if alpha == 1 else a - b.dtype.type(alpha) * b)


def _sub_backward(node: OperationNode, grad: Tensor) -> Grads:
    (alpha,) = node.params
    if not node.needs(1):
        return grad, None
    return grad, pointwise.neg(grad) if alpha == 1 else mul(grad, -alpha)


SUB: Operation = Operation("Sub", _sub, _sub_backward, ((), ()))


def _rsub_backward(node: OperationNode, grad: Tensor) -> Grads:
    (alpha,) = node.params
    mine = pointwise.neg(grad) if alpha == 1 else mul(grad, -alpha)
    return mine, grad


RSUB: Operation = Operation("Rsub", lambda a, b, alpha: _sub(b, a, alpha), _rsub_backward, ((), ()), 1)


def _mul(a: Array, b: Array) -> Array:
    a, b = aligned(a, b)
    return np.asarray(a * b)


def _mul_backward(node: OperationNode, grad: Tensor) -> Grads:
    return (
        mul(grad, node[1]) if node.needs(0) else None,
        mul(grad, node[0]) if node.needs(1) else None,
    )


MUL: Operation = Operation("Mul", _mul, _mul_backward, ((1,), (0,)))


def _div(a: Array, b: Array) -> Array:
    a, b = aligned(a, b)
    a, b = floating(a), floating(b)
    with np.errstate(all="ignore"):
        return np.asarray(a / b)


def _div_backward(node: OperationNode, grad: Tensor) -> Grads:
    other = node[1]
    mine = div(grad, other) if node.needs(0) else None
    theirs = None
    if node.needs(1):
        theirs = mul(pointwise.neg(grad), div(div(node[0], other), other))
    return mine, theirs


DIV: Operation = Operation("Div", _div, _div_backward, ((1,), (0, 1)))


def _no_backward(name: str) -> Unchecked:
    def backward(node: OperationNode, grad: Tensor) -> Grads:
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return backward


def _floor_divide(a: Array, b: Array) -> Array:
    a, b = aligned(a, b)
    if a.dtype.kind in "iu" and not np.all(b):
        raise RuntimeError("ZeroDivisionError")
    with np.errstate(all="ignore"):
        return np.asarray(np.floor_divide(a, b))


FLOOR_DIVIDE: Operation = Operation("FloorDivide", _floor_divide, _no_backward("floor_divide"), ((), ()))


def _remainder(a: Array, b: Array) -> Array:
    a, b = aligned(a, b)
    with np.errstate(all="ignore"):
        if a.dtype.kind != "f":
            return np.asarray(np.remainder(a, b))
        # The sign of a zero remainder is the dividend's, other than in numpy's remainder.
        rest = np.fmod(a, b)
        return np.asarray(np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest))


def _remainder_backward(node: OperationNode, grad: Tensor) -> Grads:
    theirs = None
    if node.needs(1):
        theirs = mul(pointwise.neg(grad), pointwise.floor(div(node[0], node[1])))
    return grad, theirs


REMAINDER: Operation = Operation("Remainder", _remainder, _remainder_backward, ((), (0, 1)))
REMAINDER_SCALAR: Operation = Operation(
    "Remainder",
    lambda a, b: _remainder(a, np.asarray(b, a.dtype if a.dtype.kind == "f" else None)),
    lambda node, grad: (grad,),
)


def _power(a: Array, b: Array) -> Array:
    a, b = aligned(a, b)
    with np.errstate(all="ignore"):
        return np.asarray(np.power(a, b))


def _pow_backward(node: OperationNode, grad: Tensor) -> Grads:
    base, exponent, result = node[0], node[1], node[OUTPUT]
    mine = theirs = None
    if node.needs(0):
        slope = mul(grad, mul(exponent, power(base, sub(exponent, 1))))
        mine = where(_equals(exponent, 0.0), _zeros_like(slope), slope)
    if node.needs(1):
        slope = mul(grad, mul(result, pointwise.log(base)))
        flat = _equals(base, 0.0) & _at_least_zero(exponent)
        theirs = where(flat, _zeros_like(slope), slope)
    return mine, theirs


POW: Operation = Operation("Pow", _power, _pow_backward, ((0, 1), (0, 1, OUTPUT)), 1)


def _pow_scalar(a: Array, exponent: Number) -> Array:
    base, power_of = aligned(a, np.asarray(exponent, _scalar_type(a, exponent)))
    with np.errstate(all="ignore"):
        return np.asarray(np.power(base, power_of))


def _scalar_type(a: Array, value: Number) -> Unchecked:
    return a.dtype if a.dtype.kind == "f" or isinstance(value, int) else None


def _pow_scalar_backward(node: OperationNode, grad: Tensor) -> Grads:
    (exponent,) = node.params
    if exponent == 0:
        return (_zeros_like(grad),)
    return (mul(grad, mul(power(node[0], exponent - 1), exponent)),)


POW_SCALAR: Operation = Operation("Pow", _pow_scalar, _pow_scalar_backward, ((0,),))


def _rpow(exponent: Array, base: Number) -> Array:
    left, right = aligned(np.asarray(base, _scalar_type(exponent, base)), exponent)
    with np.errstate(all="ignore"):
        return np.asarray(np.power(left, right))


def _rpow_backward(node: OperationNode, grad: Tensor) -> Grads:
    (base,) = node.params
    if base == 0:
        slope = mul(grad, mul(node[OUTPUT], float(np.log(1e-300)) * np.inf))
        return (where(_at_least_zero(node[0]), _zeros_like(slope), slope),)
    with np.errstate(all="ignore"):
        return (mul(grad, mul(node[OUTPUT], float(np.log(np.float64(base))))),)


RPOW: Operation = Operation("Pow", _rpow, _rpow_backward, ((0, OUTPUT),), 2, through_out="pow")


def _equals(t: Tensor, value: float) -> Tensor:
    from gradguard.runtime.ops.comparison import eq

    return eq(t, value)


def _at_least_zero(t: Tensor) -> Tensor:
    from gradguard.runtime.ops.comparison import ge

    return ge(t, 0.0)


def _zeros_like(t: Tensor) -> Tensor:
    from gradguard.runtime.ops.creation import zeros_like

    return zeros_like(t)


def where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Choose element by element; see ``selection.where``."""
    from gradguard.runtime.ops.selection import where as choose

    chosen: Tensor = choose(condition, a, b)
    return chosen


# -- the operations ---------------------------------------------------------------------


def add(input: Unchecked, other: Unchecked, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``input + alpha * other``."""
    return run(ADD, "add", pair(input, other, "add"), out, alpha)


def sub(input: Unchecked, other: Unchecked, *, alpha: Number = 1, out: Tensor | None = None) -> Tensor:
    """Return ``input - alpha * other``."""
    return run(SUB, "sub", pair(input, other, "sub"), out, alpha)


def rsub(input: Unchecked, other: Unchecked, *, alpha: Number = 1) -> Tensor:
    """Return ``other - alpha * input``."""
    return run(RSUB, "rsub", pair(input, other, "rsub"), None, alpha)


def mul(input: Unchecked, other: Unchecked, *, out: Tensor | None = None) -> Tensor:
    """Return the product."""
    return run(MUL, "mul", pair(input, other, "mul"), out)


def div(
    input: Unchecked,
    other: Unchecked,
    *,
    rounding_mode: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """Return the quotient, true division unless a rounding mode is given."""
    operands = pair(input, other, "div")
    if rounding_mode is None:
        return run(DIV, "div", operands, out)
    quotient = run(DIV, "div", operands, None)
    return pointwise.floor(quotient) if rounding_mode == "floor" else pointwise.trunc(quotient)


def rdiv(input: Tensor, other: Unchecked) -> Tensor:
    """Return ``other / input``, which torch records as a reciprocal and a product."""
    if is_number(other):
        return mul(pointwise.reciprocal(input), other)
    return div(other, input)


def floor_divide(input: Unchecked, other: Unchecked) -> Tensor:
    """Return the quotient rounded down; it has a node, and no derivative (torch 2.13)."""
    return run(FLOOR_DIVIDE, "floor_divide", pair(input, other, "floor_divide"), None)


def rfloor_divide(input: Tensor, other: Unchecked) -> Tensor:
    """Return ``other // input``."""
    return floor_divide(other, input)


def remainder(input: Unchecked, other: Unchecked) -> Tensor:
    """Return the remainder, with the divisor's sign."""
    if isinstance(input, TensorState) and is_number(other):
        return run(REMAINDER_SCALAR, "remainder", (input._self(),), None, other)
    return run(REMAINDER, "remainder", pair(input, other, "remainder"), None)


def rremainder(input: Tensor, other: Unchecked) -> Tensor:
    """Return ``other % input``."""
    return remainder(other, input)


def power(input: Unchecked, exponent: Unchecked, *, out: Tensor | None = None) -> Tensor:
    """Return ``input ** exponent``; a number on either side is no tensor operand (torch 2.13)."""
    if isinstance(input, TensorState):
        base = input._self()
        if isinstance(exponent, TensorState):
            return run(POW, "pow", (base, exponent._self()), out)
        if is_number(exponent):
            return run(POW_SCALAR, "pow", (base,), out, exponent)
    if not is_number(input):
        require_tensor(input, "pow")
    return run(RPOW, "pow", (require_tensor(exponent, "pow", "exponent", 2),), out, input)


def rpower(input: Tensor, other: Unchecked) -> Tensor:
    """Return ``other ** input``."""
    return power(other, input)


def square(input: Tensor) -> Tensor:
    """Return ``input ** 2``."""
    return power(input, 2)


# -- in place ---------------------------------------------------------------------------


def add_(input: Tensor, other: Unchecked, *, alpha: Number = 1) -> Tensor:
    """Add into ``input``."""
    return run_in_place(ADD, pair(input, other, "add_"), alpha)


def sub_(input: Tensor, other: Unchecked, *, alpha: Number = 1) -> Tensor:
    """Subtract from ``input``."""
    return run_in_place(SUB, pair(input, other, "sub_"), alpha)


def mul_(input: Tensor, other: Unchecked) -> Tensor:
    """Multiply ``input``."""
    return run_in_place(MUL, pair(input, other, "mul_"))


def div_(input: Tensor, other: Unchecked) -> Tensor:
    """Divide ``input``."""
    return run_in_place(DIV, pair(input, other, "div_"))


def pow_(input: Tensor, exponent: Unchecked) -> Tensor:
    """Raise ``input`` to a power in place."""
    if isinstance(exponent, TensorState):
        return run_in_place(POW, (input, exponent._self()))
    return run_in_place(POW_SCALAR, (input,), exponent)


def square_(input: Tensor) -> Tensor:
    """Square ``input`` in place."""
    return pow_(input, 2)


def remainder_(input: Tensor, other: Unchecked) -> Tensor:
    """Take the remainder in place."""
    return run_in_place(REMAINDER, pair(input, other, "remainder_"))


def floor_divide_(input: Tensor, other: Unchecked) -> Tensor:
    """Divide in place, rounding down."""
    return run_in_place(FLOOR_DIVIDE, pair(input, other, "floor_divide_"))
