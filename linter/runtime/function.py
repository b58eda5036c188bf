"""Custom differentiable functions: ``torch.autograd.Function``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gradguard.runtime import messages
from gradguard.runtime.graph import Grads, Node, SavedTensor, gradient_edge, set_history
from gradguard.runtime.modes import grad_mode, modes
from gradguard.runtime.record import check_in_place
from gradguard.runtime.state import TensorState
from gradguard.runtime.unchecked import Unchecked
from gradguard.runtime.view_state import Creation, ViewStep, rebase_history
from gradguard.runtime.views import attach_view

if TYPE_CHECKING:
    from gradguard.runtime.tensor import Tensor


class FunctionContext(Node):
    """The ``ctx`` of a custom function, which is its node too."""

    function: type[Function]

    def __init__(self, inputs: Sequence[Unchecked]) -> None:
        """Start with the inputs; edges follow once forward has run."""
        super().__init__(())
        self.needs_input_grad = tuple(
            isinstance(value, TensorState) and value.requires_grad for value in inputs
        )
        self._to_save: tuple[Unchecked, ...] = ()
        self._saved: list[SavedTensor | None] | None = []
        self._is_tensor = tuple(isinstance(value, TensorState) for value in inputs)
        self._undifferentiable: set[int] = set()
        self._dirty: set[int] = set()
        self._materialize = True
        self._had_saved = False

    def save_for_backward(self, *tensors: Unchecked) -> None:
        """Keep tensors for backward, watched by their version."""
        self._to_save = tensors

    def mark_non_differentiable(self, *outputs: Unchecked) -> None:
        """Declare outputs that are not tracked."""
        self._undifferentiable = {id(out) for out in outputs}

    def mark_dirty(self, *tensors: Unchecked) -> None:
        """Declare inputs that forward modified in place."""
        self._dirty = {id(t) for t in tensors}

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether backward gets zeros or None for outputs without a gradient."""
        self._materialize = value

    @property
    def saved_tensors(self) -> tuple[Unchecked, ...]:
        """Return what was saved.

        Raises:
            RuntimeError: it was freed, or modified in place since.
        """
        if self._saved is None:
            raise RuntimeError(messages.BACKWARD_TWICE)
        if self._to_save:
            return self._to_save
        return tuple(None if kept is None else kept.unpack(None) for kept in self._saved)

    def finish_saving(self, outputs: Sequence[Unchecked]) -> None:
        """Turn what forward asked to keep into saved tensors."""
        positions = {id(out): index for index, out in enumerate(outputs)}
        kept: list[SavedTensor | None] = []
        for value in self._to_save:
            if value is None:
                kept.append(None)
                continue
            position = positions.get(id(value))
            own = position is not None and value._node is self
            kept.append(
                SavedTensor(value, is_output=True, origin=(self, position or 0))
                if own
                else SavedTensor(value)
            )
        self._to_save = ()
        self._saved = kept
        self._had_saved = bool(kept)

    def apply(self, grads: Grads) -> Grads:
        """Call the function's backward and check how many gradients it gave."""
        from gradguard.runtime.ops.creation import zeros

        given: list[Unchecked] = []
        for index, (shape, kind) in enumerate(self.outputs):
            grad = grads[index] if index < len(grads) else None
            if grad is None and self._materialize:
                grad = zeros(shape, dtype=kind)
            given.append(grad)
        result = self.function.backward(self, *given)
        if not isinstance(result, tuple):
            result = (result,)
        expected = len(self._is_tensor)
        if len(result) > expected and all(r is None for r in result[expected:]):
            result = result[:expected]
        if len(result) != expected:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected "
                f"{expected}, got {len(result)})"
            )
        for position, value in enumerate(result):
            if value is not None and not self._is_tensor[position]:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{position + 1}, but the corresponding forward input was not a Variable"
                )
        return list(result)

    def release(self) -> None:
        """Free what was saved."""
        if self._had_saved:
            self._saved = None


def _context_class(function: type[Function]) -> type[FunctionContext]:
    # One class for each function, kept on the function itself.
    known: type[FunctionContext] | None = vars(function).get("_context_class")
    if known is None:
        members = {"label": function.__name__, "function": function}
        known = type(f"{function.__name__}Backward", (FunctionContext,), members)
        function._context_class = known
    return known


