"""Layers with parameters, and those that wrap a function."""

from __future__ import annotations

import math
from collections.abc import Callable

from gradguard.runtime.nn import functional, init
from gradguard.runtime.nn.module import Module
from gradguard.runtime.ops import shape
from gradguard.runtime.ops.creation import empty, ones, tensor, zeros
from gradguard.runtime.parameter import Parameter
from gradguard.runtime.unchecked import Unchecked


class Linear(Module):
    """``x @ weight.T + bias``."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: object = None,
        dtype: Unchecked = None,
    ) -> None:
        """Make the parameters, uniform within one over the root of ``in_features``."""
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        bound = 1 / math.sqrt(in_features) if in_features else 0.0
        self.weight = Parameter(empty(out_features, in_features, dtype=dtype))
        init.uniform_(self.weight, -bound, bound)
        self.register_parameter("bias", None)
        if bias:
            self.bias = Parameter(empty(out_features, dtype=dtype))
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Unchecked) -> Unchecked:
        """Apply the map."""
        return functional.linear(input, self.weight, self.bias)


class Embedding(Module):
    """Rows picked by index."""

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None) -> None:
        """Make normally distributed rows."""
        super().__init__()
        self.weight = Parameter(empty(num_embeddings, embedding_dim))
        init.normal_(self.weight)

    def forward(self, input: Unchecked) -> Unchecked:
        """Pick rows."""
        return functional.embedding(input, self.weight)


class LayerNorm(Module):
    """Normalises over the last dimensions."""

    def __init__(
        self, normalized_shape: Unchecked, eps: float = 1e-5, elementwise_affine: bool = True
    ) -> None:
        """Make scale and shift."""
        super().__init__()
        sizes = (normalized_shape,) if isinstance(normalized_shape, int) else normalized_shape
        self.normalized_shape = tuple(sizes)
        self.eps = eps
        self.register_parameter("weight", Parameter(ones(sizes)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(zeros(sizes)) if elementwise_affine else None)

    def forward(self, input: Unchecked) -> Unchecked:
        """Normalise."""
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class BatchNorm1d(Module):
    """Normalises each channel; running statistics are buffers."""

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
    ) -> None:
        """Make scale, shift and statistics."""
        super().__init__()
        self.eps = eps
        self.momentum = momentum
        self.register_parameter("weight", Parameter(ones(num_features)) if affine else None)
        self.register_parameter("bias", Parameter(zeros(num_features)) if affine else None)
        tracked = track_running_stats
        self.register_buffer("running_mean", zeros(num_features) if tracked else None)
        self.register_buffer("running_var", ones(num_features) if tracked else None)
        self.register_buffer("num_batches_tracked", tensor(0) if tracked else None)

    def forward(self, input: Unchecked) -> Unchecked:
        """Normalise."""
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        return functional.batch_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training,
            self.momentum,
            self.eps,
        )


class BatchNorm2d(BatchNorm1d):
    """The same over images."""


class Dropout(Module):
    """Zeroes elements at random while training."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        """Keep the probability."""
        super().__init__()
        self.p = p
        self.inplace = inplace

    def forward(self, input: Unchecked) -> Unchecked:
        """Drop."""
        return functional.dropout(input, self.p, self.training, self.inplace)


class Identity(Module):
    """Returns its argument."""

    def forward(self, input: Unchecked) -> Unchecked:
        """Return the argument."""
        return input


class Flatten(Module):
    """Joins dimensions."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        """Keep the range."""
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Unchecked) -> Unchecked:
        """Join."""
        return shape.flatten(input, self.start_dim, self.end_dim)


class Activation(Module):
    """A function of one tensor as a module; its options go to the function."""

    function: Callable[..., Unchecked]
    names: tuple[str, ...] = ()

    def __init__(self, *args: Unchecked, **kwargs: Unchecked) -> None:
        """Keep the options."""
        super().__init__()
        self.options = {**dict(zip(self.names, args, strict=False)), **kwargs}

    def forward(self, input: Unchecked) -> Unchecked:
        """Apply the function."""
        return type(self).function(input, **self.options)


def _activation(name: str, function: Callable[..., Unchecked], names: tuple[str, ...]) -> type[Activation]:
    members = {
        "function": staticmethod(function),
        "names": names,
        "__doc__": f"{name} as a module.",
    }
    return type(name, (Activation,), members)


ReLU = _activation("ReLU", functional.relu, ("inplace",))
ReLU6 = _activation("ReLU6", functional.relu6, ("inplace",))
LeakyReLU = _activation("LeakyReLU", functional.leaky_relu, ("negative_slope", "inplace"))
ELU = _activation("ELU", functional.elu, ("alpha", "inplace"))
SiLU = _activation("SiLU", functional.silu, ("inplace",))
GELU = _activation("GELU", functional.gelu, ("approximate",))
Tanh = _activation("Tanh", functional.tanh, ())
Sigmoid = _activation("Sigmoid", functional.sigmoid, ())
LogSigmoid = _activation("LogSigmoid", functional.logsigmoid, ())
Softplus = _activation("Softplus", functional.softplus, ("beta", "threshold"))
Softmax = _activation("Softmax", functional.softmax, ("dim",))
LogSoftmax = _activation("LogSoftmax", functional.log_softmax, ("dim",))
