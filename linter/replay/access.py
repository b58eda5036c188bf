"""Attributes and items of what is there, within what a replay may touch."""

from __future__ import annotations

from contextlib import suppress
from types import ModuleType

from gradguard.replay import paddle
from gradguard.replay.fences import is_out_of_reach, tame
from gradguard.replay.messages import is_gradient_error
from gradguard.replay.mixtures import surrogate
from gradguard.replay.outside import Namespace
from gradguard.replay.session import Session
from gradguard.replay.value import Value
from gradguard.replay.wild import Wild, unknown

_PLAIN = (str, bytes, int, float, complex, bool, list, dict, tuple, set, frozenset, type(None), range, slice)


def read_attribute(session: Session, base: Value, name: str) -> Value:
    """`base.name`."""
    if isinstance(base, Wild):
        return base.read(name)
    if is_out_of_reach(session, base, name):
        return Wild(session, name)
    if isinstance(base, Namespace):
        return base.read(name)
    from gradguard.replay.scopes import ABSENT, ModuleScope

    if isinstance(base, ModuleScope):
        from gradguard.replay.imports import module_attribute

        value = module_attribute(base, name)
        return Wild(session, name) if value is ABSENT else value
    if isinstance(base, ModuleType):
        return Wild(session, name)
    own = paddle.read(session, base, name)
    return tame(session, _host_attribute(session, base, name) if own is None else own[0])


def _host_attribute(session: Session, base: Value, name: str) -> Value:
    try:
        return getattr(base, name)
    except AttributeError as error:
        if session.backend.is_tensor(base):
            return _missing_method(session, base, name)
        if isinstance(base, _PLAIN) and not isinstance(base, str | int):
            raise
        if _is_open(session, base) or isinstance(base, str | int):
            return Wild(session, name)
        if type(base).__module__ == "__main__" and not session.trace.exact:
            # What the class lacks may come from whoever uses it.
            return _supplied(session, base, name)
        if isinstance(error, NotImplementedError):
            return Wild(session, name)
        raise


def _supplied(session: Session, base: Value, name: str) -> Value:
    made = unknown(session, name)
    with suppress(AttributeError, TypeError):
        object.__setattr__(base, name, made)
    return made


def _missing_method(session: Session, base: Value, name: str) -> Value:
    def method(*args: Value, **kwargs: Value) -> Value:
        return surrogate(session, name, (base, *args), kwargs)

    method.__self__ = base  # type: ignore[attr-defined]
    if session.facts.has("cuts.plain_attributes", name):
        return Wild(session, name, "number")
    return method


def _is_open(session: Session, base: Value) -> bool:
    """Whether an object may have attributes that the replay does not know of."""
    kind = base if isinstance(base, type) else type(base)
    if getattr(kind, "_gradguard_open", False):
        return True
    own = kind.__module__.startswith(("gradguard.runtime", "torch"))
    return own or (
        issubclass(kind, session.backend.torch.nn.Module)
        and hasattr(session.backend.torch.nn.Module, "forward")
        and not callable(getattr(kind, "forward", None))
    )


def write_attribute(session: Session, base: Value, name: str, value: Value) -> None:
    """`base.name = value`."""
    from gradguard.replay.scopes import ModuleScope

    if isinstance(base, Wild):
        _write_unknown(session, base, name, value)
    elif isinstance(base, ModuleScope):
        base.values[name] = value
    elif isinstance(base, Namespace | ModuleType) or is_out_of_reach(session, base, name):
        return
    elif session.backend.is_tensor(base):
        _write_to_tensor(session, base, *paddle.written(session, base, name, value))
    else:
        session.name(value, f"{_called(session, base)}{name}")
        try:
            setattr(base, name, value)
        except (TypeError, AttributeError) as error:
            if isinstance(base, type) and base.__module__ != "__main__":
                return
            if isinstance(value, Wild) and isinstance(error, TypeError):
                return
            raise


def _called(session: Session, base: Value) -> str:
    return "self." if hasattr(base, "__dict__") else ""


def _write_unknown(session: Session, base: Wild, name: str, value: Value) -> None:
    if base.source is not None and hasattr(type(base.source), name):
        _write_to_tensor(session, base.source, name, value)
    elif name == "requires_grad" and (base.role == "data" or value is True):
        _write_to_tensor(session, base.tensor(), name, value)
    else:
        base.entries[name] = value


def _write_to_tensor(session: Session, base: Value, name: str, value: Value) -> None:
    if isinstance(value, Wild):
        value = bool(value) if name == "requires_grad" else value.tensor()
    try:
        setattr(base, name, value)
    except Exception as error:
        if is_gradient_error(error) or name not in ("grad", "data"):
            raise
        session.invent()
        if name == "grad" and session.backend.is_tensor(value):
            base.grad = session.backend.torch.ones_like(base) * value.detach().mean()


def read_item(session: Session, base: Value, index: Value) -> Value:
    """`base[index]`."""
    if isinstance(base, Wild):
        if base.source is not None and isinstance(index, slice | type(...)):
            return base.source[index]
        return base[index]
    if session.backend.is_tensor(base):
        return _tensor_item(session, base, index)
    if isinstance(base, type | Namespace) or not hasattr(type(base), "__getitem__"):
        if isinstance(base, _PLAIN):
            return base[index]  # type: ignore[index]
        return base
    if isinstance(index, Wild):
        return _unknown_item(session, base, index)
    if isinstance(base, dict) and session.backend.is_tensor(index) and index not in base:
        # An optimizer's state of a parameter begins as an empty dict.
        base[index] = {}
    return base[index]


def _unknown_item(session: Session, base: Value, index: Wild) -> Value:
    try:
        if isinstance(base, dict):
            return base[index] if index in base else next(iter(base.values()))
        return base[min(int(index), len(base) - 1)]
    except (StopIteration, IndexError, KeyError, TypeError):
        return Wild(session, "item")


def _tensor_item(session: Session, base: Value, index: Value) -> Value:
    try:
        return base[_index(session, index)]
    except Exception as error:
        if is_gradient_error(error):
            raise
        session.invent()
        return (
            base.view(base.shape)
            if isinstance(index, int | slice)
            else surrogate(session, "clone", (base,), {})
        )


def _index(session: Session, index: Value) -> Value:
    if isinstance(index, tuple):
        return tuple(_index(session, one) for one in index)
    if isinstance(index, Wild):
        return index.source if index.source is not None and not index.source.is_floating_point() else 0
    return index


def write_item(session: Session, base: Value, index: Value, value: Value) -> None:
    """`base[index] = value`."""
    if isinstance(base, Wild):
        if base.source is not None and not isinstance(index, str):
            write_item(session, base.source, index, value)
        else:
            base[index] = value
        return
    if not session.backend.is_tensor(base):
        if isinstance(base, session.backend.torch.nn.Module) and not hasattr(type(base), "__setitem__"):
            setattr(base, str(index), value)
            return
        base[index] = value
        return
    if isinstance(value, Wild):
        value = value.tensor()
    try:
        base[_index(session, index)] = value
    except Exception as error:
        if is_gradient_error(error):
            raise
        surrogate(session, "copy_", (base, value), {})
