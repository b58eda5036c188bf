"""Gradients against central differences, so that they do not rest on torch alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import gradguard.runtime.torch as torch
import gradguard.runtime.torch.nn.functional as F

OF_ONE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "exp": torch.exp,
    "expm1": torch.expm1,
    "log": lambda t: torch.log(t * t + 1),
    "log1p": lambda t: torch.log1p(t * t),
    "log2": lambda t: torch.log2(t * t + 1),
    "log10": lambda t: torch.log10(t * t + 1),
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "asin": lambda t: torch.asin(t * 0.3),
    "acos": lambda t: torch.acos(t * 0.3),
    "atan": torch.atan,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "sqrt": lambda t: torch.sqrt(t * t + 1),
    "rsqrt": lambda t: torch.rsqrt(t * t + 1),
    "reciprocal": torch.reciprocal,
    "relu": torch.relu,
    "abs": torch.abs,
    "clamp": lambda t: t.clamp(-0.7, 0.7),
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "softplus": F.softplus,
    "silu": F.silu,
    "gelu": F.gelu,
    "gelu_tanh": lambda t: F.gelu(t, approximate="tanh"),
    "logsigmoid": F.logsigmoid,
    "erf": torch.erf,
    "power": lambda t: t**3,
    "rpow": lambda t: 2.0**t,
    "rdiv": lambda t: 1.5 / t,
    "softmax": lambda t: t.softmax(1),
    "log_softmax": lambda t: t.log_softmax(0),
    "logsumexp": lambda t: t.logsumexp(1),
    "cumsum": lambda t: t.cumsum(1),
    "prod": lambda t: t.prod(1),
    "prod_all": lambda t: t.prod(),
    "var": lambda t: t.var(0),
    "std": lambda t: t.std(1),
    "norm": lambda t: t.norm(),
    "norm_3": lambda t: t.norm(3, 1),
    "mean": lambda t: t.mean(0, keepdim=True),
    "max": lambda t: t.max(1)[0],
    "amin": lambda t: t.amin(0),
    "index": lambda t: t[torch.tensor([0, 1, 0]), torch.tensor([2, 2, 1])],
    "mask": lambda t: t[t > 0],
    "gather": lambda t: t.gather(1, torch.tensor([[0], [2]])),
    "sort": lambda t: t.sort(1)[0],
    "topk": lambda t: t.topk(2)[0],
    "slice": lambda t: t[:, 1:],
    "transpose": lambda t: t.t() * torch.tensor([1.0, 2.0]),
    "diagonal": lambda t: t.diagonal(),
    "unbind": lambda t: t.unbind()[1] * t.unbind()[0],
    "split": lambda t: t.split(2, 1)[0],
    "repeat": lambda t: t.repeat(2, 2),
    "roll": lambda t: t.roll(1, 0),
    "flip": lambda t: t.flip(1),
    "tril": lambda t: t.tril(),
    "expand": lambda t: t.unsqueeze(0).expand(3, 2, 3),
    "matmul": lambda t: t @ t.t(),
    "bmm": lambda t: torch.bmm(t.unsqueeze(0), t.t().unsqueeze(0)),
    "layer_norm": lambda t: F.layer_norm(t, (3,)),
    "batch_norm": lambda t: F.batch_norm(t, None, None, training=True),
    "cross_entropy": lambda t: F.cross_entropy(t, torch.tensor([2, 0])),
    "smooth_l1": lambda t: F.smooth_l1_loss(t, t.detach() * 0.0, beta=0.75),
    "huber": lambda t: F.huber_loss(t, torch.zeros(2, 3), delta=0.6),
    "bce_logits": lambda t: F.binary_cross_entropy_with_logits(t, torch.full((2, 3), 0.3)),
    "kl_div": lambda t: F.kl_div(t.log_softmax(1), torch.full((2, 3), 1 / 3)),
    "setitem": lambda t: _written(t),
    "in_place": lambda t: (t * 1).mul_(t).add_(t, alpha=2.0).tanh_(),
}
OF_TWO: dict[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]] = {
    "add": lambda a, b: torch.add(a, b, alpha=1.5),
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "pow": lambda a, b: (a * a + 1) ** b,
    "remainder": lambda a, b: a % (b * b + 5),
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "where": lambda a, b: torch.where(a > 0, a * 2, b * 3),
    "atan2": torch.atan2,
    "lerp": lambda a, b: torch.lerp(a, b, 0.3),
    "addcmul": lambda a, b: torch.addcmul(a, a, b, value=0.5),
    "addcdiv": lambda a, b: torch.addcdiv(a, a, b, value=0.5),
    "mse": F.mse_loss,
    "stack": lambda a, b: torch.stack([a, b.expand(2, 3)], 1),
    "cosine": lambda a, b: F.cosine_similarity(a, b.expand(2, 3)),
}
A = [[0.5, -1.2, 0.9], [1.4, 0.3, -0.8]]
B = [0.7, -1.1, 1.3]


def _written(t: torch.Tensor) -> torch.Tensor:
    made = t * 2
    made[0, 1:] = t[1, :2] * 3
    made[:, 0] = t[:, 2]
    made[made > 1.5] = 0.0
    return made


@pytest.fixture(autouse=True)
def _float64() -> object:
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(before)


def _weighted(out: torch.Tensor) -> torch.Tensor:
    weights = torch.arange(1.0, out.numel() + 1.0).reshape(out.shape) / 3
    return (out * weights).sum()


def _differences(value: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    step = 1e-6
    result = np.zeros_like(at)
    for index in np.ndindex(at.shape):
        moved = at.copy()
        moved[index] += step
        above = value(moved)
        moved[index] -= 2 * step
        result[index] = (above - value(moved)) / (2 * step)
    return result


@pytest.mark.parametrize("name", OF_ONE)
def test_gradient_of_one(name: str) -> None:
    function = OF_ONE[name]
    x = torch.tensor(A, requires_grad=True)
    _weighted(function(x)).backward()
    expected = _differences(lambda at: _weighted(function(torch.tensor(at))).item(), np.array(A))
    np.testing.assert_allclose(x.grad.numpy(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", OF_TWO)
def test_gradients_of_two(name: str) -> None:
    function = OF_TWO[name]
    a, b = torch.tensor(A, requires_grad=True), torch.tensor(B, requires_grad=True)
    _weighted(function(a, b)).backward()
    for leaf, at, value in (
        (a, A, lambda m: _weighted(function(torch.tensor(m), torch.tensor(B))).item()),
        (b, B, lambda m: _weighted(function(torch.tensor(A), torch.tensor(m))).item()),
    ):
        expected = _differences(value, np.array(at))
        np.testing.assert_allclose(leaf.grad.numpy(), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", OF_ONE)
def test_second_derivative(name: str) -> None:
    function = OF_ONE[name]

    def penalty(at: torch.Tensor, create: bool) -> torch.Tensor:
        (g,) = torch.autograd.grad(_weighted(function(at)), at, create_graph=create)
        return (g * g).sum()

    x = torch.tensor(A, requires_grad=True)
    first = penalty(x, True)
    if not first.requires_grad:
        # The derivative does not depend on x: there is nothing to differentiate again.
        moved = torch.tensor((np.array(A) + 1e-4).tolist(), requires_grad=True)
        assert penalty(moved, False).item() == pytest.approx(first.item())
        return
    first.backward()
    expected = _differences(
        lambda at: penalty(torch.tensor(at, requires_grad=True), False).item(), np.array(A)
    )
    found = np.zeros((2, 3)) if x.grad is None else x.grad.numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-4)
