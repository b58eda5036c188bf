"""How far the analysis of one file may go."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

FRAMES = 1_000
CPU_SECONDS = 120.0


class OutOfTime(BaseException):
    """The file takes too long; no handler inside the analysis may catch it."""


@contextmanager
def same_room(frames: int = FRAMES) -> Iterator[None]:
    """Give the scope the same number of frames however deep the caller stands: results depend on it."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(_depth() + frames)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


@contextmanager
def limited_time(seconds: float) -> Iterator[None]:
    """Raise OutOfTime in the scope after so many seconds of the processor.

    There is no limit outside of the main thread, and where the system has no such clock.
    """
    if not hasattr(signal, "SIGVTALRM") or threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise OutOfTime


def _depth() -> int:
    frame: FrameType | None = sys._getframe(1)
    depth = 0
    while frame is not None:
        depth += 1
        frame = frame.f_back
    return depth
