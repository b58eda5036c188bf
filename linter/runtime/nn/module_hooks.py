"""Calling a module's forward with the hooks registered on it."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from gradguard.runtime.function import Function
from gradguard.runtime.modes import modes
from gradguard.runtime.state import TensorState
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.nn.module import Module


class BackwardHookFunction(Function):
    """Passes tensors through, so that a module's boundary is one node of the graph."""

    @staticmethod
    def forward(ctx: Unchecked, *args: Unchecked) -> Unchecked:
        """Return the inputs."""
        ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
        return args

    @staticmethod
    def backward(ctx: Unchecked, *grads: Unchecked) -> Unchecked:
        """Return the gradients."""
        return grads


def call_with_hooks(module: Module, args: tuple[Unchecked, ...], kwargs: dict[str, Unchecked]) -> Unchecked:
    """Run forward; hooks may replace its inputs and its output."""
    tables = module.__dict__
    if "_forward_hooks" not in tables:
        return module.forward(*args, **kwargs)
    for pre_hook in list(tables["_forward_pre_hooks"].values()):
        replaced = pre_hook(module, args)
        if replaced is not None:
            args = replaced if isinstance(replaced, tuple) else (replaced,)
    backward_hooks = list(tables["_backward_hooks"].values())
    watch = _Boundary(module, backward_hooks) if backward_hooks else None
    if watch is not None:
        args = watch.inputs(args)
    result = module.forward(*args, **kwargs)
    for hook in list(tables["_forward_hooks"].values()):
        replaced = hook(module, args, result)
        if replaced is not None:
            result = replaced
    return result if watch is None else watch.outputs(result)


class _Boundary:
    """The gradients at a module's outputs and inputs, brought together for its hooks."""

    def __init__(self, module: Module, hooks: list[Unchecked]) -> None:
        self._module = module
        self._hooks = hooks
        self._grad_outputs: tuple[Unchecked, ...] | None = None
        self._has_inputs = False

    def inputs(self, args: tuple[Unchecked, ...]) -> tuple[Unchecked, ...]:
        tensors = [a for a in args if isinstance(a, TensorState)]
        if not modes.grad or not any(t.requires_grad for t in tensors):
            return args
        self._has_inputs = True
        passed = BackwardHookFunction.apply(*tensors)
        node = next(t._node for t in passed if t._node is not None)
        node.register_hook(self._at_inputs)
        replacements = iter(passed)
        return tuple(next(replacements) if isinstance(a, TensorState) else a for a in args)

    def _at_inputs(self, grad_inputs: Unchecked, grad_outputs: Unchecked) -> Unchecked:
        found = self._run(tuple(grad_inputs))
        self._grad_outputs = None
        return found

    def outputs(self, result: Unchecked) -> Unchecked:
        several = isinstance(result, tuple)
        tensors = list(result) if several else [result]
        if not modes.grad or not any(isinstance(t, TensorState) and t.requires_grad for t in tensors):
            return result
        passed = BackwardHookFunction.apply(*tensors)
        node = next(t._node for t in passed if t._node is not None)
        node.register_prehook(self._at_outputs)
        return passed if several else passed[0]

    def _at_outputs(self, grads: tuple[Unchecked, ...]) -> Unchecked:
        self._grad_outputs = grads
        if self._has_inputs:
            return None
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients. See "
            "https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html for more details.",
            UserWarning,
            stacklevel=2,
        )
        self._run((None,))
        return None

    def _run(self, grad_inputs: tuple[Unchecked, ...]) -> Unchecked:
        current = grad_inputs
        changed = False
        for hook in self._hooks:
            replaced = hook(self._module, current, self._grad_outputs)
            if replaced is not None:
                current = replaced if isinstance(replaced, tuple) else (replaced,)
                changed = True
        return current if changed else None
