"""Python's built-in names, as far as they neither reach out nor run on without end."""

from __future__ import annotations

import builtins as python
import itertools
from collections.abc import Callable

from gradguard.replay.access import read_attribute, write_attribute
from gradguard.replay.limits import SHORT
from gradguard.replay.scopes import ABSENT
from gradguard.replay.session import Session
from gradguard.replay.standard import drawn
from gradguard.replay.value import Value, words
from gradguard.replay.wild import Wild

_AS_THEY_ARE = words(
    "True False None NotImplemented Ellipsis object type property staticmethod classmethod super range "
    "slice repr hash id callable divmod ord chr hex bin complex str bool ascii int float "
    "list tuple set frozenset dict"
)
_DRAWING = words("sorted reversed enumerate zip any all map filter iter")


def builtin(session: Session, name: str) -> Value:
    """The built-in under a name, ABSENT where there is none."""
    key = f"builtins.{name}"
    if key not in session.surrogates:
        session.surrogates[key] = _builtin(session, name)
    return session.surrogates[key]


def _builtin(session: Session, name: str) -> Value:
    if name in _AS_THEY_ARE:
        return getattr(python, name)
    value = getattr(python, name, ABSENT)
    if isinstance(value, type) and issubclass(value, BaseException):
        return value
    if name in _DRAWING:
        return _drawing(session, name, value)
    made = _OWN.get(name)
    if made is not None:
        return lambda *args, **kwargs: made(session, *args, **kwargs)
    return ABSENT if value is ABSENT else Wild(session, name)


def _drawing(session: Session, name: str, function: Value) -> Callable[..., Value]:
    def call(*args: Value, **kwargs: Value) -> Value:
        if name in ("map", "filter"):
            return _lazily(
                session,
                function(_host_callable(session, args[0]), *[drawn(session, one) for one in args[1:]]),
            )
        if name == "iter" and len(args) > 1:
            return itertools.islice(function(*args), SHORT)
        if name in ("reversed", "iter", "enumerate"):
            return function(*args, **kwargs)
        if name == "sorted":
            return _sorted(session, args[0], **kwargs)
        return function(*[drawn(session, one) for one in args], **kwargs)

    return call


def _host_callable(session: Session, function: Value) -> Value:
    """A callable for Python's own functions, which calls by the replay's rules."""
    if function is None or isinstance(function, Wild):
        return function
    from gradguard.replay.invoke import apply

    return lambda *args: apply(session, function, list(args), {})


def _lazily(session: Session, source: Value) -> Value:
    """Note in which modes a lazy iterator is made, and in which its elements are computed."""
    made = session.backend.modes()
    notes = session.trace.facts.setdefault("lazy", [])

    def elements() -> Value:
        while True:
            modes = session.backend.modes()
            try:
                item = next(source)
            except StopIteration:
                return
            notes.append((made, modes))
            yield item

    lazy = elements()
    session.lazies.append(lazy)
    return lazy


def _sorted(session: Session, source: Value, key: Value = None, reverse: bool = False) -> list[Value]:
    items = list(drawn(session, source))
    try:
        return sorted(items, key=key, reverse=bool(reverse))
    except (TypeError, RuntimeError, ValueError):
        return items


def _print(session: Session, *args: Value, **kwargs: Value) -> None:
    return None


def _len(session: Session, value: Value) -> Value:
    if session.backend.is_tensor(value) and not value.dim():
        return 1
    return len(value)


def _sum(session: Session, source: Value, start: Value = 0) -> Value:
    from gradguard.replay.operators import binary

    total = start
    for item in drawn(session, source):
        total = binary(session, "+", total, item)
    return total


def _extreme(name: str) -> Callable[..., Value]:
    def call(session: Session, *args: Value, key: Value = None, default: Value = ABSENT) -> Value:
        items = list(drawn(session, args[0])) if len(args) == 1 else list(args)
        if not items and default is not ABSENT:
            return default
        try:
            return getattr(python, name)(items, key=key)
        except (TypeError, RuntimeError):
            return items[0]

    return call


def call_type(session: Session, kind: type, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`int(...)`, `list(...)` and their like."""
    if not args or kwargs or kind in (dict, str):
        return (
            kind(*args, **kwargs) if not any(isinstance(one, Wild) for one in args) else Wild(session, "made")
        )
    value = args[0]
    if kind not in (int, float, bool):
        return kind(drawn(session, value))
    if isinstance(value, Wild):
        return Wild(session, "number", "number") if value.source is None else kind(1)
    try:
        return kind(*args)
    except (RuntimeError, ValueError):
        if not session.backend.is_tensor(value):
            raise
        return kind(0)


BUILT_IN_TYPES = frozenset((int, float, bool, str, list, tuple, set, frozenset, dict))


def _round(session: Session, value: Value, digits: Value = None) -> Value:
    return value if isinstance(value, Wild) else round(value, digits)


def _isinstance(session: Session, value: Value, kinds: Value) -> Value:
    known = kinds if isinstance(kinds, tuple) else (kinds,)
    if isinstance(value, Wild):
        if value.source is not None and any(one is session.backend.torch.Tensor for one in known):
            return True
        key = ("truth", "isinstance", str(known))
        return value.entries.setdefault(key, Wild(session, "truth", "truth"))
    types = tuple(one for one in known if isinstance(one, type))
    if isinstance(value, types):
        return True
    return False if len(types) == len(known) else Wild(session, "truth", "truth")


def _issubclass(session: Session, value: Value, kinds: Value) -> Value:
    try:
        return issubclass(value, kinds)
    except TypeError:
        return Wild(session, "truth", "truth")


def _hasattr(session: Session, value: Value, name: Value) -> Value:
    if isinstance(value, Wild):
        return value.entries.setdefault(("truth", "has", str(name)), Wild(session, "truth", "truth"))
    return not str(name).startswith("__") and hasattr(value, str(name))


def _getattr(session: Session, value: Value, name: Value, default: Value = ABSENT) -> Value:
    if not isinstance(name, str):
        return Wild(session, "attribute")
    try:
        return read_attribute(session, value, name)
    except AttributeError:
        if default is ABSENT:
            raise
        return default


def _setattr(session: Session, value: Value, name: Value, new: Value) -> None:
    if isinstance(name, str):
        write_attribute(session, value, name, new)


def _delattr(session: Session, value: Value, name: Value) -> None:
    if isinstance(name, str) and not name.startswith("__"):
        delattr(value, name)


def _next(session: Session, source: Value, *default: Value) -> Value:
    if isinstance(source, Wild):
        return source.elements()[0]
    return next(source, *default)


def _abs(session: Session, value: Value) -> Value:
    return abs(value) if not isinstance(value, Wild) or value.source is None else abs(value.source)


def _pow(session: Session, base: Value, exponent: Value) -> Value:
    from gradguard.replay.operators import binary

    return binary(session, "**", base, exponent)


_OWN: dict[str, Callable[..., Value]] = {
    "print": _print,
    "len": _len,
    "sum": _sum,
    "max": _extreme("max"),
    "min": _extreme("min"),
    "round": _round,
    "isinstance": _isinstance,
    "issubclass": _issubclass,
    "hasattr": _hasattr,
    "getattr": _getattr,
    "setattr": _setattr,
    "delattr": _delattr,
    "next": _next,
    "abs": _abs,
    "pow": _pow,
    "vars": lambda session, *args: {},
    "format": lambda session, *args: "",
}
