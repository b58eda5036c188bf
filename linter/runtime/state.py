"""The state of a tensor: values, version, and its place in the graph."""

from __future__ import annotations

import warnings
import weakref
from typing import TYPE_CHECKING

import numpy as np

from gradguard.runtime import dtypes, messages
from gradguard.runtime.dtypes import Array, dtype
from gradguard.runtime.graph import AccumulateGrad, Node, TensorHook
from gradguard.runtime.modes import modes
from gradguard.runtime.profiles import active_profile
from gradguard.runtime.unchecked import Unchecked
from gradguard.runtime.view_state import View, current_grad_fn

if TYPE_CHECKING:
    from collections.abc import Callable

    from gradguard.runtime.tensor import Tensor


class Size(tuple[int, ...]):
    """The shape of a tensor."""

    def numel(self) -> int:
        """Return the number of elements."""
        total = 1
        for extent in self:
            total *= extent
        return total

    def __repr__(self) -> str:
        """Return ``torch.Size([2, 3])``."""
        return f"torch.Size({list(self)})"


class VersionCounter:
    """Counts in-place writes; aliases of one storage share it."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        """Start at zero."""
        self.value = 0


class TensorState:
    """The fields of a tensor and the properties that read them.

    Fields start with an underscore; other modules of the engine use them, programs do not.
    """

    _array: Array
    _counter: VersionCounter | None
    _inference: bool = False
    _flag: bool = False
    _node: Node | None = None
    _output_nr: int = 0
    _grad: Tensor | None = None
    _accumulator: weakref.ref[AccumulateGrad] | None = None
    _view: View | None = None
    _wrapped: bool = False
    # Class-wide empty tables; a tensor gets its own when its first hook is registered.
    _hooks: dict[int, TensorHook] = {}  # noqa: RUF012
    _post_hooks: dict[int, Callable[[Tensor], Unchecked]] = {}  # noqa: RUF012

    __hash__ = object.__hash__

    # -- values ---------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """Return the extents."""
        return Size(self._array.shape)

    @property
    def dtype(self) -> dtype:
        """Return the element type."""
        return dtypes.of_array(self._array)

    @property
    def ndim(self) -> int:
        """Return the number of dimensions."""
        return self._array.ndim

    @property
    def device(self) -> str:
        """Return ``cpu``, the only device."""
        return "cpu"

    @property
    def is_cuda(self) -> bool:
        """Return False."""
        return False

    @property
    def _version_value(self) -> int:
        return 0 if self._counter is None else self._counter.value

    @property
    def _version(self) -> int:
        if self._counter is None:
            raise RuntimeError(messages.INFERENCE_VERSION)
        return self._counter.value

    # -- autograd -------------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Tell whether the tensor is tracked; a view follows its base (torch 2.13)."""
        if self._flag or self._node is not None:
            return True
        view = self._view
        return view is not None and view.base.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise RuntimeError(messages.FLAG_NOT_BOOL)
        if self._node is not None:
            hint = "" if value else messages.FLAG_OF_NON_LEAF_HINT
            raise RuntimeError(messages.FLAG_OF_NON_LEAF + hint)
        self._set_flag(value, "only Tensors of floating point dtype can require gradients")

    def _set_flag(self, value: bool, wrong_type: str) -> None:
        if value and not self.dtype.is_floating_point:
            raise RuntimeError(wrong_type)
        if value and self._inference and not modes.inference:
            raise RuntimeError(messages.INFERENCE_REQUIRES_GRAD)
        self._flag = value

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set the flag of a leaf; on a tracked non-leaf asking for True does nothing.

        Raises:
            RuntimeError: the flag of a non-leaf would go off, an integer tensor's on, or an
                inference tensor's on outside inference mode.
            TypeError: ``requires_grad`` is not a bool.
        """
        if not isinstance(requires_grad, bool):
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                + type(requires_grad).__name__
            )
        if modes.transforms:
            aside = " (or perhaps using torch.autograd.functional.* APIs)"
            raise RuntimeError(messages.IN_TRANSFORM.format(name="requires_grad_", aside=aside))
        # The node as it was recorded: on a stale view this must not raise (torch 2.13).
        if not requires_grad and self._node is not None:
            raise RuntimeError(messages.FLAG_OF_NON_LEAF + messages.FLAG_OF_NON_LEAF_HINT)
        self._set_flag(requires_grad, "only Tensors of floating point dtype can require gradients")
        return self._self()

    @property
    def grad_fn(self) -> Node | None:
        """Return the node that made the tensor.

        Raises:
            RuntimeError: the tensor is a view made under a guard, and its storage was
                modified since (torch 2.13: reading is enough).
        """
        if self._view is None:
            return self._node
        return current_grad_fn(self._self())

    def _accumulator_node(self) -> AccumulateGrad | None:
        return None if self._accumulator is None else self._accumulator()

    @property
    def is_leaf(self) -> bool:
        """Tell whether no node made the tensor; untracked tensors are leaves too."""
        return self.grad_fn is None

    @property
    def output_nr(self) -> int:
        """Return which output of its node the tensor is."""
        return self._output_nr

    @property
    def retains_grad(self) -> bool:
        """Tell whether ``retain_grad`` was asked of this non-leaf."""
        node = self._node
        if node is None:
            return False
        kept = node.retained.get(self._output_nr)
        return kept is not None and kept() is self

    @property
    def grad(self) -> Tensor | None:
        """Return the accumulated gradient; a non-leaf has none, and reading it warns."""
        if self._grad is None and self._node is not None and not self.retains_grad:
            warnings.warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
                "Its .grad attribute won't be populated during autograd.backward(). If you "
                "indeed want the .grad field to be populated for a non-leaf Tensor, use "
                ".retain_grad() on the non-leaf Tensor.",
                UserWarning,
                stacklevel=2,
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self._grad = None
            return
        if not isinstance(value, TensorState):
            raise TypeError(
                "assigned grad expected to be a Tensor or None but got grad of type " + type(value).__name__
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if value.dtype is not self.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{value.dtype.name}' to a tensor "
                f"with grad_dtype '{self.dtype.scalar_name}'. The gradient must match the "
                "tensor's grad_dtype (defaults to the tensor's dtype)."
            )
        if value._array.shape != self._array.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of "
                f"size '{list(self.shape)}'. Please ensure that the gradient and the tensor are "
                "the same size"
            )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self._grad = None

    @property
    def data(self) -> Tensor:
        """Return an untracked alias with a version counter of its own."""
        alias = self.alias()
        alias._counter = VersionCounter()
        return alias

    @data.setter
    def data(self, value: Tensor) -> None:
        if self.requires_grad and not value.dtype.is_floating_point:
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex dtype"
            )
        self._array = value._array
        self._inference = value._inference

    def alias(self) -> Tensor:
        """Return an untracked tensor over the same storage, sharing the version counter."""
        from gradguard.runtime.tensor import Tensor

        alias = Tensor.__new__(Tensor)
        alias._array = self._array
        alias._counter = self._counter
        if self._inference:
            alias._inference = True
        return alias

    def is_inference(self) -> bool:
        """Tell whether the tensor was made under inference mode."""
        return self._inference

    def _is_view(self) -> bool:
        return self._view is not None

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    def _self(self) -> Tensor:
        return self  # type: ignore[return-value]

    # -- profile --------------------------------------------------------------------------

    @property
    def stop_gradient(self) -> bool:
        """Return the opposite of ``requires_grad``, as Paddle spells it.

        Raises:
            AttributeError: another profile is active.
        """
        if active_profile().gradient_query != "stop_gradient":
            raise AttributeError("'Tensor' object has no attribute 'stop_gradient'")
        return not self.requires_grad


def from_array(array: Array) -> Tensor:
    """Make an untracked tensor that owns ``array``; under inference mode an inference tensor."""
    from gradguard.runtime.tensor import Tensor

    made = Tensor.__new__(Tensor)
    made._array = array
    if modes.inference:
        made._inference = True
        made._counter = None
    else:
        made._counter = VersionCounter()
    return made


def as_array(value: object) -> Array:
    """Return numpy's result as an array: its reductions give scalars."""
    return np.asarray(value)
