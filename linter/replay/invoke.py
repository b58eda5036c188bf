"""Calls: of the program's own functions, of the framework, and of what is unknown."""

from __future__ import annotations

from collections.abc import Mapping

from gradguard.ir import nodes as ir
from gradguard.replay.builtins import BUILT_IN_TYPES, call_type
from gradguard.replay.fences import are_too_large, check_call, tame
from gradguard.replay.functions import is_marked
from gradguard.replay.limits import clipped
from gradguard.replay.messages import is_gradient_error
from gradguard.replay.mixtures import backward_of, hand_over, module_surrogate, surrogate, tensors_in
from gradguard.replay.outside import Namespace
from gradguard.replay.scopes import Frame
from gradguard.replay.session import Session
from gradguard.replay.value import Value, words
from gradguard.replay.wild import Wild

_SIZED = words("repeat new_zeros new_ones new_full new_empty repeat_interleave tile broadcast_to resize_")
_NOT_SCALAR = "only for scalar outputs"
_NUMBERS = words("dim axis dims size lr p eps keepdim num_classes k momentum weight_decay alpha retain_graph")


def invoke(
    frame: Frame, callee: Value, args: list[Value], kwargs: dict[str, Value], node: ir.Call | None
) -> Value:
    """The value of a call."""
    frame.session.tick()
    _fail_if_armed(frame, node)
    return apply(frame.session, callee, args, kwargs)


