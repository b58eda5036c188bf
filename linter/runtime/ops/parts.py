"""Views of a part of a tensor, and all parts at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.dtypes import Array
from gradguard.runtime.ops.operands import wrap_dim
from gradguard.runtime.record import Operation, apply
from gradguard.runtime.unchecked import Unchecked
from gradguard.runtime.view_state import ViewStep
from gradguard.runtime.views import apply_view, apply_views, refuse_stale

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor

Selector = tuple[Unchecked, ...]


def embed(grad: Tensor, step: ViewStep, shape: tuple[int, ...]) -> Tensor:
    """Put a part's gradient into zeros of the whole, recorded."""
    return apply(EMBED, (grad,), step, shape)


def _embed(grad: Array, step: ViewStep, shape: tuple[int, ...]) -> Array:
    whole = np.zeros(shape, grad.dtype)
    step.forward(whole)[...] = grad
    return whole


EMBED: Operation = Operation("Embed", _embed, lambda node, grad: (apply_view(grad, node.params[0]),))


def part_step(label: str, selector: Selector, shape: tuple[int, ...]) -> ViewStep:
    """Return the step that takes the part of an array that basic indexing names."""
    indexed = (*selector, Ellipsis)

    def backward(grad: Tensor, source: tuple[int, ...]) -> Tensor:
        return embed(grad, step, source)

    step = ViewStep(label, lambda a: a[indexed], backward, shape)
    return step


def select(input: Tensor, dim: int, index: int) -> Tensor:
    """Return one slice along a dimension.

    Raises:
        IndexError: there is no such slice.
    """
    shape = input._array.shape
    if not shape:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    at = wrap_dim(dim, len(shape))
    if not -shape[at] <= index < shape[at]:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(shape)} at dimension {at}"
        )
    return apply_view(input, part_step("Select", (*[slice(None)] * at, int(index)), shape))


def slice_along(input: Tensor, dim: int, part: slice) -> Tensor:
    """Return a range along a dimension."""
    selector = (*[slice(None)] * dim, part)
    return apply_view(input, part_step("Slice", selector, input._array.shape))


def narrow(input: Tensor, dim: int, start: int, length: int) -> Tensor:
    """Return ``length`` slices from ``start``.

    Raises:
        RuntimeError: they run past the end.
    """
    if not input._array.ndim:
        raise RuntimeError("narrow() cannot be applied to a 0-dim tensor.")
    at = wrap_dim(dim, input._array.ndim)
    extent = input._array.shape[at]
    if start + length > extent:
        raise RuntimeError(f"start ({start}) + length ({length}) exceeds dimension size ({extent}).")
    return slice_along(input, at, slice(int(start), int(start) + int(length)))


def unbind(input: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Return all slices along a dimension."""
    shape = input._array.shape
    at = wrap_dim(dim, len(shape))
    if not shape:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    prefix = [slice(None)] * at
    steps = [part_step("Unbind", (*prefix, i), shape) for i in range(shape[at])]
    rest = (*shape[:at], *shape[at + 1 :])

    def backward(grads: Sequence[Tensor | None]) -> Tensor:
        from gradguard.runtime.ops.joining import stack

        return stack(_without_gaps(grads, [rest] * len(grads)), at)

    return apply_views(input, "Unbind", steps, backward)


def split(input: Tensor, split_size_or_sections: Unchecked, dim: int = 0) -> tuple[Tensor, ...]:
    """Return consecutive parts along a dimension.

    Raises:
        RuntimeError: given sizes do not add up.
    """
    shape = input._array.shape
    at = wrap_dim(dim, len(shape))
    if not shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    extent = shape[at]
    label = "Split"
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        sizes = [min(size, extent - i) for i in range(0, extent, size)] or [0]
    else:
        sizes = [int(s) for s in split_size_or_sections]
        label = "SplitWithSizes"
        if sum(sizes) != extent:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {extent} (input tensor's "
                f"size at dimension {at}), but got split_sizes={sizes}"
            )
    prefix = [slice(None)] * at
    steps = []
    start = 0
    for length in sizes:
        steps.append(part_step(label, (*prefix, slice(start, start + length)), shape))
        start += length

    def backward(grads: Sequence[Tensor | None]) -> Tensor:
        from gradguard.runtime.ops.joining import cat

        shapes = [(*shape[:at], length, *shape[at + 1 :]) for length in sizes]
        return cat(_without_gaps(grads, shapes), at)

    return apply_views(input, label, steps, backward)


def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Return about equal parts along a dimension."""
    if not input._array.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    extent = input._array.shape[wrap_dim(dim, input._array.ndim)]
    return split(input, max(-(-extent // chunks), 1), dim)


def _without_gaps(grads: Sequence[Tensor | None], shapes: Sequence[tuple[int, ...]]) -> list[Tensor]:
    from gradguard.runtime.ops.creation import zeros

    kind = next(g.dtype for g in grads if g is not None)
    padded = [*grads, *[None] * (len(shapes) - len(grads))]
    return [
        zeros(shape, dtype=kind) if grad is None else grad for grad, shape in zip(padded, shapes, strict=True)
    ]


def diagonal(input: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """Return a diagonal as a view."""
    refuse_stale(input)
    dim1, dim2 = wrap_dim(dim1, input._array.ndim), wrap_dim(dim2, input._array.ndim)

    def forward(a: Array) -> Array:
        part = a.diagonal(offset, dim1, dim2)
        # numpy gives its diagonals read-only.
        part.flags.writeable = True
        return part

    def backward(grad: Tensor, shape: tuple[int, ...]) -> Tensor:
        return embed(grad, step, shape)

    step = ViewStep("Diagonal", forward, backward, input._array.shape)
    return apply_view(input, step)
