"""Running a root: a file's top level, or one function alone with unknown arguments."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from gradguard.infer.sites import Root, Site
from gradguard.ir import nodes as ir
from gradguard.replay.classes import instance_of
from gradguard.replay.concurrency import run_coroutine
from gradguard.replay.functions import unknown_arguments
from gradguard.replay.limits import SHORT, Stopped
from gradguard.replay.scopes import ModuleScope, module_scope
from gradguard.replay.session import Session
from gradguard.replay.trace import Trace
from gradguard.replay.value import Value
from gradguard.replay.wild import Wild

LONG_CHUNK = 300


def run_root(session: Session, root: Root, sites: Iterable[Site] = ()) -> None:
    """Run a root; `session.trace` tells what was seen. `sites` are the places that the run is about."""
    trace = session.trace
    session.backend.torch.manual_seed(0)
    with warnings.catch_warnings(), np_silence(), session.backend.thread():
        warnings.simplefilter("ignore")
        with ending(trace):
            trace.returned = consumed(session, _run(session, root, tuple(sites)))
            for lazy in session.lazies:
                consumed(session, lazy)
        trace.modes = session.backend.modes()
        session.close()


@contextmanager
def ending(trace: Trace) -> Iterator[None]:
    """Note in the trace how a run ends that does not come to its own end."""
    try:
        yield
    except Stopped as stopped:
        trace.stopped = stopped.reason
    except (RecursionError, MemoryError):
        trace.stopped = "the replay nests too deeply"
    except Exception as error:
        trace.error = error


def np_silence() -> AbstractContextManager[object]:
    """A scope in which numpy does not tell of overflows."""
    import numpy

    return numpy.errstate(all="ignore")


def _run(session: Session, root: Root, sites: tuple[Site, ...]) -> Value:
    scope = module_scope(session, root.module)
    if root.kind == "module":
        return run_top_level(scope)
    if root.kind == "handed":
        return _run_handed(session, root, sites)
    if any(_at_top_level(session, site) for site in sites):
        run_top_level(scope)
    if root.class_at >= 0:
        return _run_member(session, scope, root)
    return _run_function(session, scope, root)


def run_top_level(scope: ModuleScope) -> None:
    """Execute a file's top-level statements in order, as `__main__`."""
    scope.values["__name__"] = "__main__"
    for chunk in scope.session.program.modules[scope.key].chunks:
        if chunk.kind in ("function", "class") and chunk.index in scope.ran:
            continue
        if chunk.kind in ("function", "class"):
            # Bound when asked for; one whose name is taken must not be bound by a later lookup.
            if any(name in scope.values for name in chunk.binds):
                scope.run_chunk(chunk.index)
            continue
        if chunk.last_row - chunk.first_row <= LONG_CHUNK:
            scope.run_chunk(chunk.index)


def _at_top_level(session: Session, site: Site) -> bool:
    """Whether a place lies in a top-level statement that is neither a function nor a class."""
    lowered = session.program.modules.get(site.module)
    index = site.at // ir.CHUNK
    return lowered is not None and 0 <= index < len(lowered.chunks) and lowered.chunks[index].kind == "other"


def _run_function(session: Session, scope: ModuleScope, root: Root) -> Value:
    index = root.function_at // ir.CHUNK
    names = session.program.modules[root.module].chunks[index].binds
    value = scope.read(names[-1]) if names else None
    function = _own(session, root.function_at)
    if function is None:
        with session.backend.thread():
            scope.run_chunk(index)
        function = _own(session, root.function_at)
        value = scope.read(names[-1]) if names else value
    if function is None:
        raise Stopped("the function was not found")
    found, made = function
    target = value if callable(value) and not isinstance(value, Wild | type) else made
    return target(**unknown_arguments(scope.frame(), found, 0))


def _own(session: Session, at: int) -> tuple[ir.Function, Value] | None:
    """The function with a handle, and the Python function made of it."""
    for value in session.kept:
        function = session.functions.get(id(value))
        if function is not None and function.at == at:
            return function, value
    return None


def _run_member(session: Session, scope: ModuleScope, root: Root) -> Value:
    site = Site(root.module, root.class_at)
    if site not in session.classes:
        index = root.class_at // ir.CHUNK
        names = session.program.modules[root.module].chunks[index].binds
        if names:
            scope.read(names[-1])
        if site not in session.classes:
            with session.backend.thread():
                scope.run_chunk(index)
    klass = session.classes.get(site)
    if klass is None:
        raise Stopped("the class was not found")
    if root.kind == "init":
        return klass()
    with session.backend.thread():
        instance = instance_of(session, klass)
    found = _own(session, root.function_at)
    if found is None:
        raise Stopped("the method was not found")
    function, made = found
    held = vars(klass).get(function.name)
    skip = 0 if isinstance(held, staticmethod) else 1
    arguments = unknown_arguments(scope.frame(), function, skip)
    hook = _in_trainers_mode(session, klass, function.name)
    bound = getattr(instance, function.name) if held is not None else None
    if not callable(bound) or isinstance(held, property):
        return bound if isinstance(held, property) else made(instance, **arguments)
    if hook:
        with session.backend.torch.no_grad():
            return bound(**arguments)
    return bound(**arguments)


def _in_trainers_mode(session: Session, klass: type, name: str) -> bool:
    """Whether a trainer calls this hook with recording off."""
    facts = session.facts
    bases = {base.__name__ for base in klass.__mro__} | set(getattr(klass, "_gradguard_bases", ()))
    return facts.has("hooks.off", name) and bool(bases & set(facts.lists["hooks.trainer_bases"]))


def _run_handed(session: Session, root: Root, sites: tuple[Site, ...]) -> Value:
    """Run the outer root, then the function that it handed over."""
    if root.within is not None:
        try:
            consumed(session, _run(session, root.within, sites))
        except Exception as error:
            session.trace.error = error
    for value in session.handed:
        target = getattr(value, "__func__", value)
        function = session.functions.get(id(target))
        if function is not None and function.at == root.function_at:
            break
    else:
        found = _own(session, root.function_at)
        if found is None:
            raise Stopped("the function that is handed over was never made")
        function, value = found
    session.trace.error = None
    skip = 1 if hasattr(value, "__self__") else 0
    with session.backend.thread():
        frame = module_scope(session, root.module).frame()
        return consumed(session, value(**unknown_arguments(frame, function, skip)))


def consumed(session: Session, value: Value) -> Value:
    """What a root gave, with a generator gone through and a coroutine awaited."""
    if isinstance(value, Wild) or session.backend.is_tensor(value):
        return value
    if hasattr(value, "__aiter__"):
        return run_coroutine(session, _Draining(value))
    if hasattr(value, "__await__"):
        return run_coroutine(session, value)
    if hasattr(value, "__next__"):
        items = []
        for number, item in enumerate(value):
            items.append(item)
            if number >= SHORT:
                break
        return items
    return value


class _Draining:
    """Awaits every element of an asynchronous iterator."""

    def __init__(self, source: Value) -> None:
        self._source = source

    def __await__(self) -> Value:
        items: list[Value] = []
        iterator = self._source.__aiter__()
        while len(items) < SHORT:
            try:
                items.append((yield from iterator.__anext__().__await__()))
            except StopAsyncIteration:
                break
        return items
