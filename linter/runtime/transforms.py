"""``torch.func``: gradients as function transforms.

A transform ignores the caller's grad and inference modes and respects guards inside the
function (torch 2.13).  What it returns keeps a graph only as far as that graph leads to
something the caller tracks.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime.backward import grad as backward_grad
from gradguard.runtime.graph import AccumulateGrad, Edge, Grads, Node, gradient_edge
from gradguard.runtime.modes import ModeState, current_modes, modes, restore_modes
from gradguard.runtime.state import TensorState, from_array
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


class _StandIn(AccumulateGrad):
    """The end of a transform's graph at an argument, and the way on to the caller's."""

    outer: Edge | None = None
    tracked: bool = False
    running: bool = True

    def apply(self, grads: Grads) -> Grads:
        """Pass on; nothing accumulates in an argument."""
        return grads if self.next_edges else ()


class _Level:
    """One running transform: the caller's modes, and the leaves that stand for its arguments."""

    def __init__(self) -> None:
        self.outer_records = modes.grad and not modes.inference
        self.leaves: list[_StandIn] = []

    def enter(self, value: Unchecked) -> Unchecked:
        """Give the function its own tracked tensor for an argument."""
        if isinstance(value, dict):
            return {key: self.enter(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self.enter(item) for item in value)
        if not isinstance(value, TensorState):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(value)}")
        tensor = value._self()
        leaf = from_array(np.array(tensor._array)) if tensor._inference else tensor.detach()
        leaf._set_flag(True, "Only Tensors of floating point dtype can require gradients")
        stand_in = _StandIn(leaf)
        leaf._accumulator = weakref.ref(stand_in)
        if tensor.requires_grad and self.outer_records and not tensor._inference:
            stand_in.tracked = True
            stand_in.outer = gradient_edge(tensor)
        self.leaves.append(stand_in)
        return leaf

    def connect(self) -> None:
        """Join the arguments to the caller's graph, now that the function has run."""
        for stand_in in self.leaves:
            stand_in.running = False
            if stand_in.outer is not None:
                stand_in.next_edges = (stand_in.outer,)

    def leave(self, value: Unchecked) -> Unchecked:
        """Cut off the graph of a result unless the caller tracks something behind it."""
        if isinstance(value, dict):
            return {key: self.leave(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self.leave(item) for item in value)
        if not isinstance(value, TensorState) or not value.requires_grad:
            return value
        tensor = value._self()
        if self.outer_records and self._tracked_outside(tensor):
            return tensor
        return tensor.detach()

    def _tracked_outside(self, tensor: Tensor) -> bool:
        # A view made under a guard is tracked and leads nowhere.
        edge = gradient_edge(tensor)
        if edge is None:
            return True
        seen: set[Node] = {edge[0]}
        waiting = [edge[0]]
        while waiting:
            node = waiting.pop()
            if isinstance(node, _StandIn):
                if node.tracked if node in self.leaves else node.running:
                    return True
            elif isinstance(node, AccumulateGrad):
                return True
            for edge in node.next_edges:
                if edge is not None and edge[0] not in seen:
                    seen.add(edge[0])
                    waiting.append(edge[0])
        return False


@contextmanager
def _recording() -> Iterator[None]:
    before = current_modes()
    restore_modes(ModeState(True, False, 0, before.saved_hooks, before.profile))
    modes.transforms += 1
    try:
        yield
    finally:
        modes.transforms -= 1
        restore_modes(before)


def _flat(value: Unchecked) -> list[Tensor]:
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _flat(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _flat(item)]
    return [value]


def _rebuilt(like: Unchecked, leaves: Iterator[Unchecked]) -> Unchecked:
    if isinstance(like, dict):
        return {key: _rebuilt(item, leaves) for key, item in like.items()}
    if isinstance(like, (list, tuple)):
        return type(like)(_rebuilt(item, leaves) for item in like)
    return next(leaves)


def _differentiate(output: Tensor, wanted: Unchecked, cotangent: Tensor | None = None) -> Unchecked:
    from gradguard.runtime.ops.creation import zeros_like

    leaves = _flat(wanted)
    if not output.requires_grad:
        found: tuple[Unchecked, ...] = tuple(zeros_like(leaf) for leaf in leaves)
    else:
        found = backward_grad(output, leaves, cotangent, create_graph=True, materialize_grads=True)
    return _rebuilt(wanted, iter(found))


def _checked_scalar(output: Unchecked) -> Tensor:
    if not isinstance(output, TensorState):
        raise RuntimeError(
            f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(output)}"
        )
    tensor = output._self()
    if tensor._array.ndim:
        raise RuntimeError(
            "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor "
            f"with {tensor._array.ndim} dims. Maybe you wanted to use the vjp or jacrev APIs "
            "instead?"
        )
    return tensor


