"""What a replayed program must not reach: files, frames, other modules, much memory."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    GeneratorType,
    ModuleType,
    TracebackType,
)

from gradguard.replay.limits import LONGEST, Stopped
from gradguard.replay.session import Session
from gradguard.replay.value import Value, words
from gradguard.replay.wild import Wild

_RUNNING = (GeneratorType, CoroutineType, AsyncGeneratorType, FrameType, TracebackType, CodeType)
_DRIVING = words("send throw close asend athrow aclose __next__ __iter__ __await__ __anext__ __aiter__")
# Names with underscores that programs use; none of them leads out of the replay.
_SPECIAL = words(
    "__init__ __call__ __enter__ __exit__ __name__ __class__ __doc__ __qualname__ __wrapped__ __len__ "
    "__iter__ __next__ __getitem__ __setitem__ __contains__ __setattr__ __getattr__ __aenter__ "
    "__aexit__ __aiter__ __anext__ __await__ __eq__ __hash__ __repr__ __str__ __new__ __delattr__ "
    "__post_init__ __file__ __version__ __all__ __float__ __int__ __bool__ __cause__ __context__"
)
_OWN_STATE = words("_version _parameters _modules _buffers _grad _grad_fn _base _is_view _backward_hooks")
_BIGGEST_TENSOR = 200_000
_BIGGEST_PRODUCT = 50_000_000
_LONGEST_NUMBER = 4096
_WRITING = words(
    "load save from_file hub frombuffer compile export set_default_dtype set_default_device "
    "set_num_threads set_num_interop_threads set_printoptions set_float32_matmul_precision "
    "use_deterministic_algorithms set_detect_anomaly set_flush_denormal set_default_tensor_type "
    "set_warn_always detect_anomaly"
)
_OPEN_PARTS = words(
    "torch torch.nn torch.nn.functional torch.nn.init torch.nn.utils torch.nn.parameter "
    "torch.nn.modules torch.optim torch.autograd torch.autograd.functional torch.autograd.function "
    "torch.autograd.grad_mode torch.autograd.variable torch.autograd.graph torch.func torch.utils "
    "torch.utils.checkpoint torch.linalg torch.fft torch.special torch.distributions torch.Tensor "
    "torch.Size"
)


def is_out_of_reach(session: Session, base: Value, name: str) -> bool:
    """Whether reading an attribute would lead out of the replay."""
    if name.startswith("__"):
        return name not in _SPECIAL
    if isinstance(base, _RUNNING):
        return name not in _DRIVING
    if name.startswith("_") and name not in _OWN_STATE:
        kind = base if isinstance(base, type) else type(base)
        return not _is_the_programs(kind)
    return False


def _is_the_programs(kind: type) -> bool:
    """Whether a class is the program's own, whose private names are its business."""
    return kind.__module__ == "__main__"


def is_open(path: str) -> bool:
    """Whether a name of the framework may be taken from the backend as it is."""
    parent, _, last = path.rpartition(".")
    return last not in _WRITING and (parent in _OPEN_PARTS or not parent)


def tame(session: Session, value: Value) -> Value:
    """A value that a program may have: arrays of numpy become numbers that nobody knows, modules unknown."""
    kind = type(value)
    if kind.__module__ == "numpy":
        return Wild(session, "number", "number")
    if isinstance(value, ModuleType):
        return Wild(session, getattr(value, "__name__", ""))
    if session.backend.is_tensor(value) and value.numel() > _BIGGEST_TENSOR:
        raise Stopped("a tensor grows too large")
    return value


def are_too_large(session: Session, operands: Iterable[Value]) -> bool:
    """Whether an operation on all of these tensors could make one that is too large."""
    sizes = [one.numel() for one in operands if session.backend.is_tensor(one)]
    large = sorted((size for size in sizes if size > 1), reverse=True)[:2]
    return len(large) == 2 and prod(large) > _BIGGEST_PRODUCT


def check_operation(op: str, left: Value, right: Value) -> None:
    """Raise OverflowError for an operation on plain values that would fill the memory."""
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() * max(right if op == "**" else 1, 1) + right.bit_length()
        if (op in ("**", "*") and bits > _LONGEST_NUMBER) or (op == "<<" and right > _LONGEST_NUMBER):
            raise OverflowError("too large a number")
        return
    for many, other in ((left, right), (right, left)):
        if isinstance(many, list | tuple | str | bytes):
            times = other if isinstance(other, int) and op == "*" else 1
            more = len(other) if isinstance(other, list | tuple | str | bytes) else 0
            if len(many) * times + more > 10 * LONGEST:
                raise OverflowError("too long a sequence")


def check_call(callee: Value, args: list[Value]) -> None:
    """Raise OverflowError for a call of a built-in method that would fill the memory."""
    owner = getattr(callee, "__self__", None)
    if isinstance(owner, str | bytes | list | dict | set):
        grown = len(owner) + sum(len(one) for one in args if isinstance(one, list | tuple | str | dict | set))
        if grown > 10 * LONGEST or any(isinstance(one, int) and one > 10 * LONGEST for one in args):
            raise OverflowError("too long a sequence")
