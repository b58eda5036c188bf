"""A stand-in for torch: ``import gradguard.runtime.torch as torch``.

What it lacks raises an error that names it.
"""

from __future__ import annotations

import math
from importlib import import_module

from gradguard.runtime.tensor import Tensor
from gradguard.runtime.torch import autograd, func, nn, optim, utils
from gradguard.runtime.torch._absent import absent
from gradguard.runtime.unchecked import Unchecked

# Where each name lives; ``name=original`` where torch spells it otherwise.
_HOMES = {
    "dtypes": (
        "bool=bool_ double=float64 dtype float16 float32 float64 float=float32 "
        "get_default_dtype half=float16 int16 int32 int64 int8 int=int32 long=int64 "
        "set_default_dtype uint8"
    ),
    "guards": "enable_grad inference_mode no_grad set_grad_enabled",
    "modes": "is_grad_enabled is_inference_mode_enabled",
    "ops.arithmetic": (
        "add div divide=div floor_divide fmod=remainder mul multiply=mul pow=power "
        "remainder rsub square sub subtract=sub true_divide=div"
    ),
    "ops.comparison": (
        "all=all_ allclose any=any_ argmax argmin argsort count_nonzero eq equal ge gt "
        "isclose isfinite isinf isnan le logical_and logical_not logical_or logical_xor lt "
        "ne nonzero"
    ),
    "ops.conversion": "clone detach",
    "ops.creation": (
        "arange as_tensor empty empty_like eye from_numpy full full_like get_rng_state "
        "linspace manual_seed ones ones_like rand rand_like randint randn randn_like "
        "randperm set_rng_state tensor zeros zeros_like"
    ),
    "ops.gathering": "flip gather index_select masked_select roll sort topk",
    "ops.joining": "broadcast_tensors cat concat=cat concatenate=cat hstack stack vstack",
    "ops.linalg": "addmm bmm diag dot matmul mm mv outer trace tril triu",
    "ops.pointwise": (
        "abs=absolute absolute acos asin atan ceil clamp clamp_max clamp_min clip=clamp cos "
        "cosh erf exp expm1 floor frac log log10 log1p log2 neg negative=neg reciprocal "
        "relu round=rounded rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
    ),
    "ops.extremes": "amax amin max=max_ min=min_",
    "ops.statistics": "cumsum logsumexp norm std var",
    "ops.reduction": "mean prod sum=sum_",
    "ops.selection": "addcdiv addcmul atan2 lerp masked_fill maximum minimum where",
    "ops.shape": (
        "broadcast_to flatten movedim permute ravel reshape squeeze swapaxes=transpose t transpose unsqueeze"
    ),
    "ops.parts": "chunk diagonal narrow select split unbind",
    "ops.softmax": "log_softmax softmax",
    "state": "Size",
}


def _names() -> dict[str, Unchecked]:
    found = {}
    for home, listed in _HOMES.items():
        module = import_module(f"gradguard.runtime.{home}")
        for entry in listed.split():
            name, _, original = entry.partition("=")
            found[name] = getattr(module, original or name)
    return found


globals().update(_names())

__all__ = ["Tensor", "autograd", "func", "nn", "optim", "utils"]
__version__ = "2.13.0"
strided = "strided"
inf, nan, pi, e = math.inf, math.nan, math.pi, math.e


def is_tensor(obj: object) -> bool:
    """Tell whether a value is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Tell whether the elements are floats."""
    return input.is_floating_point()


def numel(input: Tensor) -> int:
    """Return the number of elements."""
    return input.numel()


def relu_(input: Tensor) -> Tensor:
    """Keep the positive part, in place."""
    return input.relu_()


def set_num_threads(count: int) -> None:
    """Do nothing: the engine has one thread."""


def device(name: str = "cpu") -> str:
    """Return ``cpu`` for every device."""
    return "cpu"


__getattr__ = absent("torch")
