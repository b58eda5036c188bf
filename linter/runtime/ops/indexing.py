"""Reading and writing by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime import dtypes
from gradguard.runtime.dtypes import Array
from gradguard.runtime.graph import Grads
from gradguard.runtime.ops import parts
from gradguard.runtime.ops import shape as shaping
from gradguard.runtime.ops.conversion import copy_, fill_
from gradguard.runtime.ops.operands import is_number, run, run_in_place
from gradguard.runtime.record import Operation, OperationNode
from gradguard.runtime.state import TensorState, from_array
from gradguard.runtime.unchecked import Unchecked
from gradguard.runtime.views import refuse_stale

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _advanced(index: object) -> bool:
    return isinstance(index, (list, np.ndarray)) or (
        isinstance(index, TensorState) and (index._array.ndim > 0 or index.dtype is dtypes.bool_)
    )


def _is_flag(part: object) -> bool:
    return isinstance(part, TensorState) and part._array.ndim == 0 and part.dtype is dtypes.bool_


def _as_int(index: Unchecked) -> int | None:
    if isinstance(index, TensorState) and index._array.ndim == 0 and index.dtype.category == 1:
        return int(index._array)
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
        return int(index)
    return None


def _parts(input: Tensor, index: Unchecked) -> list[Unchecked]:
    listed = list(index) if isinstance(index, tuple) else [index]
    consumed = sum(
        index._array.ndim if isinstance(index, TensorState) and index.dtype is dtypes.bool_ else 1
        for index in listed
        if index is not None and index is not Ellipsis and not isinstance(index, bool)
    )
    ndim = input._array.ndim
    if consumed > ndim:
        if ndim == 0 and _as_int(index) is not None:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or "
                "`tensor.item<T>()` in C++ to convert a 0-dim tensor to a number"
            )
        if ndim == 0 and isinstance(index, slice):
            refuse_stale(input)
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    if any(part is Ellipsis for part in listed):
        at = next(i for i, part in enumerate(listed) if part is Ellipsis)
        listed[at : at + 1] = [slice(None)] * (ndim - consumed)
    return listed


def _check_part(part: object) -> None:
    if isinstance(part, str):
        raise TypeError("new(): invalid data type 'str'")
    raise IndexError(
        "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid "
        f"indices (got {type(part).__name__})"
    )


def _basic(
    input: Tensor, given: Sequence[Unchecked], keep_full: bool = False
) -> tuple[Tensor, list[Unchecked]]:
    """Apply the basic parts as views, one by one; return what tensors still index.

    A slice that takes everything makes no view unless ``keep_full`` (torch 2.13: ``x[:] = v``
    writes ``x`` itself, ``x[:]`` is a view).
    """
    dim = 0
    remaining: list[Unchecked] = []
    for part in given:
        number = _as_int(part)
        if number is not None:
            extent = input._array.shape[dim]
            if not -extent <= number < extent:
                raise IndexError(f"index {number} is out of bounds for dimension {dim} with size {extent}")
            input = parts.select(input, dim, number)
        elif isinstance(part, slice):
            step = part.step
            if step is not None and step <= 0:
                raise ValueError("step must be greater than zero")
            bounds = slice(*[None if b is None else int(b) for b in (part.start, part.stop, step)])
            start, stop, stride = bounds.indices(input._array.shape[dim])
            full = (start, stop, stride) == (0, input._array.shape[dim], 1)
            if keep_full or not full:
                input = parts.slice_along(input, dim, bounds)
            remaining.append(slice(None))
            dim += 1
        elif part is None:
            input = shaping.unsqueeze(input, dim)
            remaining.append(slice(None))
            dim += 1
        elif isinstance(part, bool) or _is_flag(part):
            input = shaping.unsqueeze(input, dim)
            remaining.append(from_array(np.asarray([bool(part)])))
            dim += 1
        elif _advanced(part):
            found = part if isinstance(part, TensorState) else _index_tensor(part)
            remaining.append(found)
            dim += found._array.ndim if found.dtype is dtypes.bool_ else 1
        else:
            _check_part(part)
    return input, remaining


def _index_tensor(part: Unchecked) -> Tensor:
    from gradguard.runtime.ops.creation import tensor

    made = tensor(part)
    if made.dtype.category == 2 and made._array.size:
        _check_part(float(made._array.flat[0]))
    return made if made._array.size else from_array(made._array.astype(np.int64))


def _check_index(array: Array, index: Sequence[Unchecked]) -> None:
    dim = 0
    for part in index:
        if isinstance(part, slice):
            dim += 1
        elif part.dtype == np.bool_:
            if part.shape != array.shape[dim : dim + part.ndim]:
                raise IndexError(
                    f"The shape of the mask {list(part.shape)} at index 0 does not match the shape "
                    f"of the indexed tensor {list(array.shape)} at index {dim}"
                )
            dim += part.ndim
        else:
            extent = array.shape[dim]
            if not extent and part.size:
                raise IndexError("index is out of bounds for dimension with size 0")
            for number in part.flat:
                if not -extent <= number < extent:
                    raise IndexError(
                        f"index {number} is out of bounds for dimension {dim} with size {extent}"
                    )
            dim += 1


def _array_index(layout: Sequence[int | None], arrays: Sequence[Array]) -> tuple[Unchecked, ...]:
    # layout: where the index tensors stand among full slices.
    return tuple(slice(None) if at is None else arrays[at] for at in layout)


def _index(a: Array, *arguments: Unchecked) -> Array:
    *indices, layout = arguments
    index = _array_index(layout, indices)
    _check_index(a, index)
    return np.array(a[index])


def _index_backward(node: OperationNode, grad: Tensor) -> Grads:
    (layout,) = node.params
    indices = [node[i + 1] for i in range(len(node.shapes) - 1)]
    zeros = [None] * len(indices)
    op = _saving_indices(PUT_ZEROS, len(indices))
    return [run(op, "index", (grad, *indices), None, layout, node.shapes[0]), *zeros]


INDEX: Operation = Operation("Index", _index, _index_backward)


def _put_zeros(grad: Array, *arguments: Unchecked) -> Array:
    *indices, layout, shape = arguments
    whole = np.zeros(shape, grad.dtype)
    np.add.at(whole, _array_index(layout, indices), grad)
    return whole


def _put_zeros_backward(node: OperationNode, grad: Tensor) -> Grads:
    layout, _shape = node.params
    indices = [node[i + 1] for i in range(len(node.shapes) - 1)]
    op = _saving_indices(INDEX, len(indices))
    mine = run(op, "index", (grad, *indices), None, layout)
    return [mine, *[None] * len(indices)]


PUT_ZEROS: Operation = Operation("IndexPut", _put_zeros, _put_zeros_backward)

_WITH_INDICES: dict[tuple[str, int], Operation] = {}


def _saving_indices(op: Operation, count: int) -> Operation:
    # The number of index tensors varies; each is saved (torch 2.13: also a mask is).
    key = (op.label, count)
    if key not in _WITH_INDICES:
        reads = tuple(range(1, count + 1))
        _WITH_INDICES[key] = Operation(op.label, op.forward, op.backward, (reads,))
    return _WITH_INDICES[key]


def _split_index(remaining: Sequence[Unchecked]) -> tuple[tuple[int | None, ...], list[Tensor]]:
    layout: list[int | None] = []
    tensors: list[Tensor] = []
    for part in remaining:
        if isinstance(part, slice):
            layout.append(None)
        else:
            layout.append(len(tensors))
            tensors.append(part._self())
    return tuple(layout), tensors


def getitem(input: Tensor, index: Unchecked) -> Tensor:
    """Return ``input[index]``: a view for basic parts, a recorded copy once a tensor indexes.

    Raises:
        IndexError: an index is out of bounds or of a wrong kind.
    """
    if index is Ellipsis:
        return shaping.alias_view(input)
    viewed, remaining = _basic(input, _parts(input, index), isinstance(index, slice))
    layout, tensors = _split_index(remaining)
    if not tensors:
        return shaping.alias_view(input) if viewed is input else viewed
    op = _saving_indices(INDEX, len(tensors))
    return run(op, "index", (viewed, *tensors), None, layout)


def _index_put(a: Array, value: Array, *arguments: Unchecked) -> Array:
    *indices, layout, accumulate = arguments
    index = _array_index(layout, indices)
    _check_index(a, index)
    result = np.array(a)
    if accumulate:
        np.add.at(result, index, value.astype(a.dtype))
    else:
        try:
            result[index] = value
        except ValueError as error:
            raise RuntimeError(
                f"shape mismatch: value tensor of shape {list(value.shape)} cannot be broadcast to "
                f"indexing result of shape {list(result[index].shape)}"
            ) from error
    return result


def _index_put_backward(node: OperationNode, grad: Tensor) -> Grads:
    layout, accumulate = node.params
    indices = [node[i + 2] for i in range(len(node.shapes) - 2)]
    mine: Tensor | None = grad
    if not accumulate and node.needs(0):
        zero = from_array(np.zeros((), grad._array.dtype))
        mine = grad.clone()
        op = _put_op(len(indices))
        mine = run(op, "index_put", (mine, zero, *indices), None, layout, False)
    theirs = None
    if node.needs(1):
        reader = _saving_indices(INDEX, len(indices))
        theirs = run(reader, "index", (grad, *indices), None, layout)
    return [mine, theirs, *[None] * len(indices)]


_PUTS: dict[int, Operation] = {}


def _put_op(count: int) -> Operation:
    if count not in _PUTS:
        reads = tuple(range(2, count + 2))
        _PUTS[count] = Operation(
            "IndexPut", _index_put, _index_put_backward, (reads, reads), writes_overlapping=True
        )
    return _PUTS[count]


def setitem(input: Tensor, index: Unchecked, value: Unchecked) -> None:
    """Write ``input[index] = value``, recorded as a copy into a view or an indexed put.

    Raises:
        IndexError: an index is out of bounds or of a wrong kind.
        RuntimeError: the write is refused, as for any in-place operation.
    """
    if isinstance(value, TensorState):
        source = value._self()
    elif is_number(value):
        source = from_array(np.asarray(value).astype(input._array.dtype))
    else:
        from gradguard.runtime.ops.creation import tensor

        source = tensor(value, dtype=input.dtype)
    if index is Ellipsis:
        _write(input, source)
        return
    viewed, remaining = _basic(input, _parts(input, index))
    layout, tensors = _split_index(remaining)
    if tensors:
        run_in_place(_put_op(len(tensors)), (viewed, source, *tensors), layout, False)
        return
    _write(viewed, source)


def _write(target: Tensor, source: Tensor) -> None:
    if source._array.ndim:
        copy_(target, _fitted(source, target))
    else:
        fill_(target, source)


def _fitted(source: Tensor, target: Tensor) -> Tensor:
    shape = source._array.shape
    wanted = target._array.shape
    while len(shape) > len(wanted) and shape[0] == 1:
        shape = shape[1:]
    if shape != source._array.shape:
        source = shaping.view(source, shape)
    return source if shape == wanted else shaping.expand(source, wanted)
