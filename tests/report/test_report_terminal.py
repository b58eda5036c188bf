from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Iterator, Mapping
from typing import TextIO

import pytest

from gradguard.report.terminal import screen_width, wants_color


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "env", "option", "wanted"),
    [
        (Terminal(), {}, "auto", True),
        (io.StringIO(), {}, "auto", False),
        (Terminal(), {"TERM": "dumb"}, "auto", False),
        (Terminal(), {"NO_COLOR": "1"}, "auto", False),
        (Terminal(), {"NO_COLOR": ""}, "auto", True),
        (io.StringIO(), {"FORCE_COLOR": "1"}, "auto", True),
        (io.StringIO(), {"FORCE_COLOR": "0"}, "auto", False),
        (io.StringIO(), {"FORCE_COLOR": ""}, "auto", False),
        (io.StringIO(), {"FORCE_COLOR": "1", "NO_COLOR": "1"}, "auto", False),
        (Terminal(), {"NO_COLOR": "1"}, "always", True),
        (Terminal(), {"FORCE_COLOR": "1"}, "never", False),
    ],
)
def test_wants_color(stream: TextIO, env: Mapping[str, str], option: str, wanted: bool) -> None:
    assert wants_color(stream, env, option) is wanted


def test_a_closed_stream_is_no_terminal() -> None:
    stream = io.StringIO()
    stream.close()
    assert wants_color(stream, {}) is False
    assert screen_width(stream, {}) == 100


@pytest.fixture
def terminal() -> Iterator[TextIO]:
    if sys.platform == "win32":
        pytest.skip("has no pseudo-terminals")
    first, second = pty.openpty()
    with os.fdopen(second, "w") as stream:
        yield stream
    os.close(first)


def test_width_of_a_terminal(terminal: TextIO) -> None:
    import fcntl
    import struct
    import termios

    fcntl.ioctl(terminal.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, 133, 0, 0))
    assert screen_width(terminal, {}) == 133
    assert screen_width(terminal, {"COLUMNS": "70"}) == 70
    fcntl.ioctl(terminal.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, 3, 0, 0))
    assert screen_width(terminal, {}) == 40
