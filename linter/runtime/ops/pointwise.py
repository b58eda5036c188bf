"""Functions of one tensor, element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.dtypes import Array, Number
from gradguard.runtime.graph import Grads
from gradguard.runtime.ops.operands import floating, require_tensor, run, run_in_place
from gradguard.runtime.record import OUTPUT, Operation, OperationNode
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor

Gradient = Callable[[OperationNode, "Tensor"], "Tensor"]
UnaryFunction = Callable[..., "Tensor"]


def _quiet(compute: Callable[[Array], Unchecked]) -> Callable[..., Array]:
    def forward(a: Array) -> Array:
        source = floating(a)
        with np.errstate(all="ignore"):
            return np.asarray(compute(source)).astype(source.dtype, copy=False)

    return forward


def _unary(
    label: str,
    compute: Callable[[Array], Unchecked],
    gradient: Gradient,
    reads: tuple[int, ...],
    to_floating: bool = True,
) -> Operation:
    forward = _quiet(compute) if to_floating else lambda a: np.asarray(compute(a))
    return Operation(label, forward, lambda node, grad: (gradient(node, grad),), (reads,))


def _sigmoid(a: Array) -> Unchecked:
    return np.exp(-np.logaddexp(0, -a))


def _zero(node: OperationNode, grad: Tensor) -> Tensor:
    return grad * 0.0 if not grad._array.size else _zeros(grad)


def _zeros(grad: Tensor) -> Tensor:
    from gradguard.runtime.ops.creation import zeros_like

    return zeros_like(grad)


def _positive(t: Tensor) -> Tensor:
    from gradguard.runtime.ops.comparison import gt

    return gt(t, 0)


def _masked(grad: Tensor, mask: Tensor) -> Tensor:
    from gradguard.runtime.ops.selection import where

    chosen: Tensor = where(mask, grad, _zeros(grad))
    return chosen


def _threshold_backward(node: OperationNode, grad: Tensor) -> Grads:
    (slope,) = node.params
    return (
        _threshold(grad, node[1], slope) if node.needs(0) else None,
        _zeros(grad) if node.needs(1) else None,
    )


# An operation of two tensors, since torch tracks its result through the second one too,
# with a gradient of zero.
THRESHOLD: Operation = Operation(
    "ThresholdBackward",
    lambda grad, value, slope: np.where(value > 0, grad, grad * grad.dtype.type(slope)),
    _threshold_backward,
    ((1,), (1,)),
)


def _threshold(grad: Tensor, value: Tensor, slope: float) -> Tensor:
    return run(THRESHOLD, "threshold_backward", (grad, value), None, slope)


_SQRT_PI = float(np.sqrt(np.pi))

_UNARY: dict[str, Operation] = {
    "neg": _unary("Neg", lambda a: -a, lambda n, g: neg(g), (), to_floating=False),
    "exp": _unary("Exp", np.exp, lambda n, g: g * n[OUTPUT], (OUTPUT,)),
    "expm1": _unary("Expm1", np.expm1, lambda n, g: g * (n[OUTPUT] + 1), (OUTPUT,)),
    "log": _unary("Log", np.log, lambda n, g: g / n[0], (0,)),
    "log1p": _unary("Log1P", np.log1p, lambda n, g: g / (n[0] + 1), (0,)),
    "log2": _unary("Log2", np.log2, lambda n, g: g / (n[0] * float(np.log(2))), (0,)),
    "log10": _unary("Log10", np.log10, lambda n, g: g / (n[0] * float(np.log(10))), (0,)),
    "sin": _unary("Sin", np.sin, lambda n, g: g * cos(n[0]), (0,)),
    "cos": _unary("Cos", np.cos, lambda n, g: g * neg(sin(n[0])), (0,)),
    "tan": _unary("Tan", np.tan, lambda n, g: g * (n[OUTPUT] ** 2 + 1), (OUTPUT,)),
    "asin": _unary("Asin", np.arcsin, lambda n, g: g * rsqrt(1 - n[0] ** 2), (0,)),
    "acos": _unary("Acos", np.arccos, lambda n, g: g * neg(rsqrt(1 - n[0] ** 2)), (0,)),
    "atan": _unary("Atan", np.arctan, lambda n, g: g / (n[0] ** 2 + 1), (0,)),
    "sinh": _unary("Sinh", np.sinh, lambda n, g: g * cosh(n[0]), (0,)),
    "cosh": _unary("Cosh", np.cosh, lambda n, g: g * sinh(n[0]), (0,)),
    "tanh": _unary("Tanh", np.tanh, lambda n, g: g * (1 - n[OUTPUT] ** 2), (OUTPUT,)),
    "sigmoid": _unary("Sigmoid", _sigmoid, lambda n, g: g * ((1 - n[OUTPUT]) * n[OUTPUT]), (OUTPUT,)),
    "sqrt": _unary("Sqrt", np.sqrt, lambda n, g: g / (n[OUTPUT] * 2), (OUTPUT,)),
    "rsqrt": _unary("Rsqrt", lambda a: 1 / np.sqrt(a), lambda n, g: g * -0.5 * n[OUTPUT] ** 3, (OUTPUT,)),
    "reciprocal": _unary(
        "Reciprocal", lambda a: 1 / a, lambda n, g: neg(g) * (n[OUTPUT] * n[OUTPUT]), (OUTPUT,)
    ),
    "abs": _unary("Abs", np.abs, lambda n, g: g * sign(n[0]), (0,), to_floating=False),
    "sign": _unary("Sign", np.sign, _zero, (), to_floating=False),
    "floor": _unary("Floor", np.floor, _zero, ()),
    "ceil": _unary("Ceil", np.ceil, _zero, ()),
    "round": _unary("Round", np.round, _zero, ()),
    "trunc": _unary("Trunc", np.trunc, _zero, ()),
    "frac": _unary("Frac", lambda a: a - np.trunc(a), lambda n, g: g, ()),
    "relu": _unary(
        "Relu",
        lambda a: np.where(np.isnan(a), a, np.maximum(a, a.dtype.type(0))),
        lambda n, g: _threshold(g, n[OUTPUT], 0.0),
        (OUTPUT,),
        to_floating=False,
    ),
    "softplus": _unary("Softplus", lambda a: np.logaddexp(0, a), lambda n, g: g * sigmoid(n[0]), (0,)),
    "silu": _unary(
        "Silu",
        lambda a: a * _sigmoid(a),
        lambda n, g: g * (sigmoid(n[0]) * (1 + n[0] * (1 - sigmoid(n[0])))),
        (0,),
    ),
    "logsigmoid": _unary(
        "LogSigmoid", lambda a: -np.logaddexp(0, -a), lambda n, g: g * sigmoid(neg(n[0])), (0,)
    ),
}


def _function(name: str) -> Callable[..., Tensor]:
    op = _UNARY[name]

    def function(input: Tensor, *, out: Tensor | None = None) -> Tensor:
        return run(op, name, (require_tensor(input, name),), out)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Return the {name} of each element."
    return function


def _in_place(name: str) -> Callable[[Tensor], Tensor]:
    op = _UNARY[name]

    def function(input: Tensor) -> Tensor:
        return run_in_place(op, (require_tensor(input, f"{name}_"),))

    function.__name__ = function.__qualname__ = f"{name}_"
    function.__doc__ = f"Replace each element by its {name}."
    return function


neg: UnaryFunction = _function("neg")
exp: UnaryFunction = _function("exp")
expm1: UnaryFunction = _function("expm1")
log: UnaryFunction = _function("log")
log1p: UnaryFunction = _function("log1p")
log2: UnaryFunction = _function("log2")
log10: UnaryFunction = _function("log10")
sin: UnaryFunction = _function("sin")
cos: UnaryFunction = _function("cos")
tan: UnaryFunction = _function("tan")
asin: UnaryFunction = _function("asin")
acos: UnaryFunction = _function("acos")
atan: UnaryFunction = _function("atan")
sinh: UnaryFunction = _function("sinh")
cosh: UnaryFunction = _function("cosh")
tanh: UnaryFunction = _function("tanh")
sigmoid: UnaryFunction = _function("sigmoid")
sqrt: UnaryFunction = _function("sqrt")
rsqrt: UnaryFunction = _function("rsqrt")
reciprocal: UnaryFunction = _function("reciprocal")
absolute: UnaryFunction = _function("abs")
sign: UnaryFunction = _function("sign")
floor: UnaryFunction = _function("floor")
ceil: UnaryFunction = _function("ceil")
trunc: UnaryFunction = _function("trunc")
frac: UnaryFunction = _function("frac")
relu: UnaryFunction = _function("relu")
softplus: UnaryFunction = _function("softplus")
silu: UnaryFunction = _function("silu")
logsigmoid: UnaryFunction = _function("logsigmoid")
rounded: UnaryFunction = _function("round")

IN_PLACE = {f"{name}_": _in_place(name) for name in _UNARY}


def _clamp(a: Array, low: Number | None, high: Number | None) -> Array:
    kind = a.dtype
    if kind.kind in "iub" and any(isinstance(bound, float) for bound in (low, high)):
        a = floating(a)
        kind = a.dtype
    result = a
    if low is not None:
        result = np.where(np.isnan(a), a, np.maximum(result, kind.type(low)))
    if high is not None:
        result = np.where(np.isnan(a), a, np.minimum(result, kind.type(high)))
    return result.astype(kind, copy=False)


def _clamp_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.comparison import ge, le

    low, high = node.params
    value = node[0]
    mask = None if low is None else ge(value, low)
    if high is not None:
        below = le(value, high)
        mask = below if mask is None else mask & below
    assert mask is not None
    return (_masked(grad, mask),)


CLAMP: Operation = Operation("Clamp", _clamp, _clamp_backward, ((0,),), 1)


def _check_bounds(min: object, max: object) -> None:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")


def clamp(
    input: Tensor,
    min: Unchecked = None,
    max: Unchecked = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """Return the elements moved into the bounds, which are numbers or tensors.

    Raises:
        RuntimeError: no bound is given.
    """
    _check_bounds(min, max)
    from gradguard.runtime.ops import selection
    from gradguard.runtime.state import TensorState

    if isinstance(min, TensorState) or isinstance(max, TensorState):
        result = input
        if min is not None:
            result = selection.maximum(result, _bound(min, input))
        return result if max is None else selection.minimum(result, _bound(max, input))
    return run(CLAMP, "clamp", (require_tensor(input, "clamp"),), out, min, max)


def _bound(bound: Unchecked, like: Tensor) -> Tensor:
    from gradguard.runtime.ops.operands import wrap_number
    from gradguard.runtime.state import TensorState

    return bound._self() if isinstance(bound, TensorState) else wrap_number(bound, like)


def clamp_(input: Tensor, min: Unchecked = None, max: Unchecked = None) -> Tensor:
    """Move the elements into the bounds, in place."""
    _check_bounds(min, max)
    return run_in_place(CLAMP, (input,), min, max)


def clamp_min(input: Tensor, min: Number) -> Tensor:
    """Return the elements, at least ``min``."""
    return clamp(input, min=min)


def clamp_max(input: Tensor, max: Number) -> Tensor:
    """Return the elements, at most ``max``."""
    return clamp(input, max=max)


def clamp_min_(input: Tensor, min: Number) -> Tensor:
    """Raise the elements to ``min``, in place."""
    return clamp_(input, min=min)


def clamp_max_(input: Tensor, max: Number) -> Tensor:
    """Lower the elements to ``max``, in place."""
    return clamp_(input, max=max)


def _leaky_relu_backward(node: OperationNode, grad: Tensor) -> Grads:
    return (_threshold(grad, node[0], node.params[0]),)


LEAKY_RELU: Operation = Operation(
    "LeakyRelu", lambda a, slope: np.where(a > 0, a, a * slope), _leaky_relu_backward, ((0,),)
)


def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Return ``x`` where positive, ``negative_slope * x`` elsewhere."""
    return run(LEAKY_RELU, "leaky_relu", (input,), None, negative_slope)


