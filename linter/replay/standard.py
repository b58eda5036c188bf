"""What programs use of the standard library: pure parts as they are, the rest stands still."""

from __future__ import annotations

import abc
import collections
import contextlib
import copy
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from types import ModuleType

from gradguard.replay.limits import LONGEST
from gradguard.replay.session import Session
from gradguard.replay.value import Value, words
from gradguard.replay.wild import Wild

_PURE: dict[str, tuple[ModuleType, frozenset[str]]] = {
    "math": (
        math,
        frozenset(name for name in dir(math) if name not in ("factorial", "comb", "perm", "prod")),
    ),
    "functools": (
        functools,
        words("partial wraps lru_cache cache reduce update_wrapper cached_property"),
    ),
    "contextlib": (
        contextlib,
        words("contextmanager asynccontextmanager nullcontext ExitStack AsyncExitStack suppress closing"),
    ),
    "collections": (
        collections,
        words("OrderedDict defaultdict deque Counter ChainMap namedtuple"),
    ),
    "itertools": (
        itertools,
        words("chain islice zip_longest starmap takewhile dropwhile groupby pairwise"),
    ),
    "operator": (operator, words("add sub mul truediv itemgetter neg eq ne lt le gt ge")),
    "abc": (abc, words("ABC abstractmethod")),
}
_PASSING = words("tqdm.tqdm tqdm.auto.tqdm tqdm.notebook.tqdm typing.cast tqdm.auto.tqdm rich.progress.track")
_STILL = words("warnings logging gc sys time signal atexit traceback pprint faulthandler tempfile shutil")


def standard(session: Session, path: str) -> Value:
    """What a name of the standard library stands for in a replay; None where that is unknown."""
    from gradguard.replay.concurrency import concurrent
    from gradguard.replay.outside import Namespace

    root, _, name = path.partition(".")
    if root in _PURE:
        module, names = _PURE[root]
        if not name:
            return Namespace(session, path)
        if name in names:
            return _pure(session, path, getattr(module, name))
    if root in ("asyncio", "threading", "concurrent", "multiprocessing"):
        return concurrent(session, path)
    if path in _PASSING:
        return lambda *args, **kwargs: (
            args[-1 if path.endswith("cast") else 0] if args else Wild(session, name)
        )
    if path in ("copy.copy", "copy.deepcopy"):
        return lambda value, *more: _copied(session, value, path == "copy.deepcopy")
    if path in ("dataclasses.dataclass", "dataclasses.field"):
        return _data_class(session) if path.endswith("dataclass") else _field(session)
    if path == "itertools.cycle":
        return lambda source: list(itertools.islice(source, 4)) * 2
    if path == "itertools.product":
        return lambda *sources, repeat=1: list(
            itertools.islice(itertools.product(*sources, repeat=min(repeat, 3)), 16)
        )
    if root in _STILL:
        return Namespace(session, path) if not name else _still(session, name)
    if root in ("typing", "typing_extensions", "enum", "collections.abc") and name:
        return Wild(session, name) if name != "TYPE_CHECKING" else False
    return None


def _pure(session: Session, path: str, function: Value) -> Value:
    """A function as it is, whose result is unknown where an argument is."""
    if not path.startswith(("math.", "operator.", "functools.reduce")):
        return function

    def call(*args: Value, **kwargs: Value) -> Value:
        if any(isinstance(one, Wild) for one in args):
            return Wild(session, path, "number")
        return function(*args, **kwargs)

    return call if callable(function) else function


def _copied(session: Session, value: Value, deep: bool) -> Value:
    if isinstance(value, Wild):
        made = Wild(session, value.hint, value.role, value.source)
        made.entries = dict(value.entries)
        return made
    return copy.deepcopy(value) if deep else copy.copy(value)


def _data_class(session: Session) -> Callable[..., Value]:
    from gradguard.replay.classes import as_data_class

    return lambda klass=None, **kwargs: as_data_class(session, klass)


def _field(session: Session) -> Callable[..., Value]:
    def field(**kwargs: Value) -> Value:
        if "default" in kwargs:
            return kwargs["default"]
        made = kwargs.get("default_factory")
        return made() if callable(made) else Wild(session, "field")

    return field


def _still(session: Session, name: str) -> Value:
    """A function that does nothing here; clocks stand at nought."""
    if name in ("time", "perf_counter", "monotonic", "process_time"):
        return lambda *args, **kwargs: 0.0
    return lambda *args, **kwargs: Wild(session, name)


def drawn(session: Session, source: Value) -> Iterator[Value]:
    """What a built-in function draws from an iterable, a step each; raises Stopped when there is no end."""
    from gradguard.replay.limits import Stopped

    if isinstance(source, range) and len(source) > LONGEST:
        source = source[:LONGEST]
    for number, item in enumerate(source):
        if number >= LONGEST:
            raise Stopped("an iterable has no end")
        yield item


def drawn_all(session: Session, sources: Iterable[Value]) -> list[Value]:
    """`drawn` for every iterable."""
    return [drawn(session, source) for source in sources]
