"""``torch.autograd.functional``: derivatives, in grad mode whatever the caller's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from gradguard.runtime.backward import grad
from gradguard.runtime.modes import ModeState, current_modes, restore_modes
from gradguard.runtime.state import TensorState
from gradguard.runtime.unchecked import Unchecked

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


def _as_tuple(value: Unchecked) -> tuple[Tensor, ...]:
    return (value,) if isinstance(value, TensorState) else tuple(value)  # type: ignore[return-value]


class _Recording:
    """Grad mode on for the block; inference mode stays as it is (torch 2.13)."""

    def __enter__(self) -> None:
        self._before = current_modes()
        restore_modes(
            ModeState(
                True,
                self._before.inference,
                0,
                self._before.saved_hooks,
                self._before.profile,
            )
        )

    def __exit__(self, *exc: object) -> None:
        restore_modes(self._before)


def _inputs(given: Unchecked, create_graph: bool) -> tuple[Tensor, ...]:
    prepared = []
    for tensor in _as_tuple(given):
        if create_graph and tensor.requires_grad:
            prepared.append(tensor.view_as(tensor))
        elif create_graph:
            prepared.append(tensor.clone())
        else:
            prepared.append(tensor.detach().requires_grad_())
    return tuple(prepared)


def _unpacked(values: tuple[Unchecked, ...], like: Unchecked) -> Unchecked:
    return values[0] if isinstance(like, TensorState) else values


def _vjp(
    func: Callable[..., Unchecked], inputs: Unchecked, v: Unchecked, create_graph: bool
) -> tuple[Unchecked, tuple[Tensor, ...]]:
    with _Recording():
        prepared = _inputs(inputs, create_graph)
        outputs = func(*prepared)
        grads = grad(
            _as_tuple(outputs),
            prepared,
            None if v is None else _as_tuple(v),
            create_graph=create_graph,
            materialize_grads=True,
        )
    found = tuple(g for g in grads if g is not None)
    if create_graph:
        return outputs, found
    detached = tuple(out.detach() for out in _as_tuple(outputs))
    return _unpacked(detached, outputs), found


def vjp(
    func: Callable[..., Unchecked],
    inputs: Unchecked,
    v: Unchecked = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Unchecked, Unchecked]:
    """Return the outputs and the product of ``v`` with the Jacobian."""
    outputs, grads = _vjp(func, inputs, v, create_graph)
    return outputs, _unpacked(grads, inputs)


def jacobian(
    func: Callable[..., Unchecked],
    inputs: Unchecked,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
) -> Unchecked:
    """Return the Jacobian, by one backward for each element of the output."""
    from gradguard.runtime.ops.joining import stack

    with _Recording():
        prepared = _inputs(inputs, create_graph)
        outputs = func(*prepared)
        blocks = []
        for out in _as_tuple(outputs):
            rows: list[list[Tensor]] = [[] for _ in prepared]
            flat = out.reshape(-1)
            for index in range(flat.numel()):
                if not flat.requires_grad:
                    grads: tuple[Unchecked, ...] = tuple(p.new_zeros(p.shape) for p in prepared)
                else:
                    grads = grad(
                        flat[index],
                        prepared,
                        retain_graph=True,
                        create_graph=create_graph,
                        materialize_grads=True,
                    )
                for row, value in zip(rows, grads, strict=True):
                    row.append(value)
            shaped = [
                stack(row).reshape(tuple(out.shape) + tuple(p.shape))
                for row, p in zip(rows, prepared, strict=True)
            ]
            blocks.append(_unpacked(tuple(shaped), inputs))
    return _unpacked(tuple(blocks), outputs)


def hessian(func: Callable[..., Unchecked], inputs: Unchecked, create_graph: bool = False) -> Unchecked:
    """Return the second derivatives of a scalar function of one tensor."""

    def gradient(*args: Unchecked) -> Unchecked:
        return jacobian(func, args if len(args) > 1 else args[0], create_graph=True)

    return jacobian(gradient, inputs, create_graph=create_graph)


def jvp(
    func: Callable[..., Unchecked],
    inputs: Unchecked,
    v: Unchecked = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Unchecked, Unchecked]:
    """Return the outputs and the Jacobian times ``v``, by differentiating a vjp."""
    with _Recording():
        prepared = _inputs(inputs, create_graph)
        outputs = func(*prepared)
        outs = _as_tuple(outputs)
        dummies = tuple(out.new_zeros(out.shape).requires_grad_() for out in outs)
        backs = grad(outs, prepared, dummies, create_graph=True, materialize_grads=True)
        found = grad(
            backs,
            dummies,
            None if v is None else _as_tuple(v),
            create_graph=create_graph,
            materialize_grads=True,
        )
    return outputs, _unpacked(found, outputs)