def apply(session: Session, callee: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The value of calling something."""
    if isinstance(callee, Wild | Namespace):
        return callee(*args, **kwargs)
    if isinstance(callee, type) and callee in BUILT_IN_TYPES:
        return call_type(session, callee, args, kwargs)
    target = getattr(callee, "__func__", callee)
    if id(target) in session.functions or not belongs(session, callee):
        hand_over_to_host(session, callee, args, kwargs)
        check_call(callee, args)
        return tame(session, callee(*args, **kwargs))
    return call_framework(session, callee, args, kwargs)


def hand_over_to_host(
    session: Session, callee: Value, args: list[Value], kwargs: Mapping[str, Value]
) -> None:
    """Functions that are put into a list may be called by whoever reads it."""
    name = getattr(callee, "__name__", "")
    if name in ("append", "insert", "setdefault"):
        hand_over(session, [*args, *kwargs.values()])
    elif name == "enter_context" and args:
        session.entered[id(args[0])] = args[0]


def _fail_if_armed(frame: Frame, node: ir.Call | None) -> None:
    """Raise once at the first call behind the place at which recording was switched off, where asked to."""
    session = frame.session
    site = session.policy.fails
    if site is None or node is None or frame.module.key != site.module:
        return
    if session.armed and node.at > site.at:
        session.armed = False
        raise RuntimeError("an error that the replay makes up")
    if node.at == site.at:
        session.armed = True


def belongs(session: Session, callee: Value) -> bool:
    """Whether what is called is the framework's own."""
    owner = getattr(callee, "__self__", None)
    if session.backend.is_tensor(owner):
        return True
    if isinstance(callee, session.backend.torch.nn.Module):
        return True
    module = getattr(callee, "__module__", None) or type(callee).__module__
    if isinstance(owner, type):
        module = owner.__module__
    return str(module).startswith(("torch", "gradguard.runtime"))


def call_framework(session: Session, callee: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A call into the framework; a surrogate's result where that cannot run it."""
    path = _path(callee)
    if path == "__enter__":
        owner = getattr(callee, "__self__", None)
        session.entered[id(owner)] = owner
    fitted_args, fitted_kwargs = _fitted(session, callee, path, args, kwargs)
    try:
        if are_too_large(session, fitted_args):
            raise ValueError
        return tame(session, callee(*fitted_args, **fitted_kwargs))
    except Exception as error:
        if is_marked(error) or is_gradient_error(error):
            raise
        if _NOT_SCALAR in str(error):
            return _not_scalar(session, callee, fitted_args, error)
        if isinstance(callee, type) and issubclass(callee, BaseException):
            raise
        if _is_the_programs(session, callee):
            raise
        return _substitute(session, callee, path, fitted_args, fitted_kwargs, error)


def _is_the_programs(session: Session, callee: Value) -> bool:
    """Whether an error may be the program's: all values are known, and the class is its own."""
    owner = callee if isinstance(callee, type) else type(callee)
    return session.trace.exact and owner.__module__ == "__main__"


def _path(callee: Value) -> str:
    if isinstance(callee, type):
        return callee.__name__
    return str(getattr(callee, "__name__", type(callee).__name__))


def _fitted(
    session: Session, callee: Value, path: str, args: list[Value], kwargs: dict[str, Value]
) -> tuple[list[Value], dict[str, Value]]:
    """The arguments as the framework can take them: small, and nothing unknown among them."""
    facts = session.facts
    is_factory = facts.has("leaves.factories", f"torch.{path}") and not path.endswith("_like")
    sizes = (is_factory and path != "from_numpy") or path in _SIZED or facts.has("tensor.views", path)
    makes = isinstance(callee, type) and not issubclass(callee, session.backend.torch.Tensor)
    if makes and callee.__module__ == "__main__":
        return args, kwargs
    numbers = sizes or makes
    if isinstance(callee, session.backend.torch.nn.Module):
        numbers = False
    keeps = path in (
        "Sequential",
        "ModuleList",
        "ModuleDict",
        "Parameter",
        "as_tensor",
        "tensor",
        "DataLoader",
    )

    def fit(value: Value, number: bool) -> Value:
        if isinstance(value, Wild):
            return _fit_unknown(session, value, number, path)
        if isinstance(value, list | tuple) and type(value) in (list, tuple):
            return type(value)(fit(one, number) for one in value)
        small = clipped(value) if (sizes or makes) and not keeps else value
        if small is not value:
            session.invent()
        return small

    fitted = [fit(value, numbers and not keeps) for value in args]
    named = {key: fit(value, (numbers and not keeps) or key in _NUMBERS) for key, value in kwargs.items()}
    return fitted, named


def _fit_unknown(session: Session, value: Wild, number: bool, path: str) -> Value:
    if path == "set_grad_enabled" or (path == "inference_mode" and value.source is None):
        return bool(value)
    if (
        path in ("apply", "checkpoint", "Sequential", "ModuleList")
        and value.source is None
        and value.role != "data"
    ):
        return value if path in ("apply", "checkpoint") else _as_module(session, value)
    if number and value.source is None:
        return 2
    if (
        value.role == "number"
        and value.source is None
        and path not in ("tensor", "as_tensor", "from_numpy", "stack")
    ):
        return 2 if number else value.tensor()
    return value.tensor()


def _as_module(session: Session, value: Wild) -> Value:
    """A module that calls something unknown."""
    from gradguard.replay.outside import stand_in

    return stand_in(session, value.hint or "Module")()


def _not_scalar(session: Session, callee: Value, args: list[Value], error: Exception) -> Value:
    """Backward on what is no scalar only because shapes are made up."""
    if session.trace.exact:
        raise error
    torch = session.backend.torch
    owner = getattr(callee, "__self__", None)
    if session.backend.is_tensor(owner):
        return backward_of(session, owner)
    summed = [sum(one.sum() for one in tensors_in(session, [args[0]]))]
    return callee(summed[0] if callee is not torch.autograd.grad else summed, *args[1:])


def _substitute(
    session: Session, callee: Value, path: str, args: list[Value], kwargs: dict[str, Value], error: Exception
) -> Value:
    torch = session.backend.torch
    owner = getattr(callee, "__self__", None)
    if isinstance(callee, torch.nn.Module):
        return module_surrogate(session, callee, tuple(args), kwargs)
    if isinstance(owner, torch.nn.Module) and path == "forward":
        return module_surrogate(session, owner, tuple(args), kwargs)
    if isinstance(callee, type):
        return _constructed(session, callee, args, kwargs, error)
    if path in ("backward", "grad"):
        raise error
    if session.backend.is_tensor(owner):
        return surrogate(session, path, (owner, *args), kwargs)
    if owner is not None and not isinstance(owner, type) and not hasattr(owner, "__file__"):
        return Wild(session, path)
    return surrogate(session, path, tuple(args), kwargs)


def _constructed(
    session: Session, callee: type, args: list[Value], kwargs: dict[str, Value], error: Exception
) -> Value:
    """An object of a class of the framework that refuses these arguments."""
    from gradguard.replay.outside import stand_in

    torch = session.backend.torch
    if callee.__module__ == "__main__":
        raise error
    if issubclass(callee, torch.nn.Module):
        return stand_in(session, callee.__name__)()
    if issubclass(callee, torch.optim.SGD.__mro__[-2]):
        parameters = list(tensors_in(session, [*args, *kwargs.values()]))
        if not parameters:
            parameters = [torch.nn.Parameter(torch.full((2, 2), 0.5))]
        return torch.optim.SGD([one for one in parameters if one.is_leaf] or parameters, lr=0.1)
    return surrogate(session, callee.__name__, tuple(args), kwargs)


def decorated(frame: Frame, decorator: Value, value: Value) -> Value:
    """A function or class under a decorator; an unknown decorator leaves it as it is."""
    session = frame.session
    if isinstance(decorator, Wild | Namespace):
        hand_over(session, [value])
        return value
    made = invoke(frame, decorator, [value], {}, None)
    if isinstance(made, Wild):
        return value
    target = getattr(made, "__func__", made)
    if callable(made) and id(target) not in session.functions and id(value) in session.functions:
        session.functions[id(target)] = session.functions[id(value)]
        session.kept.append(target)
    return made
