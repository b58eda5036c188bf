"""A stand-in for tenferro's eager interface, for replays under the ``tenferro`` profile.

Source: the published experiment that gradguard starts from, and the documentation of
tenferro-ad 0.8: guards count per thread, ``backward`` on an untracked scalar answers with an
empty table, the graph is not freed, and there is no in-place update.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from gradguard.runtime import profiles
from gradguard.runtime.backward import grad as differentiate
from gradguard.runtime.graph import AccumulateGrad, Node, gradient_edge
from gradguard.runtime.modes import grad_mode, modes
from gradguard.runtime.ops import arithmetic, linalg, pointwise, reduction
from gradguard.runtime.ops import shape as shaping
from gradguard.runtime.ops.creation import to_array
from gradguard.runtime.state import TensorState, from_array
from gradguard.runtime.tensor import Tensor
from gradguard.runtime.unchecked import Unchecked

T = TypeVar("T")


class TenferroError(Exception):
    """What tenferro gives as ``Err``."""


class NonScalarGrad(TenferroError):
    """The only thing ``backward`` refuses: an output that is no scalar."""

    def __init__(self, extents: Sequence[int]) -> None:
        """Name the shape."""
        super().__init__(f"NonScalarGrad {{ shape: {list(extents)} }}")
        self.extents = tuple(extents)


class _Pool(threading.local):
    def __init__(self) -> None:
        self.leaves: list[weakref.ref[EagerTensor]] = []


_pool = _Pool()


class EagerNoGradGuard:
    """Recording is off on this thread until as many guards are dropped as were taken."""

    def __init__(self) -> None:
        """Take the guard."""
        self._alive = True
        modes.no_grad_depth += 1

    def drop(self) -> None:
        """Let go; a second time nothing happens."""
        if self._alive:
            self._alive = False
            modes.no_grad_depth -= 1

    def __enter__(self) -> EagerNoGradGuard:
        """Return the guard, which a Python block then drops."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Drop the guard."""
        self.drop()


class Gradients:
    """The table that ``backward`` returns: one entry for each tracked leaf that was reached."""

    def __init__(self, reached: int) -> None:
        """Keep how many there are; the keys are private in tenferro."""
        self._reached = reached

    def __len__(self) -> int:
        """Return the number of leaves reached."""
        return self._reached

    def is_empty(self) -> bool:
        """Tell whether no leaf was reached."""
        return self._reached == 0


class EagerTensor:
    """A tensor of one runtime."""

    def __init__(self, runtime: EagerRuntime, inner: Tensor) -> None:
        """Wrap an engine tensor."""
        self._runtime = runtime
        self._inner = inner

    def tracks_grad(self) -> bool:
        """Tell whether backward reaches anything from here."""
        return self._inner.requires_grad

    def to_vec(self) -> Unchecked:
        """Return the values as Python numbers, a scalar in a list of one."""
        return np.atleast_1d(self._inner._array).tolist()

    def shape(self) -> tuple[int, ...]:
        """Return the extents."""
        return tuple(self._inner._array.shape)

    def detach(self) -> EagerTensor:
        """Return the value without its history."""
        return EagerTensor(self._runtime, self._inner.detach())

    def grad(self) -> EagerTensor | None:
        """Return the accumulated gradient of a leaf, None if it has none."""
        found = self._inner._grad
        return None if found is None else EagerTensor(self._runtime, found)

    def clear_grad(self) -> None:
        """Empty the gradient slot."""
        self._inner._grad = None

    def backward(self) -> Gradients:
        """Differentiate, add to the leaves' slots, and return the table.

        An untracked scalar is no error: the table is empty.

        Raises:
            NonScalarGrad: the tensor is no scalar.
        """
        if self._inner._array.ndim:
            raise NonScalarGrad(self._inner._array.shape)
        leaves = _reachable_leaves(self._inner)
        if not leaves:
            return Gradients(0)
        with profiles.profile(profiles.TENFERRO):
            found = differentiate(self._inner, leaves, retain_graph=True, allow_unused=True)
        reached = 0
        with grad_mode(False):
            for leaf, gradient in zip(leaves, found, strict=True):
                if gradient is not None:
                    reached += 1
                    present = leaf._grad
                    leaf._grad = gradient.clone() if present is None else present + gradient
        return Gradients(reached)

    # -- methods of the older interface -----------------------------------------------------

    def mul(self, other: EagerTensor) -> EagerTensor:
        """Return the product."""
        return Session(self._runtime).mul(self, other)

    def add(self, other: EagerTensor) -> EagerTensor:
        """Return the sum."""
        return Session(self._runtime).add(self, other)

    def sub(self, other: EagerTensor) -> EagerTensor:
        """Return the difference."""
        return Session(self._runtime).sub(self, other)

    def reduce_sum(self, axes: Sequence[int] | None = None) -> EagerTensor:
        """Return the sum over some axes, or all."""
        return Session(self._runtime).reduce_sum(self, axes)


def _reachable_leaves(tensor: Tensor) -> list[Tensor]:
    edge = gradient_edge(tensor)
    if edge is None:
        return []
    seen: dict[Node, None] = {edge[0]: None}
    waiting = [edge[0]]
    while waiting:
        for following in waiting.pop().next_edges:
            if following is not None and following[0] not in seen:
                seen[following[0]] = None
                waiting.append(following[0])
    return [node.variable for node in seen if isinstance(node, AccumulateGrad)]


