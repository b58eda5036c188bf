"""Surrogates: what stands in for a call that nobody can run, and keeps who depends on whom."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from gradguard.replay.limits import SHORT
from gradguard.replay.session import Session
from gradguard.replay.value import Value, words
from gradguard.replay.wild import Wild, role_of, unknown

_SCALARS = ("loss", "mean", "sum", "norm", "criterion", "entropy", "divergence", "dist")
_PAIRS = words("max min sort topk kthvalue median mode cummax cummin aminmax lstm gru")
_UNWRAPPING = words("script compile jit vmap wraps remat")


def tensors_in(
    session: Session, values: Iterable[Value], made: bool = True, depth: int = 0
) -> Iterator[Value]:
    """The tensors among values and in lists and dicts there; where `made`, unknown data too."""
    for value in list(values)[: 4 * SHORT]:
        if session.backend.is_tensor(value):
            yield value
        elif isinstance(value, Wild):
            if value.source is not None:
                yield value.source
            elif made and value.role == "data":
                yield value.tensor()
        elif depth < 3 and isinstance(value, list | tuple):
            yield from tensors_in(session, value, made, depth + 1)
        elif depth < 3 and isinstance(value, dict):
            yield from tensors_in(session, value.values(), made, depth + 1)


def mixture(session: Session, tensors: Iterable[Value], scalar: bool = False, product: bool = False) -> Value:
    """A tensor made from all the floating ones in the mode that holds: their sum, or their product."""
    torch = session.backend.torch
    total = None
    first = None
    for tensor in tensors:
        if not tensor.is_floating_point() or not tensor.numel():
            continue
        part = tensor.mean()
        first = tensor if first is None else first
        total = part if total is None else total * part if product else total + part
    if total is None:
        return torch.full((), 0.5) if scalar else torch.full((2, 2), 0.5)
    return total if scalar or first is None else torch.ones_like(first) * total


def call_wild(wild: Wild, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> Value:
    """What calling something unknown gives: a mixture of what goes in and of parameters of its own."""
    session = wild.session
    facts, name = session.facts, wild.hint.rsplit(".", 1)[-1]
    operands = [*args, *kwargs.values()]
    hand_over(session, operands)
    if args and _is_function(args[0]) and (len(operands) == 1 or name in _UNWRAPPING):
        return args[0]
    if operands and facts.has("modules.passing", name):
        return args[0] if args else operands[0]
    if name in ("backward", *facts.lists["backward.takers"]) and operands:
        return _backward(session, operands[0])
    if name == "closure" and not operands:
        return _closure(wild)
    if name in ("run_until_complete", "run") and args and hasattr(args[0], "send"):
        from gradguard.replay.concurrency import run_coroutine

        return run_coroutine(session, args[0])
    if facts.has("threads.handing", name) and args and callable(args[0]) and not isinstance(args[0], Wild):
        return _handed_to_pool(wild, args)
    if facts.has("assume.accessors", name):
        return wild.child(("called", str(args[:1])), name)
    role = wild.role or role_of(session, name)
    if role == "loader":
        return Wild(session, name, "loader")
    if role == "number":
        return _number(session, name, operands)
    tensors = list(tensors_in(session, operands))
    if role == "criterion":
        tensors.extend(one.tensor() for one in operands if isinstance(one, Wild) and one.source is None)
        return mixture(session, tensors, scalar=True)
    if name[:1].isupper() and not tensors:
        return Wild(session, name)
    scalar = any(word in name.lower() for word in _SCALARS)
    weights = [] if role == "data" else wild.parameters()
    result = Wild(session, name, source=mixture(session, [*tensors, *weights], scalar))
    for hook in wild.hooks:
        hook(wild, args, result.source)
    return result


def _closure(wild: Wild) -> Value:
    """An unknown closure of an optimizer: it computes a loss and differentiates it."""
    loss = mixture(wild.session, wild.parameters(), scalar=True)
    loss.backward()
    return loss


def _handed_to_pool(wild: Wild, args: tuple[Value, ...]) -> Value:
    """Work given to an unknown pool: it runs in the modes of a new thread."""
    from gradguard.replay.concurrency import in_thread

    session = wild.session
    try:
        value = in_thread(
            session, args[0], [unknown(session, "item") if isinstance(one, Wild) else one for one in args[1:]]
        )
    except Exception:
        value = None
    return Wild(session, wild.hint, source=session.tensor_of(value))


def _backward(session: Session, loss: Value) -> None:
    """A framework's `backward(loss)`: the loss's own."""
    tensor = session.tensor_of(loss)
    if tensor is None and isinstance(loss, Wild):
        tensor = loss.tensor()
    if tensor is not None:
        backward_of(session, tensor)


def backward_of(session: Session, tensor: Value) -> Value:
    """`tensor.backward()`, of the sum where the shape is made up."""
    if tensor.numel() != 1 and tensor.requires_grad:
        return tensor.backward(session.backend.torch.ones_like(tensor))
    return tensor.backward()


def _number(session: Session, name: str, operands: list[Value]) -> Wild:
    """A call into a library that knows nothing of graphs: numbers come out."""
    return Wild(session, name, "number")


def _is_function(value: Value) -> bool:
    return callable(value) and hasattr(value, "__name__") and not isinstance(value, Wild)


def hand_over(session: Session, operands: Iterable[Value]) -> None:
    """Remember the program's own functions that something unknown was given."""
    for value in operands:
        target = getattr(value, "__func__", value)
        if id(target) in session.functions and all(value != known for known in session.handed):
            session.handed.append(value)


