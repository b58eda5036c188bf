"""Nodes and edges of the recorded graph, and what they save for backward."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradguard.runtime import messages
from gradguard.runtime.modes import SavedHooks, grad_mode, modes
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.dtypes import dtype
    from gradguard.runtime.tensor import Tensor

Edge = tuple["Node", int]
Grads = Sequence["Tensor | None"]
TensorHook = Callable[["Tensor"], "Tensor | None"]

# AccumulateGrad runs as soon as it is ready, before any operation (torch 2.13).
_FIRST = 1 << 62


class _Sequence:
    last = 0


def next_sequence() -> int:
    """Return a number that orders nodes by when they were recorded."""
    _Sequence.last += 1
    return _Sequence.last


class Node:
    """One recorded step; backward turns gradients of its outputs into those of its inputs."""

    label = "Node"

    def __init__(self, next_edges: tuple[Edge | None, ...]) -> None:
        """Record the step behind ``next_edges``; None stands for an untracked input."""
        self.next_edges = next_edges
        self.sequence = next_sequence()
        self.outputs: list[tuple[tuple[int, ...], dtype]] = []
        self.pre_hooks: dict[int, dict[int, TensorHook]] = {}
        self.retained: dict[int, weakref.ref[Tensor]] = {}
        self.node_hooks: dict[int, Callable[[Unchecked, Unchecked], Unchecked]] = {}
        self.node_pre_hooks: dict[int, Callable[[Unchecked], Unchecked]] = {}
        self.metadata: dict[object, object] = {}

    def name(self) -> str:
        """Return the name torch prints, such as ``MulBackward0``."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """Return the edges as pairs, ``(None, 0)`` for an untracked input."""
        return tuple((None, 0) if edge is None else edge for edge in self.next_edges)

    def needs(self, index: int) -> bool:
        """Tell whether the gradient of that input is asked for."""
        return self.next_edges[index] is not None

    def apply(self, grads: Grads) -> Grads:
        """Return the gradients of the inputs."""
        raise NotImplementedError

    def release(self) -> None:
        """Drop what was saved, so that a second backward raises."""

    def register_hook(self, hook: Callable[[Unchecked, Unchecked], Unchecked]) -> Removable:
        """Run ``hook(grad_inputs, grad_outputs)`` after the node."""
        return Removable.add(self.node_hooks, hook)

    def register_prehook(self, hook: Callable[[Unchecked], Unchecked]) -> Removable:
        """Run ``hook(grad_outputs)`` before the node."""
        return Removable.add(self.node_pre_hooks, hook)


class Removable:
    """What registering a hook returns: ``remove()`` takes it away again."""

    def __init__(self, hooks: dict[int, Unchecked], key: int) -> None:
        """Point at one entry of a table of hooks."""
        self._hooks = hooks
        self.id = key

    @classmethod
    def add(cls, hooks: dict[int, Unchecked], hook: Unchecked) -> Removable:
        """Append a hook to a table."""
        key = next_sequence()
        hooks[key] = hook
        return cls(hooks, key)

    def remove(self) -> None:
        """Take the hook away; doing so twice is harmless."""
        self._hooks.pop(self.id, None)

    def __enter__(self) -> Removable:
        """Return the handle; leaving the block removes the hook."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Remove the hook."""
        self.remove()


class AccumulateGrad(Node):
    """The end of the graph at a leaf: adds to the leaf's ``grad``."""

    label = "AccumulateGrad"

    def __init__(self, variable: Tensor) -> None:
        """Stand for a leaf that asks for gradients."""
        super().__init__(())
        self.sequence = _FIRST
        self.variable = variable
        self.outputs = [(tuple(variable._array.shape), variable.dtype)]

    def apply(self, grads: Grads) -> Grads:
        """Accumulate; a leaf frozen since the graph was built drops its gradient."""
        variable = self.variable
        grad = grads[0]
        if grad is None or not variable.requires_grad:
            return ()
        if variable.grad_fn is not None:
            raise RuntimeError("leaf variable has been moved into the graph interior")
        present = variable._grad
        if present is None:
            variable._grad = grad.clone()
        elif modes.grad:
            # A new object: the old one may be part of the graph being differentiated.
            variable._grad = present + grad
        else:
            present.add_(grad)
        for hook in list(variable._post_hooks.values()):
            result = hook(variable)
            if result is not None:
                raise TypeError(messages.HOOK_RESULT.format(found=type(result).__name__))
        return ()


