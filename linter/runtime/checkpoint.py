"""``torch.utils.checkpoint``: recompute in backward what forward does not keep."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from gradguard.runtime.backward import backward as run_backward
from gradguard.runtime.function import Function
from gradguard.runtime.graph import SavedTensor
from gradguard.runtime.guards import enable_grad
from gradguard.runtime.modes import SavedHooks, modes
from gradguard.runtime.ops.creation import get_rng_state, set_rng_state
from gradguard.runtime.state import TensorState
from gradguard.runtime.unchecked import Unchecked


class _StopRecomputation(Exception):
    pass


class _Frame:
    """One checkpointed call: what it saved, by position, and how to recompute it."""

    def __init__(self, function: Callable[..., Unchecked], args: Unchecked, kwargs: Unchecked) -> None:
        self._function = function
        self._kwargs = kwargs
        # Arguments are saved as a custom function would: watched by version, and no
        # inference tensors (torch 2.13).
        self._args = [SavedTensor(a._self()) if isinstance(a, TensorState) else a for a in args]
        self._count = 0
        self._random = get_rng_state()
        self._recomputed: dict[int, list[Unchecked]] = {}

    def pack(self, tensor: Unchecked) -> int:
        self._count += 1
        return self._count - 1

    def unpack(self, position: int) -> Unchecked:
        # Each backward pass recomputes once.
        if modes.pass_number not in self._recomputed:
            self._recomputed = {modes.pass_number: self._recompute()}
        return self._recomputed[modes.pass_number][position]

    def _recompute(self) -> list[Unchecked]:
        kept: list[Unchecked] = []

        def collect(tensor: Unchecked) -> int:
            kept.append(tensor.detach())
            if len(kept) == self._count:
                raise _StopRecomputation
            return len(kept) - 1

        args = [a.unpack(None) if isinstance(a, SavedTensor) else a for a in self._args]
        random = get_rng_state()
        set_rng_state(self._random)
        hooks = modes.saved_hooks
        modes.saved_hooks = (*hooks, (collect, lambda position: kept[position]))
        try:
            with enable_grad():
                self._function(*args, **self._kwargs)
        except _StopRecomputation:
            pass
        finally:
            modes.saved_hooks = hooks
            set_rng_state(random)
        return kept


def _without_reentrance(function: Callable[..., Unchecked], args: Unchecked, kwargs: Unchecked) -> Unchecked:
    if not modes.grad:
        return function(*args, **kwargs)
    frame = _Frame(function, args, kwargs)
    before = modes.saved_hooks
    hooks: SavedHooks = (frame.pack, frame.unpack)
    modes.saved_hooks = (*before, hooks)
    try:
        return function(*args, **kwargs)
    finally:
        modes.saved_hooks = before


class CheckpointFunction(Function):
    """The reentrant form: forward without recording, a backward inside backward."""

    @staticmethod
    def forward(ctx: Unchecked, function: Callable[..., Unchecked], *args: Unchecked) -> Unchecked:
        """Run the function; recording is off, as in every custom function."""
        ctx.run_function = function
        ctx.arguments = args
        ctx.save_for_backward(*[a if isinstance(a, TensorState) else None for a in args])
        return function(*args)

    @staticmethod
    def backward(ctx: Unchecked, *grads: Unchecked) -> Unchecked:
        """Run the function again, recording, and differentiate that.

        Raises:
            RuntimeError: the pass was asked for some inputs only, or nothing is tracked.
        """
        if modes.targeted:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        saved = ctx.saved_tensors
        detached = []
        for given, kept in zip(ctx.arguments, saved, strict=True):
            if kept is None:
                detached.append(given)
                continue
            fresh = kept.detach()
            fresh._flag = kept.requires_grad
            detached.append(fresh)
        with enable_grad():
            outputs = ctx.run_function(*detached)
        if isinstance(outputs, TensorState):
            outputs = (outputs,)
        pairs = [
            (out, grad)
            for out, grad in zip(outputs, grads, strict=False)
            if isinstance(out, TensorState) and out.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([out for out, _ in pairs], [grad for _, grad in pairs])
        return (None, *[d._grad if isinstance(d, TensorState) else None for d in detached])


def checkpoint(
    function: Callable[..., Unchecked],
    *args: Unchecked,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
    **kwargs: Unchecked,
) -> Unchecked:
    """Call a function without keeping what it computes for backward.

    Left out, ``use_reentrant`` warns and counts as True (torch 2.13).

    Raises:
        ValueError: the reentrant form is given keyword arguments.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True.",
            UserWarning,
            stacklevel=2,
        )
        use_reentrant = True
    if not use_reentrant:
        return _without_reentrance(function, args, kwargs)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    if modes.grad and not any(isinstance(a, TensorState) and a.requires_grad for a in args):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None",
            UserWarning,
            stacklevel=2,
        )
    return CheckpointFunction.apply(function, *args)


def checkpoint_sequential(
    functions: Unchecked,
    segments: int,
    input: Unchecked,
    use_reentrant: bool | None = None,
    **kwargs: Unchecked,
) -> Unchecked:
    """Run modules in a row, checkpointing all segments but the last."""
    steps = list(functions)
    length = max(len(steps) // segments, 1)

    def segment(first: int, last: int) -> Callable[[Unchecked], Unchecked]:
        def run(value: Unchecked) -> Unchecked:
            for step in steps[first:last]:
                value = step(value)
            return value

        return run

    start = 0
    for _ in range(segments - 1):
        input = checkpoint(segment(start, start + length), input, use_reentrant=use_reentrant)
        start += length
    return segment(start, len(steps))(input)