def grad_and_value(
    func: Callable[..., Unchecked], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Unchecked]:
    """Return a function that gives the gradient and the value.

    Raises:
        RuntimeError: when called, and the function gives no scalar tensor.
    """

    @functools.wraps(func)
    def wrapper(*args: Unchecked, **kwargs: Unchecked) -> Unchecked:
        level = _Level()
        positions = (argnums,) if isinstance(argnums, int) else tuple(argnums)
        with _recording():
            entered = list(args)
            for position in positions:
                entered[position] = level.enter(args[position])
            result = func(*entered, **kwargs)
            aux = None
            if has_aux:
                result, aux = result
            output = _checked_scalar(result)
            wanted: Unchecked = tuple(entered[p] for p in positions)
            gradients = _differentiate(output, wanted)
            if isinstance(argnums, int):
                gradients = gradients[0]
            level.connect()
            gradients, output = level.leave(gradients), level.leave(output)
        return (gradients, (output, level.leave(aux))) if has_aux else (gradients, output)

    return wrapper


def grad(
    func: Callable[..., Unchecked], argnums: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Unchecked]:
    """Return a function that gives the gradient; see ``grad_and_value``."""

    def wrapper(*args: Unchecked, **kwargs: Unchecked) -> Unchecked:
        gradients, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return wrapper


def vjp(func: Callable[..., Unchecked], *primals: Unchecked, has_aux: bool = False) -> Unchecked:
    """Return the output and a function from cotangents to gradients."""
    level = _Level()
    with _recording():
        entered = tuple(level.enter(p) for p in primals)
        output = func(*entered)
        aux = None
        if has_aux:
            output, aux = output

    def pull(cotangent: Tensor, retain_graph: bool = True) -> tuple[Unchecked, ...]:
        with _recording():
            found = _differentiate(output, entered, cotangent)
            level.connect()
            return tuple(level.leave(g) for g in found)

    shown = level.leave(output)
    return (shown, pull, level.leave(aux)) if has_aux else (shown, pull)


def jacrev(func: Callable[..., Unchecked], argnums: int = 0) -> Callable[..., Unchecked]:
    """Return a function that gives the Jacobian, by reverse mode."""

    def wrapper(*args: Unchecked) -> Unchecked:
        from gradguard.runtime.ops.joining import stack

        level = _Level()
        with _recording():
            entered = list(args)
            entered[argnums] = level.enter(args[argnums])
            output = func(*entered)
            rows = [_differentiate(piece, entered[argnums]) for piece in output.reshape(-1)]
            shape = tuple(output.shape) + tuple(entered[argnums].shape)
            jacobian = stack(rows).reshape(shape)
            level.connect()
            return level.leave(jacobian)

    return wrapper


jacfwd = jacrev


def hessian(func: Callable[..., Unchecked], argnums: int = 0) -> Callable[..., Unchecked]:
    """Return a function that gives the second derivatives."""
    return jacrev(jacrev(func, argnums), argnums)


def jvp(
    func: Callable[..., Unchecked], primals: tuple[Unchecked, ...], tangents: tuple[Unchecked, ...]
) -> Unchecked:
    """Return the output and its directional derivative."""
    from gradguard.runtime import functional_autograd

    level = _Level()
    with _recording():
        output, derivative = functional_autograd.jvp(func, tuple(primals), tuple(tangents))
        return level.leave(output.detach()), level.leave(derivative)


def vmap(
    func: Callable[..., Unchecked], in_dims: Unchecked = 0, out_dims: int = 0
) -> Callable[..., Unchecked]:
    """Map over a dimension, one call an element."""

    def wrapper(*args: Unchecked) -> Unchecked:
        from gradguard.runtime.ops.joining import stack

        dims = (in_dims,) * len(args) if isinstance(in_dims, int) else in_dims
        count = next(a._array.shape[d] for a, d in zip(args, dims, strict=True) if d is not None)
        results = []
        for index in range(count):
            picked = [a if d is None else a.select(d, index) for a, d in zip(args, dims, strict=True)]
            results.append(func(*picked))
        if isinstance(results[0], tuple):
            return tuple(stack(list(column), out_dims) for column in zip(*results, strict=True))
        return stack(results, out_dims)

    return wrapper


def functional_call(
    module: Unchecked,
    parameters_and_buffers: Unchecked,
    args: Unchecked = None,
    kwargs: Unchecked = None,
    **_: Unchecked,
) -> Unchecked:
    """Call a module with other tensors in the place of its parameters and buffers."""
    if isinstance(parameters_and_buffers, (list, tuple)):
        merged: dict[str, Unchecked] = {}
        for part in parameters_and_buffers:
            merged.update(part)
        parameters_and_buffers = merged
    call_args = () if args is None else args if isinstance(args, tuple) else (args,)
    with module._substituted(parameters_and_buffers):
        return module(*call_args, **(kwargs or {}))
