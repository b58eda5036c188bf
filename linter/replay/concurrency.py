"""Threads and tasks: a thread runs at once in the modes of a new one, tasks take turns."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from gradguard.replay.limits import SHORT, Stopped
from gradguard.replay.session import Session
from gradguard.replay.standard import drawn
from gradguard.replay.value import Value
from gradguard.replay.wild import Wild

_TURNS = 200


def concurrent(session: Session, path: str) -> Value:
    """What a name of threading, concurrent.futures, multiprocessing or asyncio stands for in a replay."""
    from gradguard.replay.outside import Namespace

    last = path.rsplit(".", 1)[-1]
    if last in ("Thread", "Timer"):
        return lambda *args, **kwargs: Thread(session, last, args, kwargs)
    if last in ("ThreadPoolExecutor", "ThreadPool") or path == "multiprocessing.dummy.Pool":
        return lambda *args, **kwargs: Pool(session)
    if path.startswith("asyncio."):
        made = _asyncio(session, last)
        return Wild(session, last) if made is None else made
    if path in ("asyncio", "threading", "concurrent", "multiprocessing") or last in (
        "futures",
        "pool",
        "dummy",
    ):
        return Namespace(session, path)
    return Wild(session, last)


def in_thread(session: Session, target: Value, args: Value = (), kwargs: Value = None) -> Value:
    """Run a function as a new thread would; where it came from is noted by `session.starts`."""
    before = session.backend.modes()
    with session.backend.thread():
        session.trace.facts.setdefault("threads", []).append((before, session.backend.modes()))
        return target(*args, **(kwargs or {}))


class Thread:
    """`threading.Thread`: its target runs when it is started."""

    def __init__(
        self, session: Session, kind: str, args: tuple[Value, ...], kwargs: dict[str, Value]
    ) -> None:
        """Take the constructor's arguments."""
        behind = 1
        self._session = session
        self._target = kwargs.get(
            "target", kwargs.get("function", args[behind] if len(args) > behind else None)
        )
        place = behind + (2 if kind == "Thread" else 1)
        self._args = kwargs.get("args", args[place] if len(args) > place else ())
        self._kwargs = kwargs.get("kwargs", {})
        self.daemon = True
        self.name = "thread"

    def start(self) -> None:
        """Run the target; its errors end the thread only."""
        if self._target is None:
            return
        args = () if isinstance(self._args, Wild) else self._args
        try:
            in_thread(
                self._session, self._target, args, self._kwargs if isinstance(self._kwargs, dict) else None
            )
        except Exception:
            return

    def join(self, timeout: Value = None) -> None:
        """Nothing is left to wait for."""

    def is_alive(self) -> bool:
        """Tell that it has ended."""
        return False

    def cancel(self) -> None:
        """Too late."""


class Future:
    """What a pool gave or will raise."""

    def __init__(self, value: Value = None, error: Exception | None = None) -> None:
        """Keep either."""
        self._value = value
        self._error = error

    def result(self, timeout: Value = None) -> Value:
        """Give the value, or raise."""
        if self._error is not None:
            raise self._error
        return self._value

    get = result


class Pool:
    """A pool of threads."""

    def __init__(self, session: Session) -> None:
        """Belong to a replay."""
        self._session = session

    def __enter__(self) -> Pool:
        """Give itself."""
        return self

    def __exit__(self, *args: object) -> None:
        """Nothing is left to wait for."""

    def submit(self, target: Value, *args: Value, **kwargs: Value) -> Future:
        """Run a function in a thread."""
        try:
            return Future(in_thread(self._session, target, args, kwargs))
        except Exception as error:
            return Future(error=error)

    def map(self, target: Value, *sources: Value, **kwargs: Value) -> Iterator[Value]:
        """Run a function in a thread for each element."""
        rows = zip(*[drawn(self._session, one) for one in sources], strict=False)
        done = [in_thread(self._session, target, row) for row in list(rows)[: 4 * SHORT]]
        return iter(done)

    imap = imap_unordered = map_async = map

    def apply_async(self, target: Value, args: Value = (), kwds: Value = None) -> Future:
        """Run a function in a thread."""
        return self.submit(target, *args, **(kwds or {}))

    def shutdown(self, *args: Value, **kwargs: Value) -> None:
        """Nothing is left to wait for."""

    close = join = terminate = shutdown


class Task:
    """A coroutine on the way."""

    def __init__(self, coroutine: Value) -> None:
        """Wait for its first turn."""
        self._steps = coroutine.__await__() if hasattr(coroutine, "__await__") else iter(())
        self.done_with = False
        self.value: Value = None
        self.error: Exception | None = None

    def turn(self) -> None:
        """Run until control is given away."""
        if self.done_with:
            return
        try:
            next(self._steps)
        except StopIteration as stop:
            self.done_with, self.value = True, stop.value
        except Exception as error:
            self.done_with, self.error = True, error

    def __await__(self) -> Generator[None, None, Value]:
        """Wait for the end."""
        while not self.done_with:
            yield None
        return self.result()

    def result(self) -> Value:
        """Give the value, or raise."""
        if self.error is not None:
            raise self.error
        return self.value

    def done(self) -> bool:
        """Whether it has ended."""
        return self.done_with

    def cancel(self) -> None:
        """Take no more turns."""
        self.done_with = True


class Gathered:
    """`asyncio.gather`."""

    def __init__(self, tasks: list[Task]) -> None:
        """Wait for all of these."""
        self._tasks = tasks

    def __await__(self) -> Generator[None, None, Value]:
        """Wait for all; the first error is raised."""
        while not all(task.done_with or task.error for task in self._tasks):
            yield None
            failed = next((task for task in self._tasks if task.error is not None), None)
            if failed is not None:
                break
        return [task.result() for task in self._tasks]


class Pause:
    """`asyncio.sleep`: one turn for everybody else."""

    def __await__(self) -> Generator[None, None, None]:
        """Give control away once."""
        yield None


def run_coroutine(session: Session, coroutine: Value) -> Value:
    """Run a coroutine and the tasks that it makes, in turns, to its end."""
    outer, session.loop = session.loop, []
    first = Task(coroutine)
    try:
        for _ in range(_TURNS):
            first.turn()
            if first.done_with:
                return first.result()
            for task in list(session.loop):
                task.turn()
        raise Stopped("a coroutine does not end")
    finally:
        session.loop = outer


def _asyncio(session: Session, name: str) -> Callable[..., Value] | None:
    def task(coroutine: Value, *args: Value, **kwargs: Value) -> Value:
        if isinstance(coroutine, Wild | Task):
            return coroutine
        made = Task(coroutine)
        if session.loop is None:
            session.loop = []
        session.loop.append(made)
        return made

    match name:
        case "run" | "run_until_complete":
            return lambda coroutine, **kwargs: run_coroutine(session, coroutine)
        case "gather":
            return lambda *coroutines, **kwargs: Gathered([task(one) for one in coroutines])
        case "create_task" | "ensure_future" | "shield":
            return task
        case "wait_for":
            return lambda coroutine, *args, **kwargs: task(coroutine)
        case "sleep":
            return lambda *args, **kwargs: Pause()
        case "to_thread":
            return lambda target, *args, **kwargs: _threaded(session, target, args, kwargs)
        case _:
            return None


class _threaded:
    """`asyncio.to_thread`."""

    def __init__(self, session: Session, target: Value, args: Value, kwargs: Value) -> None:
        self._call = (session, target, args, kwargs)

    def __await__(self) -> Generator[None, None, Value]:
        yield None
        return in_thread(*self._call)
