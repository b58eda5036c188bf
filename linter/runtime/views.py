"""Making views."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradguard.runtime.graph import Grads, Node, gradient_edge, set_history
from gradguard.runtime.modes import modes
from gradguard.runtime.view_state import Creation, View, ViewStep

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


class ViewNode(Node):
    """A recorded view with one output."""

    def __init__(self, source: Tensor, step: ViewStep) -> None:
        """Record the step behind ``source``."""
        super().__init__((gradient_edge(source),))
        self._step = step

    def apply(self, grads: Grads) -> Grads:
        """Send the gradient back to the source's shape."""
        grad = grads[0]
        return (None if grad is None else self._step.backward(grad, self._step.shape),)


class ManyViewsNode(Node):
    """A recorded operation that gives several views of one source."""

    def __init__(self, source: Tensor, backward: Callable[[Sequence[Tensor | None]], Tensor]) -> None:
        """Record the operation; ``backward`` joins the gradients of its views."""
        super().__init__((gradient_edge(source),))
        self._backward = backward

    def apply(self, grads: Grads) -> Grads:
        """Join the gradients of the views."""
        if all(grad is None for grad in grads):
            return (None,)
        return (self._backward(grads),)


_CLASSES: dict[tuple[str, type[Node]], type[Node]] = {}


def named_node(label: str, kind: type[Node]) -> type[Node]:
    """Return the subclass of ``kind`` that torch would name ``<label>Backward0``."""
    found = _CLASSES.get((label, kind))
    if found is None:
        found = type(f"{label}Backward0", (kind,), {"label": label})
        _CLASSES[label, kind] = found
    return found


def _records(source: Tensor) -> bool:
    return modes.grad and not modes.inference and not source._inference and source.requires_grad


def refuse_stale(source: Tensor) -> None:
    """Read a view's place in the graph, which torch does before it looks at shapes.

    Raises:
        RuntimeError: the view was made under a guard, and its storage modified since.
    """
    if source._view is not None and _records(source):
        gradient_edge(source)


def _creation(source: Tensor, several: bool) -> Creation:
    if modes.inference:
        return Creation.INFERENCE
    if not modes.grad:
        return Creation.NO_GRAD
    if several:
        return Creation.MULTI_OUTPUT
    return Creation.DEFAULT if source._view is None else source._view.creation


def attach_view(out: Tensor, source: Tensor, step: ViewStep, creation: Creation) -> None:
    """Make ``out``, an alias, a view of the source's base."""
    view = source._view
    base, chain = (source, (step,)) if view is None else (view.base, (*view.chain, step))
    out._view = View(base, chain, creation, out._version_value)


def apply_view(source: Tensor, step: ViewStep) -> Tensor:
    """Take one view; a view of an inference tensor is one, and knows no base (torch 2.13).

    Raises:
        RuntimeError: ``source`` is a view made under a guard, and stale.
    """
    node: Node | None = None
    if _records(source):
        node = named_node(step.label, ViewNode)(source, step)  # type: ignore[call-arg, arg-type]
    out = source.alias()
    out._array = step.forward(source._array)
    if source._inference:
        return out
    attach_view(out, source, step, _creation(source, several=False))
    if node is not None:
        set_history(out, node)
    return out


def apply_views(
    source: Tensor,
    label: str,
    steps: Sequence[ViewStep],
    backward: Callable[[Sequence[Tensor | None]], Tensor],
) -> tuple[Tensor, ...]:
    """Take several views at once; they may not be written through later (torch 2.13)."""
    node: Node | None = None
    if _records(source):
        node = named_node(label, ManyViewsNode)(source, backward)  # type: ignore[call-arg, arg-type]
    creation = _creation(source, several=True)
    outs = []
    for number, step in enumerate(steps):
        out = source.alias()
        out._array = step.forward(source._array)
        if not source._inference:
            attach_view(out, source, step, creation)
            if node is not None:
                set_history(out, node, number)
        outs.append(out)
    return tuple(outs)