def type_name(tensor: Tensor) -> str:
    """Return the legacy name that PyTorch's messages print, such as ``torch.DoubleTensor``."""
    return f"torch.{tensor.dtype.scalar_name}Tensor"


class SavedTensor:
    """A tensor kept for backward, with the version it had then.

    An input is kept as it is; an output is kept as an alias, since keeping it itself would
    tie the node to its own result.
    """

    __slots__ = ("_at", "_had_node", "_hooks", "_origin", "_packed", "_tensor")

    def __init__(self, tensor: Tensor, is_output: bool = False, origin: Edge | None = None) -> None:
        """Save.

        Raises:
            RuntimeError: ``tensor`` is an inference tensor.
        """
        if tensor._inference and not modes.transforms:
            raise RuntimeError(messages.INFERENCE_SAVED)
        self._origin = origin
        self._at = tensor._counter.value if tensor._counter is not None else 0
        self._hooks: SavedHooks | None = None
        self._packed: Unchecked = None
        self._had_node = not is_output and tensor._node is not None
        self._tensor: Tensor = tensor.alias() if is_output else tensor
        if modes.saved_hooks:
            self._hooks = modes.saved_hooks[-1]
            if origin is None:
                self._origin = gradient_edge(tensor)
            with grad_mode(False):
                self._packed = self._hooks[0](tensor.detach())

    def unpack(self, owner: Edge | None) -> Tensor:
        """Give the tensor back, tied to the graph it came from.

        Raises:
            RuntimeError: it was modified in place since it was saved.
        """
        if self._hooks is not None:
            kept = self._hooks[1](self._packed)
            return _attached(kept.alias(), self._origin or owner)
        tensor = self._tensor
        origin = self._origin or owner
        if self._had_node and tensor._node is None:
            raise RuntimeError(messages.DETACHED_SAVED)
        if origin is None:
            named: Node | None = tensor.grad_fn
            output_nr = tensor._output_nr
        else:
            named, output_nr = origin
        version = tensor._counter
        if version is not None and version.value != self._at:
            where = "" if named is None else f", which is output {output_nr} of {named.label},"
            raise RuntimeError(
                messages.MODIFIED.format(
                    type_name=type_name(tensor),
                    shape=list(tensor._array.shape),
                    origin=where,
                    version=version.value,
                    saved=self._at,
                )
            )
        return tensor if origin is None else _attached(tensor.alias(), origin)


def _attached(tensor: Tensor, origin: Edge | None) -> Tensor:
    if origin is None:
        return tensor
    node, output_nr = origin
    if isinstance(node, AccumulateGrad):
        tensor._flag = True
        tensor._accumulator = weakref.ref(node)
    else:
        tensor._node, tensor._output_nr = node, output_nr
    return tensor


def gradient_edge(tensor: Tensor) -> Edge | None:
    """Return where a gradient of the tensor goes, None if nowhere.

    Raises:
        RuntimeError: the tensor is a view made under a guard, and stale.
    """
    node = tensor.grad_fn
    if node is not None:
        return node, tensor._output_nr
    if not tensor._flag:
        return None
    return tensor._accumulator_node() or _new_accumulator(tensor), 0


def _new_accumulator(tensor: Tensor) -> AccumulateGrad:
    # The leaf holds it weakly: it lives as long as some graph leads to it (torch 2.13).
    accumulator = AccumulateGrad(tensor)
    tensor._accumulator = weakref.ref(accumulator)
    return accumulator


def set_history(tensor: Tensor, node: Node, output_nr: int = 0) -> None:
    """Make the tensor an output of the node; retained gradients follow, hooks stay behind."""
    old = tensor._node
    if old is not None:
        kept = old.retained.get(tensor._output_nr)
        if kept is not None and kept() is tensor:
            del old.retained[tensor._output_nr]
            node.retained[output_nr] = kept
    tensor._node = node
    tensor._output_nr = output_nr
    outputs = node.outputs
    entry = (tuple(tensor._array.shape), tensor.dtype)
    if len(outputs) <= output_nr:
        outputs.extend([entry] * (output_nr + 1 - len(outputs)))
    outputs[output_nr] = entry
    if tensor._view is not None and tensor._counter is not None:
        tensor._view.attr_version = tensor._counter.value