class Function:
    """A function whose backward the program gives, in static methods of a subclass."""

    @staticmethod
    def forward(*args: Unchecked, **kwargs: Unchecked) -> Unchecked:
        """Compute; called with the context first, unless there is ``setup_context``."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx: Unchecked, *grad_outputs: Unchecked) -> Unchecked:
        """Return the inputs' gradients."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward
    _context_class: type[FunctionContext]

    def __call__(self, *args: Unchecked, **kwargs: Unchecked) -> Unchecked:
        """Refuse the legacy form.

        Raises:
            RuntimeError: always.
        """
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @classmethod
    def apply(cls, *args: Unchecked, **kwargs: Unchecked) -> Unchecked:
        """Run forward without recording, and record the function as one node.

        Only the grad mode decides, not inference mode; ``ctx.needs_input_grad`` does not
        depend on either (torch 2.13).
        """
        separate = "setup_context" in dir(cls)
        inputs = _positional(cls, args, kwargs, separate) if kwargs else args
        ctx = _context_class(cls)(inputs)
        record = modes.grad and any(ctx.needs_input_grad)
        with grad_mode(False):
            if separate:
                raw = cls.forward(*inputs)
                cls.setup_context(ctx, inputs, raw)  # type: ignore[attr-defined]
            else:
                raw = cls.forward(ctx, *inputs)
        outputs = raw if isinstance(raw, tuple) else (raw,)
        if record:
            ctx.next_edges = tuple(
                gradient_edge(value._self()) if isinstance(value, TensorState) else None for value in inputs
            )
        wrapped = [_wrap_output(ctx, out, n, inputs, record) for n, out in enumerate(outputs)]
        if record:
            ctx.finish_saving(wrapped)
        return tuple(wrapped) if isinstance(raw, tuple) else wrapped[0]


def _positional(
    cls: type[Function], args: tuple[Unchecked, ...], kwargs: dict[str, Unchecked], separate: bool
) -> tuple[Unchecked, ...]:
    signature = inspect.signature(cls.forward)
    lead = () if separate else (None,)
    bound = signature.bind_partial(*lead, *args)
    names = [
        name
        for name, parameter in signature.parameters.items()
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    ]
    for name in kwargs:
        if name not in names or name in bound.arguments:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
    bound = signature.bind(*lead, *args, **kwargs)
    bound.apply_defaults()
    values = list(bound.args)
    if len(args) + len(lead) < len(values):
        # Defaults that nothing follows are left to Python.
        last = max(names.index(name) for name in kwargs)
        values = values[: max(last + 1, len(args) + len(lead))]
    return tuple(values[len(lead) :])


def _wrap_output(
    ctx: FunctionContext, out: Unchecked, number: int, inputs: Sequence[Unchecked], record: bool
) -> Unchecked:
    if not isinstance(out, TensorState):
        return out
    tensor = out._self()
    is_input = any(tensor is value for value in inputs)
    dirty = id(tensor) in ctx._dirty
    if id(tensor) in ctx._undifferentiable:
        plain = tensor.alias() if is_input else tensor
        if not dirty:
            ctx._undifferentiable.add(id(plain))
        ctx.outputs += [((), tensor.dtype)] * (number + 1 - len(ctx.outputs))
        ctx.outputs[number] = (tuple(tensor._array.shape), tensor.dtype)
        return plain
    if not record:
        return _untracked_output(tensor, is_input)
    if dirty:
        return _record_dirty(ctx, tensor, number)
    if is_input:
        # An input handed back as it is must not lose its own history.
        tensor = _identity_view(tensor)
    if tensor._view is not None:
        tensor._view.creation = Creation.CUSTOM_FUNCTION
    set_history(tensor, ctx, number)
    return tensor


def _untracked_output(tensor: Tensor, is_input: bool) -> Tensor:
    # What forward recorded by switching grad mode on itself is dropped (torch 2.13).
    if not tensor.requires_grad:
        return tensor
    if is_input:
        return tensor.alias()
    if tensor._view is None:
        tensor._flag, tensor._node, tensor._output_nr = False, None, 0
    return tensor


def _identity_view(tensor: Tensor) -> Tensor:
    view = tensor.alias()
    if not tensor._inference:
        step = ViewStep("View", lambda a: a[...], lambda g, s: g, tensor._array.shape)
        attach_view(view, tensor, step, Creation.DEFAULT if modes.grad else Creation.NO_GRAD)
    return view


def _record_dirty(ctx: FunctionContext, tensor: Tensor, number: int) -> Tensor:
    if tensor.requires_grad and tensor.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if tensor._view is not None:
        check_in_place(tensor)
        rebase_history(tensor, ctx)
    else:
        set_history(tensor, ctx, number)
    if tensor._counter is not None:
        tensor._counter.value += 1
    return tensor


def once_differentiable(backward: Callable[..., Unchecked]) -> Callable[..., Unchecked]:
    """Decorate a backward that cannot be differentiated itself."""

    @functools.wraps(backward)
    def wrapper(ctx: Unchecked, *args: Unchecked) -> Unchecked:
        with grad_mode(False):
            return backward(ctx, *args)

    return wrapper
