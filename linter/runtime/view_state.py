"""What a view remembers of its base, and how its place in the graph follows the base."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from gradguard.runtime import messages
from gradguard.runtime.graph import Grads, Node, gradient_edge, set_history

if TYPE_CHECKING:
    from gradguard.runtime.dtypes import Array
    from gradguard.runtime.tensor import Tensor


class Creation(Enum):
    """Where a view was made: anything but DEFAULT forbids writing through it."""

    DEFAULT = auto()
    NO_GRAD = auto()
    INFERENCE = auto()
    MULTI_OUTPUT = auto()
    CUSTOM_FUNCTION = auto()


@dataclass(frozen=True)
class ViewStep:
    """One view operation: how it selects from an array, and where gradients go back to.

    ``backward(grad, shape)`` gives the gradient of the source, whose shape is ``shape``.
    """

    label: str
    forward: Callable[[Array], Array]
    backward: Callable[[Tensor, tuple[int, ...]], Tensor]
    shape: tuple[int, ...]


@dataclass
class View:
    """A view's base (never a view itself) and the steps that lead from it."""

    base: Tensor
    chain: tuple[ViewStep, ...]
    creation: Creation
    attr_version: int


class AsStridedBackward0(Node):
    """Leads from a view to its base after the storage was modified in place."""

    label = "AsStrided"

    def __init__(self, base: Tensor, chain: tuple[ViewStep, ...]) -> None:
        """Replace the view's own history by its place in the base's."""
        super().__init__((gradient_edge(base),))
        self._chain = chain

    def apply(self, grads: Grads) -> Grads:
        """Spread the gradient over the base's shape."""
        grad = grads[0]
        if grad is None:
            return (None,)
        for step in reversed(self._chain):
            grad = step.backward(grad, step.shape)
        return (grad,)


def current_grad_fn(tensor: Tensor) -> Node | None:
    """Return a view's node, made anew if the storage was modified since it was recorded.

    Raises:
        RuntimeError: it was modified and the view was made under a guard.
    """
    view = tensor._view
    assert view is not None
    if tensor._node is None and not view.base.requires_grad:
        return None
    version = tensor._version_value
    if view.attr_version != version:
        check_rebase(tensor, indirect=True)
        set_history(tensor, AsStridedBackward0(view.base, view.chain))
        view.attr_version = version
    return tensor._node


def check_rebase(tensor: Tensor, indirect: bool) -> None:
    """Refuse to rewrite the history of a view that was made under a guard.

    Raises:
        RuntimeError: with torch 2.13's account of where the view comes from.
    """
    view = tensor._view
    assert view is not None
    creation = view.creation
    if creation is Creation.DEFAULT:
        return
    node = tensor._node
    event = messages.VIEW_BASE if indirect else messages.VIEW_ITSELF
    guarded = creation in (Creation.NO_GRAD, Creation.INFERENCE)
    if guarded or node is None:
        if node is None:
            text = "A view was created in "
        else:
            text = f"Output {tensor._output_nr} of {node.label} is a view of a view which was created in "
        if creation is Creation.INFERENCE:
            text += f"inference mode and {event} modified inplace in normal mode."
        else:
            text += f"no_grad mode and {event} modified inplace with grad mode enabled."
    else:
        text = f"Output {tensor._output_nr} of {node.label} is a view and {event} modified inplace."
    raise RuntimeError(text + messages.VIEW_REASONS[creation.name])


class CopySlices(Node):
    """An in-place write through a view, seen from the base."""

    label = "CopySlices"

    def __init__(self, base: Tensor, chain: tuple[ViewStep, ...], inner: Node) -> None:
        """Put the base's history in the place of the view's in ``inner``."""
        edges = inner.next_edges
        super().__init__((gradient_edge(base), *edges[1:]))
        self._chain = chain
        self._inner: Node | None = inner

    def apply(self, grads: Grads) -> Grads:
        """Run the inner step on the slice it wrote, and keep the rest of the gradient."""
        inner = self._inner
        if inner is None:
            raise RuntimeError(messages.BACKWARD_TWICE)
        grad = grads[0]
        if grad is None:
            return [None] * len(self.next_edges)
        from gradguard.runtime.views import apply_view

        result = grad.clone()
        piece = result
        for step in self._chain:
            piece = apply_view(piece, step)
        inner_grads = list(inner.apply([piece.clone()]))
        first = inner_grads[0]
        if first is None:
            piece.zero_()
        else:
            piece.copy_(first)
        return [result, *inner_grads[1:]]

    def needs(self, index: int) -> bool:
        """Tell whether the gradient of that input is asked for."""
        return self.next_edges[index] is not None

    def release(self) -> None:
        """Drop the inner step: a second backward raises whatever it was (torch 2.13)."""
        self._inner = None


def rebase_history(tensor: Tensor, node: Node) -> None:
    """Record an in-place write: for a view, in the history of its base."""
    view = tensor._view
    if view is None:
        set_history(tensor, node)
        return
    node.outputs = [(tuple(tensor._array.shape), tensor.dtype)]
    set_history(view.base, CopySlices(view.base, view.chain, node))
    current_grad_fn(tensor)
