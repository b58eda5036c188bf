"""Products of vectors and matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime import dtypes
from gradguard.runtime.dtypes import Array
from gradguard.runtime.graph import Grads
from gradguard.runtime.ops import parts, reduction
from gradguard.runtime.ops import shape as shaping
from gradguard.runtime.ops.conversion import clone
from gradguard.runtime.ops.operands import expanded_shape, require_tensor, run
from gradguard.runtime.record import Operation, OperationNode
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _dot(a: Array, b: Array) -> Array:
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        raise RuntimeError(
            "dot : expected both vectors to have same dtype, but found "
            f"{dtypes.of_array(a).scalar_name} and {dtypes.of_array(b).scalar_name}"
        )
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the "
            f"same number of elements, but got {a.size} and {b.size} elements respectively"
        )
    return np.asarray(np.dot(a, b))


def _dot_backward(node: OperationNode, grad: Tensor) -> Grads:
    return (
        grad * node[1] if node.needs(0) else None,
        grad * node[0] if node.needs(1) else None,
    )


DOT: Operation = Operation("Dot", _dot, _dot_backward, ((1,), (0,)))


def dot(input: Tensor, other: Tensor) -> Tensor:
    """Return the inner product of two vectors."""
    a, b = require_tensor(input, "dot"), require_tensor(other, "dot", "tensor", 2)
    return run(DOT, "dot", (a, b), None)


def _mv_backward(node: OperationNode, grad: Tensor) -> Grads:
    return (
        outer(grad, node[1]) if node.needs(0) else None,
        mv(shaping.t(node[0]), grad) if node.needs(1) else None,
    )


def _product(a: Array, b: Array) -> Array:
    if a.dtype != b.dtype:
        raise RuntimeError(
            f"mat1 and mat2 must have the same dtype, but got {dtypes.of_array(a).scalar_name} and "
            f"{dtypes.of_array(b).scalar_name}"
        )
    inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
    if a.shape[-1] != inner:
        rows = a.shape[0] if a.ndim > 1 else 1
        columns = b.shape[-1] if b.ndim > 1 else 1
        if b.ndim == 1:
            raise RuntimeError(
                f"size mismatch, got input ({rows}), mat ({rows}x{a.shape[-1]}), vec ({inner})"
            )
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({rows}x{a.shape[-1]} and {inner}x{columns})"
        )
    return np.asarray(np.matmul(a, b))


MV: Operation = Operation("Mv", _product, _mv_backward, ((1,), (0,)))


def _mm_backward(node: OperationNode, grad: Tensor) -> Grads:
    return (
        mm(grad, shaping.t(node[1])) if node.needs(0) else None,
        mm(shaping.t(node[0]), grad) if node.needs(1) else None,
    )


MM: Operation = Operation("Mm", _product, _mm_backward, ((1,), (0,)))


def _bmm_backward(node: OperationNode, grad: Tensor) -> Grads:
    return (
        bmm(grad, shaping.transpose(node[1], -2, -1)) if node.needs(0) else None,
        bmm(shaping.transpose(node[0], -2, -1), grad) if node.needs(1) else None,
    )


BMM: Operation = Operation("Bmm", _product, _bmm_backward, ((1,), (0,)))


def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Return matrix times vector."""
    return run(MV, "mv", (input, vec), None)


def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return matrix times matrix."""
    return run(MM, "mm", (input, mat2), None)


def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Return the products of two batches of matrices, broadcast over the batch."""
    return run(BMM, "bmm", (input, mat2), None)


def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Return the product that ``@`` means for these dimensions.

    Raises:
        RuntimeError: the shapes do not fit, or an operand has no dimension.
    """
    a, b = require_tensor(input, "matmul"), require_tensor(other, "matmul", "other", 2)
    left, right = a._array.ndim, b._array.ndim
    if left == 0 or right == 0:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {left}D and {right}D"
        )
    if left == 1 and right == 1:
        return dot(a, b)
    if left == 2 and right == 1:
        return mv(a, b)
    if left == 1:
        return shaping.squeeze(matmul(shaping.unsqueeze(a, 0), b), -2)
    if left == 2 and right == 2:
        return mm(a, b)
    if right <= 2:
        # A stack of rows times one matrix is one product of matrices.
        lead = a._array.shape[:-1]
        rows = shaping.reshape(a, (-1, a._array.shape[-1]))
        product = mv(rows, b) if right == 1 else mm(rows, b)
        return shaping.reshape(product, lead + product._array.shape[1:])
    return bmm(a, b)


def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """Return all products of two vectors' elements."""
    return shaping.reshape(input, (-1, 1)) * vec2


def _addmm(bias: Array, a: Array, b: Array) -> Array:
    product = _product(a, b)
    expanded_shape(bias, product.shape)
    return np.asarray(bias + product)


def _addmm_backward(node: OperationNode, grad: Tensor) -> Grads:
    return (
        grad,
        mm(grad, shaping.t(node[2])) if node.needs(1) else None,
        mm(shaping.t(node[1]), grad) if node.needs(2) else None,
    )


ADDMM: Operation = Operation("Addmm", _addmm, _addmm_backward, ((), (2,), (1,)))


def addmm(input: Tensor, mat1: Tensor, mat2: Tensor) -> Tensor:
    """Return ``input + mat1 @ mat2``."""
    return run(ADDMM, "addmm", (input, mat1, mat2), None)


def trace(input: Tensor) -> Tensor:
    """Return the sum of the diagonal."""
    return reduction.sum_(parts.diagonal(input))


def _triangle(label: str, compute: Unchecked) -> Operation:
    op = Operation(
        label,
        lambda a, k: np.asarray(compute(a, k)),
        lambda node, grad: (run(op, label.lower(), (grad,), None, node.params[0]),),
    )
    return op


TRIL = _triangle("Tril", np.tril)
TRIU = _triangle("Triu", np.triu)


def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the part on and below a diagonal, zeros elsewhere."""
    return run(TRIL, "tril", (input,), None, diagonal)


def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return the part on and above a diagonal, zeros elsewhere."""
    return run(TRIU, "triu", (input,), None, diagonal)


def _embed_diagonal_backward(node: OperationNode, grad: Tensor) -> Grads:
    return (parts.diagonal(grad, node.params[0]),)


DIAG_EMBED: Operation = Operation("DiagEmbed", lambda a, k: np.diag(a, k), _embed_diagonal_backward)


def diag(input: Tensor, diagonal: int = 0) -> Tensor:
    """Return a vector's diagonal matrix, or a matrix's diagonal."""
    if input._array.ndim == 1:
        return run(DIAG_EMBED, "diag", (input,), None, diagonal)
    return clone(parts.diagonal(input, diagonal))
