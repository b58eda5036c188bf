"""Hooks on tensors, and gradients kept for non-leaves."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from gradguard.runtime import messages
from gradguard.runtime.graph import Grads, Node, Removable, TensorHook
from gradguard.runtime.modes import modes
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def register_hook(tensor: Tensor, hook: TensorHook) -> Removable:
    """Run ``hook(grad)`` when the gradient of this value is ready; it may replace it.

    On a non-leaf the hook belongs to the node, so it stays with the value the tensor had
    when an in-place operation changes it (torch 2.13).

    Raises:
        RuntimeError: the tensor is not tracked.
    """
    if not tensor.requires_grad:
        raise RuntimeError(messages.HOOK_UNTRACKED)
    node = tensor.grad_fn
    if node is not None:
        return Removable.add(node.pre_hooks.setdefault(tensor._output_nr, {}), hook)
    if "_hooks" not in vars(tensor):
        tensor._hooks = {}
    return Removable.add(tensor._hooks, hook)


def register_post_accumulate_grad_hook(tensor: Tensor, hook: Callable[[Tensor], Unchecked]) -> Removable:
    """Run ``hook(leaf)`` after a backward has added to the leaf's gradient.

    Raises:
        RuntimeError: the tensor is not tracked, or no leaf.
    """
    if not tensor.requires_grad:
        raise RuntimeError(messages.HOOK_UNTRACKED)
    if tensor.grad_fn is not None:
        raise RuntimeError(messages.POST_HOOK_NON_LEAF)
    if "_post_hooks" not in vars(tensor):
        tensor._post_hooks = {}
    return Removable.add(tensor._post_hooks, hook)


def retain_grad(tensor: Tensor) -> None:
    """Keep the gradient of a non-leaf in ``grad``.

    Raises:
        RuntimeError: the tensor is not tracked, or a function transform is running.
    """
    if modes.transforms:
        raise RuntimeError(messages.IN_TRANSFORM.format(name="retain_grad", aside=""))
    if not tensor.requires_grad:
        raise RuntimeError(messages.RETAIN_UNTRACKED)
    if tensor._node is None:
        return
    node = tensor.grad_fn
    if node is not None:
        node.retained[tensor._output_nr] = weakref.ref(tensor)


def run_tensor_hooks(node: Node, grads: Grads) -> Grads:
    """Pass the incoming gradients through the hooks of the values they belong to."""
    from gradguard.runtime.graph import AccumulateGrad

    if isinstance(node, AccumulateGrad):
        return [_chained(node.variable._hooks, grads[0])] if node.variable._hooks else grads
    if not node.pre_hooks and not node.retained:
        return grads
    result = list(grads)
    for index, hooks in node.pre_hooks.items():
        if hooks:
            result[index] = _chained(hooks, result[index])
    for index, kept in list(node.retained.items()):
        tensor = kept()
        grad = result[index]
        if tensor is not None and grad is not None:
            present = tensor._grad
            tensor._grad = grad.clone() if present is None else present + grad
    return result


def _chained(hooks: dict[int, TensorHook], grad: Tensor | None) -> Tensor | None:
    if grad is None:
        return None
    from gradguard.runtime.state import TensorState

    for hook in list(hooks.values()):
        replaced = hook(grad)
        if replaced is None:
            continue
        if not isinstance(replaced, TensorState):
            raise TypeError(messages.HOOK_RESULT.format(found=type(replaced).__name__))
        grad = replaced._self()
    return grad
