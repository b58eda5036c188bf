"""Attributes and items of what is there, within what a replay may touch."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from gradguard.replay.messages import is_gradient_error
from gradguard.replay.mixtures import surrogate
from gradguard.replay.outside import Namespace
from gradguard.replay.session import Session
from gradguard.replay.wild import Wild

# Names with underscores that programs use; none of them leads out of the replay.
_SPECIAL = frozenset(
    "__init__ __call__ __enter__ __exit__ __name__ __class__ __doc__ __qualname__ __wrapped__ __len__ __iter__ __next__ "
    "__getitem__ __setitem__ __contains__ __setattr__ __getattr__ __aenter__ __aexit__ __aiter__ __anext__ __await__ "
    "__eq__ __add__ __mul__ __sub__ __neg__ __hash__ __repr__ __str__ __new__ __setstate__ __getstate__ __delattr__ "
    "__post_init__ __file__ __version__ __all__ __radd__ __rmul__ __float__ __int__ __bool__ __del__ __copy__ "
    "__deepcopy__ __dict__".split()
)
_PLAIN = (str, bytes, int, float, complex, bool, list, dict, tuple, set, frozenset, type(None), range, slice)


def read_attribute(session: Session, base: Any, name: str) -> Any:  # noqa: ANN401
    """`base.name`."""
    if name.startswith("__") and name not in _SPECIAL:
        return Wild(session, name)
    if isinstance(base, Wild):
        return base.read(name)
    if isinstance(base, Namespace):
        return base.read(name)
    from gradguard.replay.scopes import ABSENT, ModuleScope

    if isinstance(base, ModuleScope):
        from gradguard.replay.imports import module_attribute

        value = module_attribute(base, name)
        return Wild(session, name) if value is ABSENT else value
    if isinstance(base, ModuleType):
        return Wild(session, name)
    if name == "__dict__":
        return Wild(session, name)
    return _host_attribute(session, base, name)


def _host_attribute(session: Session, base: Any, name: str) -> Any:  # noqa: ANN401
    try:
        return getattr(base, name)
    except AttributeError as error:
        if session.backend.is_tensor(base):
            return _missing_method(session, base, name)
        if isinstance(base, _PLAIN) and not isinstance(base, str | int):
            raise
        if _is_open(session, base) or isinstance(base, str | int):
            return Wild(session, name)
        if isinstance(error, NotImplementedError):
            return Wild(session, name)
        raise


def _missing_method(session: Session, base: Any, name: str) -> Any:  # noqa: ANN401
    def method(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        return surrogate(session, name, (base, *args), kwargs)

    method.__self__ = base  # type: ignore[attr-defined]
    if session.facts.has("cuts.plain_attributes", name):
        return Wild(session, name, "number")
    return method


def _is_open(session: Session, base: Any) -> bool:  # noqa: ANN401
    """Whether an object may have attributes that the replay does not know of."""
    kind = base if isinstance(base, type) else type(base)
    if getattr(kind, "_gradguard_open", False):
        return True
    own = kind.__module__.startswith(("gradguard.runtime", "torch"))
    return own or issubclass(kind, session.backend.torch.nn.Module) and hasattr(
        session.backend.torch.nn.Module, "forward"
    ) and not callable(getattr(kind, "forward", None))


def write_attribute(session: Session, base: Any, name: str, value: Any) -> None:  # noqa: ANN401
    """`base.name = value`."""
    from gradguard.replay.scopes import ModuleScope

    if isinstance(base, Wild):
        _write_unknown(session, base, name, value)
    elif isinstance(base, ModuleScope):
        base.values[name] = value
    elif isinstance(base, Namespace | ModuleType) or (name.startswith("__") and name not in _SPECIAL):
        return
    elif session.backend.is_tensor(base):
        _write_to_tensor(session, base, name, value)
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


def _called(session: Session, base: Any) -> str:  # noqa: ANN401
    return "self." if hasattr(base, "__dict__") else ""


def _write_unknown(session: Session, base: Wild, name: str, value: Any) -> None:  # noqa: ANN401
    if base.source is not None and hasattr(type(base.source), name):
        _write_to_tensor(session, base.source, name, value)
    elif name == "requires_grad" and (base.role == "data" or value is True):
        _write_to_tensor(session, base.tensor(), name, value)
    else:
        base.entries[name] = value


def _write_to_tensor(session: Session, base: Any, name: str, value: Any) -> None:  # noqa: ANN401
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


def read_item(session: Session, base: Any, index: Any) -> Any:  # noqa: ANN401
    """`base[index]`."""
    if isinstance(base, Wild):
        if base.source is not None and isinstance(index, slice | type(...)):
            return base.source[index]
        return base[index]
    if session.backend.is_tensor(base):
        return _tensor_item(session, base, index)
    if isinstance(base, type) or isinstance(base, Namespace) or not hasattr(type(base), "__getitem__"):
        if isinstance(base, _PLAIN):
            return base[index]  # type: ignore[index]
        return base
    if isinstance(index, Wild):
        return _unknown_item(session, base, index)
    if isinstance(base, dict) and session.backend.is_tensor(index) and index not in base:
        # An optimizer's state of a parameter begins as an empty dict.
        base[index] = {}
    return base[index]


def _unknown_item(session: Session, base: Any, index: Wild) -> Any:  # noqa: ANN401
    try:
        if isinstance(base, dict):
            return base[index] if index in base.keys() else next(iter(base.values()))
        return base[min(int(index), len(base) - 1)]
    except (StopIteration, IndexError, KeyError, TypeError):
        return Wild(session, "item")


def _tensor_item(session: Session, base: Any, index: Any) -> Any:  # noqa: ANN401
    try:
        return base[_index(session, index)]
    except Exception as error:
        if is_gradient_error(error):
            raise
        session.invent()
        return base.view(base.shape) if isinstance(index, int | slice) else surrogate(session, "clone", (base,), {})


def _index(session: Session, index: Any) -> Any:  # noqa: ANN401
    if isinstance(index, tuple):
        return tuple(_index(session, one) for one in index)
    if isinstance(index, Wild):
        return index.source if index.source is not None and not index.source.is_floating_point() else 0
    return index


def write_item(session: Session, base: Any, index: Any, value: Any) -> None:  # noqa: ANN401
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