class Session:
    """What the closure of ``with_eager_session`` gets: the operations."""

    def __init__(self, runtime: EagerRuntime) -> None:
        """Belong to a runtime."""
        self._runtime = runtime

    def _apply(self, compute: Callable[..., Tensor], *operands: EagerTensor) -> EagerTensor:
        for operand in operands:
            if operand._runtime is not self._runtime:
                raise TenferroError("tensors belong to different contexts")
        recorded = modes.grad and not modes.no_grad_depth
        with grad_mode(recorded):
            return EagerTensor(self._runtime, compute(*[o._inner for o in operands]))

    def variable_from(self, values: Unchecked) -> EagerTensor:
        """Make a leaf; see the runtime's method."""
        return self._runtime.variable_from(values)

    def constant_from(self, values: Unchecked) -> EagerTensor:
        """Make a constant; see the runtime's method."""
        return self._runtime.constant_from(values)

    def add(self, a: EagerTensor, b: EagerTensor) -> EagerTensor:
        """Return the sum."""
        return self._apply(arithmetic.add, a, b)

    def sub(self, a: EagerTensor, b: EagerTensor) -> EagerTensor:
        """Return the difference."""
        return self._apply(arithmetic.sub, a, b)

    def mul(self, a: EagerTensor, b: EagerTensor) -> EagerTensor:
        """Return the product, element by element."""
        return self._apply(arithmetic.mul, a, b)

    def div(self, a: EagerTensor, b: EagerTensor) -> EagerTensor:
        """Return the quotient."""
        return self._apply(arithmetic.div, a, b)

    def neg(self, a: EagerTensor) -> EagerTensor:
        """Return the negative."""
        return self._apply(pointwise.neg, a)

    def exp(self, a: EagerTensor) -> EagerTensor:
        """Return the exponential."""
        return self._apply(pointwise.exp, a)

    def log(self, a: EagerTensor) -> EagerTensor:
        """Return the logarithm."""
        return self._apply(pointwise.log, a)

    def sin(self, a: EagerTensor) -> EagerTensor:
        """Return the sine."""
        return self._apply(pointwise.sin, a)

    def cos(self, a: EagerTensor) -> EagerTensor:
        """Return the cosine."""
        return self._apply(pointwise.cos, a)

    def tanh(self, a: EagerTensor) -> EagerTensor:
        """Return the hyperbolic tangent."""
        return self._apply(pointwise.tanh, a)

    def sqrt(self, a: EagerTensor) -> EagerTensor:
        """Return the root."""
        return self._apply(pointwise.sqrt, a)

    def scale(self, a: EagerTensor, factor: float) -> EagerTensor:
        """Return the tensor times a number."""
        return self._apply(lambda t: arithmetic.mul(t, factor), a)

    def reduce_sum(self, a: EagerTensor, axes: Sequence[int] | None = None) -> EagerTensor:
        """Return the sum over some axes, or all for None."""
        return self._apply(lambda t: reduction.sum_(t, None if axes is None else list(axes)), a)

    def matmul(self, a: EagerTensor, b: EagerTensor) -> EagerTensor:
        """Return the product of matrices."""
        return self._apply(linalg.matmul, a, b)

    def reshape(self, a: EagerTensor, extents: Sequence[int]) -> EagerTensor:
        """Return another shape."""
        return self._apply(lambda t: shaping.reshape(t, tuple(extents)), a)

    def transpose(self, a: EagerTensor, order: Sequence[int]) -> EagerTensor:
        """Return the axes in another order."""
        return self._apply(lambda t: shaping.permute(t, tuple(order)), a)


class EagerRuntime:
    """Makes tensors and runs sessions; its guards act on the whole thread."""

    def no_grad(self) -> EagerNoGradGuard:
        """Switch recording off on this thread until the guard is dropped."""
        return EagerNoGradGuard()

    def variable_from(self, values: Unchecked) -> EagerTensor:
        """Make a leaf, which tracks also when made under a guard."""
        made = self.constant_from(values)
        made._inner.requires_grad_()
        _pool.leaves.append(weakref.ref(made))
        return made

    def constant_from(self, values: Unchecked) -> EagerTensor:
        """Make a tensor that never tracks."""
        if isinstance(values, EagerTensor):
            values = values._inner
        if isinstance(values, TensorState):
            array: npt.NDArray[Unchecked] = np.array(values._array)
        else:
            array = to_array(values).astype(np.float64)
        return EagerTensor(self, from_array(array))

    def with_eager_session(self, body: Callable[[Session], T]) -> T:
        """Run the closure; a guard taken inside it ends with it."""
        depth = modes.no_grad_depth
        try:
            return body(Session(self))
        finally:
            modes.no_grad_depth = min(depth, modes.no_grad_depth)

    def clear_grads(self) -> None:
        """Empty the gradient slots of all leaves of this runtime, on this thread."""
        for reference in _pool.leaves:
            leaf = reference()
            if leaf is not None and leaf._runtime is self:
                leaf.clear_grad()

    def grad_optional(self, output: EagerTensor, leaf: EagerTensor) -> EagerTensor | None:
        """Return a gradient, None if the output does not depend on the leaf."""
        if gradient_edge(output._inner) is None or not leaf.tracks_grad():
            return None
        (found,) = differentiate(output._inner, leaf._inner, retain_graph=True, allow_unused=True)
        return None if found is None else EagerTensor(self, found)

    def grad(self, output: EagerTensor, leaf: EagerTensor) -> EagerTensor:
        """Return a gradient.

        Raises:
            TenferroError: the output is untracked, or does not depend on the leaf.
        """
        found = self.grad_optional(output, leaf)
        if found is None:
            raise TenferroError("output does not depend on the requested input")
        return found
