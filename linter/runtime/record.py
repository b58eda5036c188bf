"""Running an operation: recorded or not, out of place, in place, or into ``out=``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime import dtypes, messages
from gradguard.runtime.dtypes import Array
from gradguard.runtime.graph import Edge, Grads, Node, SavedTensor, gradient_edge, set_history
from gradguard.runtime.memory import check_internal_overlap, check_partial_overlap
from gradguard.runtime.modes import modes, recording
from gradguard.runtime.state import as_array, from_array
from gradguard.runtime.unchecked import Unchecked
from gradguard.runtime.view_state import check_rebase, rebase_history

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor

OUTPUT = -1


class OperationNode(Node):
    """A recorded operation with one output."""

    def __init__(self, op: Operation, inputs: Sequence[Tensor], params: tuple[Unchecked, ...]) -> None:
        """Record ``op``; saving comes after, since it may raise on its own."""
        super().__init__(tuple(gradient_edge(t) for t in inputs))
        self.op = op
        self.params = params
        self.shapes = tuple(t._array.shape for t in inputs)
        self.saved: dict[int, SavedTensor] | None = {}
        self._unpacked: dict[int, Tensor] = {}

    def save_inputs(self, inputs: Sequence[Tensor], in_place: bool) -> None:
        """Save what backward reads; of a tensor about to be overwritten, a copy.

        Raises:
            RuntimeError: an inference tensor would have to be saved.
        """
        assert self.saved is not None
        for index, only_for in self.op.kept:
            if only_for is not None and self.next_edges[only_for] is None:
                continue
            tensor = inputs[index]
            if in_place and index == 0:
                tensor = tensor.clone()
            self.saved[index] = SavedTensor(tensor)

    def save_output(self, out: Tensor, origin: Edge | None = None) -> None:
        """Save the result, where backward reads it."""
        assert self.saved is not None
        self.saved[OUTPUT] = SavedTensor(out, is_output=True, origin=origin)

    def __getitem__(self, index: int) -> Tensor:
        """Return what was saved under ``index``."""
        return self._unpacked[index]

    def apply(self, grads: Grads) -> Grads:
        """Unpack what was saved, then run the operation's backward.

        Raises:
            RuntimeError: it was freed by an earlier backward, or modified in place.
        """
        saved = self.saved
        if saved is None:
            raise RuntimeError(messages.BACKWARD_TWICE)
        if saved:
            owner: Edge = (self, 0)
            self._unpacked = {
                index: kept.unpack(owner if index == OUTPUT else None) for index, kept in saved.items()
            }
        grad = grads[0]
        if grad is None:
            return [None] * len(self.next_edges)
        try:
            return self.op.backward(self, grad)
        finally:
            self._unpacked = {}

    def release(self) -> None:
        """Free what was saved; a node that saved nothing can run again (torch 2.13)."""
        if self.saved:
            self.saved = None


@dataclass(frozen=True, eq=False)
class Operation:
    """One differentiable operation.

    Attributes:
        label: torch's name of the node without ``Backward0``.
        forward: from arrays and parameters to an array.
        backward: from the node and the output's gradient to the inputs' gradients.
        reads: for each input, what its gradient is computed from: indices of inputs, OUTPUT.
        suffix: the digit that ends the node's name.
        writes_overlapping: in place it may write into an expanded tensor (torch 2.13: filling).
        through_out: torch's name of the ``out=`` form that it is made of, which refuses tracked
            inference tensors outside inference mode (torch 2.13).
    """

    label: str
    forward: Callable[..., Array]
    backward: Callable[[OperationNode, Tensor], Grads]
    reads: tuple[tuple[int, ...], ...] = ((),)
    suffix: int = 0
    writes_overlapping: bool = False
    through_out: str | None = None
    kept: tuple[tuple[int, int | None], ...] = field(init=False)
    keeps_output: bool = field(init=False)
    node_class: type[OperationNode] = field(init=False)

    def __post_init__(self) -> None:
        """Work out what is saved.

        torch saves an input that one gradient alone reads only when that gradient is wanted,
        and one that several read always.
        """
        kept = []
        for index in sorted({i for group in self.reads for i in group if i != OUTPUT}):
            readers = [n for n, group in enumerate(self.reads) if index in group]
            guard = readers[0] if len(readers) == 1 and len(self.reads) > 1 else None
            kept.append((index, guard))
        object.__setattr__(self, "kept", tuple(kept))
        object.__setattr__(self, "keeps_output", any(OUTPUT in group for group in self.reads))
        name = f"{self.label}Backward{self.suffix}"
        object.__setattr__(self, "node_class", type(name, (OperationNode,), {"label": self.label}))


def tracked(inputs: Sequence[Tensor]) -> bool:
    """Tell whether an operation on these is recorded.

    Besides the mode and a tracked operand it takes one that is no inference tensor
    (torch 2.13).
    """
    if not modes.grad or modes.inference:
        return False
    return any(t.requires_grad for t in inputs) and not all(t._inference for t in inputs)


def apply(op: Operation, inputs: Sequence[Tensor], *params: Unchecked) -> Tensor:
    """Run an operation and record it if it is to be.

    Raises:
        RuntimeError: an inference tensor would have to be saved, or shapes do not fit.
    """
    node: OperationNode | None = None
    if tracked(inputs):
        node = op.node_class(op, inputs, params)
        node.save_inputs(inputs, in_place=False)
    elif op.through_out and recording() and any(t._flag for t in inputs):
        raise RuntimeError(messages.OUT_TRACKED.format(op=op.through_out))
    array = as_array(op.forward(*[t._array for t in inputs], *params))
    if not array.flags.c_contiguous and any(0 in t._array.strides for t in inputs):
        # numpy orders the result's memory by the strides of expanded operands; torch does not.
        array = np.ascontiguousarray(array)
    out = from_array(array)
    if node is not None:
        set_history(out, node)
        if op.keeps_output:
            node.save_output(out)
    return out


def apply_in_place(op: Operation, inputs: Sequence[Tensor], *params: Unchecked) -> Tensor:
    """Run an operation and write its result into its first input.

    Raises:
        RuntimeError: a leaf, a view of one, or a view made under a guard is written while
            recording; an inference tensor is written outside inference mode (by then its
            values have changed, as in torch 2.13).
    """
    target = inputs[0]
    node: OperationNode | None = None
    if tracked(inputs):
        check_in_place(target)
        node = op.node_class(op, inputs, params)
        node.save_inputs(inputs, in_place=True)
    # A tensor copied into itself is left alone, overlapping or not (torch 2.13).
    if not op.writes_overlapping and not (len(inputs) == 2 and _onto_itself(op, inputs)):
        check_internal_overlap(target._array)
        others = [t._array for t in inputs[1:] if t is not target]
        check_partial_overlap(target._array, others)
    write(target, as_array(op.forward(*[t._array for t in inputs], *params)))
    bump(target)
    if node is not None:
        rebase_history(target, node)
        if op.keeps_output:
            origin = None if target._view is None else gradient_edge(target)
            node.save_output(target, origin)
    return target


def apply_out(op: Operation, name: str, inputs: Sequence[Tensor], out: Tensor, *params: Unchecked) -> Tensor:
    """Run an operation into ``out``.

    Raises:
        RuntimeError: recording is on and a tensor involved is tracked.
    """
    if modes.grad and not modes.inference and any(t.requires_grad for t in (*inputs, out)):
        raise RuntimeError(messages.OUT_TRACKED.format(op=name))
    check_internal_overlap(out._array)
    check_partial_overlap(out._array, [t._array for t in inputs])
    array = as_array(op.forward(*[t._array for t in inputs], *params))
    if out._array.shape != array.shape:
        if out._array.size:
            warnings.warn(
                f"An output with one or more elements was resized since it had shape "
                f"{list(out._array.shape)}, which does not match the required output shape "
                f"{list(array.shape)}.",
                UserWarning,
                stacklevel=3,
            )
        out._array = _resized(out._array, array.shape)
    write(out, array)
    bump(out)
    return out


def _resized(array: Array, shape: tuple[int, ...]) -> Array:
    # Shrinking keeps the storage, and so what shares it (torch 2.13).
    size = int(np.prod(shape))
    if size <= array.size and array.flags.c_contiguous:
        return array.reshape(-1)[:size].reshape(shape)
    return np.empty(shape, array.dtype)


def _onto_itself(op: Operation, inputs: Sequence[Tensor]) -> bool:
    if op.label != "Copy":
        return False
    target, source = inputs[0]._array, inputs[1]._array
    return target is source or (
        target.__array_interface__["data"] == source.__array_interface__["data"]
        and (target.shape, target.strides, target.dtype) == (source.shape, source.strides, source.dtype)
    )


def check_in_place(target: Tensor) -> None:
    """Refuse a recorded in-place write that would lose a leaf's identity.

    Raises:
        RuntimeError: with torch 2.13's reason.
    """
    if target._view is not None:
        check_rebase(target, indirect=False)
        if target.requires_grad and target._view.base._node is None:
            raise RuntimeError(messages.LEAF_VIEW_IN_PLACE)
    if target.requires_grad and target._node is None:
        raise RuntimeError(messages.LEAF_IN_PLACE)


def write(target: Tensor, array: Array) -> None:
    """Store values into the target's storage.

    Raises:
        RuntimeError: shapes or types do not fit.
    """
    destination = target._array
    if array.shape != destination.shape:
        try:
            joined = np.broadcast_shapes(array.shape, destination.shape)
        except ValueError:
            joined = array.shape
        if joined != destination.shape:
            raise RuntimeError(
                f"output with shape {list(destination.shape)} doesn't match the broadcast shape "
                f"{list(joined)}"
            )
    if array.dtype != destination.dtype:
        given, wanted = dtypes.of_array(array), dtypes.of_array(destination)
        if given.category > wanted.category:
            raise RuntimeError(
                f"result type {given.scalar_name} can't be cast to the desired output type "
                f"{wanted.scalar_name}"
            )
    destination[...] = array


def bump(target: Tensor) -> None:
    """Count an in-place write.

    Raises:
        RuntimeError: the target is an inference tensor and inference mode is off.
    """
    version = target._counter
    if version is not None:
        version.value += 1
    elif not modes.inference:
        raise RuntimeError(messages.INFERENCE_IN_PLACE)