def surrogate(session: Session, path: str, args: tuple[Value, ...], kwargs: Mapping[str, Value]) -> Value:
    """The result of the framework's operation `path` where it cannot be run on what is there."""
    session.invent()
    facts, name = session.facts, path.rsplit(".", 1)[-1]
    torch = session.backend.torch
    tensors = list(tensors_in(session, [*args, *kwargs.values()]))
    for one in [*args, *kwargs.values()]:
        if isinstance(one, Wild) and one.source is None and one.role != "number" and not tensors:
            tensors.append(one.tensor())
    if facts.has("cuts.integers", name):
        return torch.zeros(2, dtype=torch.int64)
    if facts.has("leaves.factories", f"torch.{name}"):
        return torch.full((2, 2), 0.5).requires_grad_(kwargs.get("requires_grad") is True)
    if facts.has("tensor.views", name) and tensors:
        view = tensors[0].view(tensors[0].shape)
        return (
            Wild(session, name, source=view) if name in ("unbind", "split", "chunk", "tensor_split") else view
        )
    if name.endswith("_") and not name.endswith("__") and tensors:
        return _in_place(torch, tensors)
    if facts.has("cuts.methods", name) and tensors:
        return tensors[0].detach()
    scalar = any(word in name.lower() for word in _SCALARS) and "logsum" not in name
    mixed = mixture(session, tensors, scalar, facts.has("tensor.saving", name))
    return Wild(session, name, source=mixed) if name in _PAIRS else mixed


def _in_place(torch: Value, tensors: list[Value]) -> Value:
    """An in-place operation on the first tensor with what the others give."""
    first, others = tensors[0], [t for t in tensors[1:] if t.is_floating_point()]
    if not others or not first.is_floating_point():
        return first.mul_(1)
    return first.add_(sum(one.mean() for one in others) * 0.1)


def module_surrogate(
    session: Session, module: Value, args: tuple[Value, ...], kwargs: Mapping[str, Value]
) -> Value:
    """The result of calling one of the framework's modules where shapes do not fit."""
    session.invent()
    tensors = list(tensors_in(session, [*args, *kwargs.values()]))
    for one in [*args, *kwargs.values()]:
        if isinstance(one, Wild) and one.source is None and not tensors:
            tensors.append(one.tensor())
    weights = list(module.parameters())
    scalar = type(module).__name__.endswith("Loss")
    mixed = mixture(session, [*tensors, *weights], scalar, product=bool(weights))
    return Wild(session, type(module).__name__.lower(), source=mixed)
