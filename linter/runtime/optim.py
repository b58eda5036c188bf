"""Optimizers: they pass over parameters without a gradient, and re-enable grad for a closure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from gradguard.runtime.guards import enable_grad, no_grad
from gradguard.runtime.state import TensorState
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


class Optimizer:
    """Groups of parameters and their options.

    Raises:
        TypeError: something that is no tensor is to be optimized.
        ValueError: a tensor that is no leaf is, or there is none at all.
    """

    def __init__(self, params: Iterable[Unchecked], defaults: dict[str, Unchecked]) -> None:
        """Collect the parameters."""
        if isinstance(params, TensorState):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {params.type()}"  # type: ignore[attr-defined]
            )
        self.defaults = defaults
        self.state: dict[Unchecked, dict[str, Unchecked]] = {}
        self.param_groups: list[dict[str, Unchecked]] = []
        given = list(params)
        if not given:
            raise ValueError("optimizer got an empty parameter list")
        groups = given if isinstance(given[0], dict) else [{"params": given}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Unchecked]) -> None:
        """Add parameters with options of their own."""
        params = param_group["params"]
        tensors = [params] if isinstance(params, TensorState) else list(params)
        tensors = [t[1] if isinstance(t, tuple) else t for t in tensors]
        for tensor in tensors:
            if not isinstance(tensor, TensorState):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is " + type(tensor).__name__
                )
            if not (tensor.is_leaf or tensor.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        self.param_groups.append({**self.defaults, **param_group, "params": tensors})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                clear_gradient(p, set_to_none)

    def step(self, closure: Callable[[], Unchecked] | None = None) -> Unchecked:
        """Update the parameters in no_grad; a closure runs with grad mode on (torch 2.13)."""
        with no_grad():
            loss = None
            if closure is not None:
                with enable_grad():
                    loss = closure()
            for group in self.param_groups:
                for p in group["params"]:
                    if p._grad is not None:
                        self._update(p, p._grad, group)
            return loss

    def _update(self, p: Tensor, grad: Tensor, group: dict[str, Unchecked]) -> None:
        raise NotImplementedError

    def state_dict(self) -> dict[str, Unchecked]:
        """Return the options, without the parameters themselves."""
        return {
            "state": {},
            "param_groups": [
                {k: v for k, v in group.items() if k != "params"} for group in self.param_groups
            ],
        }


def clear_gradient(p: Tensor, set_to_none: bool) -> None:
    """Drop a gradient, or fill it with zeros after cutting it off its graph."""
    grad = p._grad
    if grad is None:
        return
    if set_to_none:
        p._grad = None
        return
    if grad.grad_fn is not None:
        grad.detach_()
    else:
        grad.requires_grad_(False)
    grad.zero_()


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum and weight decay."""

    def __init__(
        self,
        params: Iterable[Unchecked],
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
    ) -> None:
        """Take the options of torch's SGD."""
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )

    def _update(self, p: Tensor, grad: Tensor, group: dict[str, Unchecked]) -> None:
        if group["maximize"]:
            grad = -grad
        if group["weight_decay"]:
            grad = grad + p * group["weight_decay"]
        if group["momentum"]:
            state = self.state.setdefault(p, {})
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(group["momentum"]).add_(grad, alpha=1 - group["dampening"])
            grad = grad + buffer * group["momentum"] if group["nesterov"] else buffer
        p.add_(grad, alpha=-group["lr"])


class Adam(Optimizer):
    """Adam; ``decoupled`` weight decay makes it AdamW."""

    decoupled = False

    def __init__(
        self,
        params: Iterable[Unchecked],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        **options: Unchecked,
    ) -> None:
        """Take the options of torch's Adam; those about speed are ignored."""
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def _update(self, p: Tensor, grad: Tensor, group: dict[str, Unchecked]) -> None:
        state = self.state.setdefault(p, {})
        if not state:
            zero = p.detach().clone().zero_()
            state.update(step=0, exp_avg=zero, exp_avg_sq=zero.clone())
        state["step"] += 1
        first, second = group["betas"]
        if group["weight_decay"]:
            if self.decoupled:
                p.mul_(1 - group["lr"] * group["weight_decay"])
            else:
                grad = grad + p * group["weight_decay"]
        average, square = state["exp_avg"], state["exp_avg_sq"]
        average.mul_(first).add_(grad, alpha=1 - first)
        square.mul_(second).addcmul_(grad, grad, value=1 - second)
        size = group["lr"] / (1 - first ** state["step"])
        scale = (square / (1 - second ** state["step"])).sqrt() + group["eps"]
        p.addcdiv_(average, scale, value=-size)


class AdamW(Adam):
    """Adam with decoupled weight decay."""

    decoupled = True

    def __init__(self, params: Iterable[Unchecked], lr: float = 1e-3, **options: Unchecked) -> None:
        """Take the options of torch's AdamW, whose weight decay is 0.01 unless given."""
        super().__init__(params, lr, **{"weight_decay": 0.01, **options})