def _elu_backward(node: OperationNode, grad: Tensor) -> Grads:
    from gradguard.runtime.ops.selection import where

    (alpha,) = node.params
    return (where(_positive(node[0]), grad, grad * (exp(node[0]) * alpha)),)


ELU: Operation = Operation(
    "Elu",
    lambda a, alpha: np.where(a > 0, a, alpha * np.expm1(np.minimum(a, 0))),
    _elu_backward,
    ((0,),),
)


def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """Return ``x`` where positive, ``alpha * (exp(x) - 1)`` elsewhere."""
    return run(ELU, "elu", (input,), None, alpha)


def _erf(a: Array) -> Array:
    from math import erf as scalar_erf

    return np.asarray(np.vectorize(scalar_erf, otypes=[a.dtype])(a))


ERF = _unary("Erf", _erf, lambda n, g: g * (exp(neg(n[0] ** 2)) * (2 / _SQRT_PI)), (0,))


def erf(input: Tensor) -> Tensor:
    """Return the error function of each element."""
    return run(ERF, "erf", (input,), None)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """Return the Gaussian error linear unit, by composition; ``tanh`` gives the approximation."""
    if approximate == "tanh":
        inner = (input + input**3 * 0.044715) * float(np.sqrt(2 / np.pi))
        return input * 0.5 * (tanh(inner) + 1)
    return input * 0.5 * (erf(input * float(np.sqrt(0.5))) + 1)
