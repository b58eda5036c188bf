"""``backward`` and ``grad``: the entries to the backward pass."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gradguard.runtime import messages
from gradguard.runtime.engine import BackwardPass, fitted
from gradguard.runtime.graph import Edge, Node, gradient_edge
from gradguard.runtime.hooks import retain_grad
from gradguard.runtime.modes import modes
from gradguard.runtime.profiles import active_profile
from gradguard.runtime.state import TensorState
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _as_tuple(tensors: Unchecked) -> tuple[Unchecked, ...]:
    if isinstance(tensors, TensorState):
        return (tensors,)
    return tuple(tensors)


def _given_gradients(
    outputs: Sequence[Tensor], grads: Sequence[Unchecked], batched: bool = False
) -> list[Tensor | None]:
    from gradguard.runtime.ops.creation import ones_like

    result: list[Tensor | None] = []
    for index, (out, grad) in enumerate(zip(outputs, grads, strict=False)):
        if isinstance(grad, TensorState):
            shape = grad._array.shape[1:] if batched else grad._array.shape
            if shape != out._array.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{index}] has a shape of {grad.shape} and "
                    f"output[{index}] has a shape of {out.shape}."
                )
            result.append(grad._self())
        elif grad is not None:
            raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
        elif not out.requires_grad:
            result.append(None)
        else:
            if out._array.size != 1:
                raise RuntimeError(messages.NOT_SCALAR)
            result.append(ones_like(out))
    return result


def _roots(outputs: Sequence[Tensor]) -> list[Edge]:
    edges = []
    for index, out in enumerate(outputs):
        edge = gradient_edge(out)
        if edge is None:
            raise RuntimeError(messages.NO_GRAD_FN.format(index=index))
        edges.append(edge)
    return edges


def _input_edges(inputs: Sequence[Tensor], accumulate: bool) -> list[Edge]:
    edges = []
    for tensor in inputs:
        if not isinstance(tensor, TensorState):
            raise RuntimeError(
                "all inputs have to be Tensors or GradientEdges, but got " + type(tensor).__name__
            )
        if accumulate:
            retain_grad(tensor)
        node: Node | None = tensor.grad_fn
        if not tensor.requires_grad:
            raise RuntimeError(messages.UNTRACKED_INPUT)
        # A leaf that no operation has used is unreachable: any fresh node stands for it.
        reached = node or tensor._accumulator_node() or Node(())
        edges.append((reached, tensor._output_nr))
    return edges


def _pass(
    outputs: Sequence[Tensor],
    grads: Sequence[Tensor | None],
    keep_graph: bool,
    create_graph: bool,
    inputs: Sequence[Tensor] | None,
    accumulate: bool,
) -> list[Tensor | None]:
    roots = _roots(outputs)
    targets = None if inputs is None else _input_edges(inputs, accumulate)
    keep = keep_graph or not active_profile().frees_graph
    planned = BackwardPass(roots, keep, targets, accumulate)
    checked = [
        grad if grad is None else fitted("", index, grad, edge)
        for index, (edge, grad) in enumerate(zip(roots, grads, strict=True))
    ]
    return planned.run(roots, checked, create_graph)


def backward(
    tensors: Unchecked,
    grad_tensors: Unchecked = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Unchecked = None,
) -> None:
    """Differentiate outputs and accumulate into the leaves, or into ``inputs``.

    Surplus gradients are ignored, as is an empty list of outputs (torch 2.13). Under a
    profile whose backward is silent an untracked output is passed over.

    Raises:
        RuntimeError: an output is untracked or no scalar, the graph was freed, a saved tensor
            was modified, or ``inputs`` is empty or untracked.
        TypeError: a gradient is no tensor.
    """
    if modes.transforms:
        raise RuntimeError(messages.BACKWARD_IN_TRANSFORM)
    if inputs is not None:
        inputs = _as_tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    outputs = _as_tuple(tensors)
    given = (None,) * len(outputs) if grad_tensors is None else _as_tuple(grad_tensors)
    if active_profile().untracked_backward != "raises":
        kept = [i for i, out in enumerate(outputs) if gradient_edge(out) is not None]
        outputs = tuple(outputs[i] for i in kept)
        given = tuple(given[i] for i in kept)
    if not outputs:
        return
    grads = _given_gradients(outputs, given)
    if len(grads) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the "
            "parameter and its gradient which can cause a memory leak. We recommend using "
            "autograd.grad when creating the graph to avoid this.",
            UserWarning,
            stacklevel=3,
        )
    keep = create_graph if retain_graph is None else retain_graph
    _pass(outputs, grads, keep, create_graph, inputs, accumulate=True)


def tensor_backward(
    self: Tensor,
    gradient: Unchecked = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Unchecked = None,
) -> None:
    """Differentiate this tensor; see ``backward``."""
    backward(self, gradient, retain_graph, create_graph, inputs)


def grad(
    outputs: Unchecked,
    inputs: Unchecked,
    grad_outputs: Unchecked = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """Return the gradients of outputs with respect to inputs; leaves accumulate nothing.

    Raises:
        RuntimeError: an output or an input is untracked, an input was not used and
            ``allow_unused`` does not excuse it, or the pass fails.
        ValueError: ``materialize_grads`` contradicts ``allow_unused``.
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    lenient = materialize_grads if allow_unused is None else allow_unused
    wanted = _as_tuple(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    results = _as_tuple(outputs)
    given = (None,) * len(results) if grad_outputs is None else _as_tuple(grad_outputs)
    keep = create_graph if retain_graph is None else retain_graph
    grads = _given_gradients(results, given, is_grads_batched)
    if is_grads_batched:
        return _batched(results, wanted, grads, keep, create_graph, lenient)
    found = _pass(results, grads, keep, create_graph, wanted, accumulate=False)
    return _checked(wanted, found, lenient, materialize_grads)


def _checked(
    inputs: Sequence[Tensor],
    found: Iterable[Tensor | None],
    allow_unused: bool,
    materialize: bool,
) -> tuple[Tensor | None, ...]:
    from gradguard.runtime.ops.creation import zeros_like

    result: list[Tensor | None] = []
    for index, (tensor, value) in enumerate(zip(inputs, found, strict=True)):
        if value is None and not allow_unused:
            raise RuntimeError(messages.UNUSED_INPUT.format(index=index))
        result.append(zeros_like(tensor) if value is None and materialize else value)
    return tuple(result)


def _batched(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    grads: Sequence[Tensor | None],
    keep: bool,
    create_graph: bool,
    lenient: bool,
) -> tuple[Tensor | None, ...]:
    from gradguard.runtime.ops.joining import stack

    count = next(g._array.shape[0] for g in grads if g is not None)
    rows = []
    for number in range(count):
        row = [None if g is None else g[number] for g in grads]
        last = number == count - 1
        found = _pass(outputs, row, keep or not last, create_graph, inputs, accumulate=False)
        rows.append(_checked(inputs, found, lenient, False))
    columns: list[Tensor | None] = []
    for column in zip(*rows, strict=True):
        present = [value for value in column if value is not None]
        columns.append(stack(present) if present else None)
    return tuple(columns)
