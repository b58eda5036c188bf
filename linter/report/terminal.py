"""What the output stream can show."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TextIO

_NARROWEST = 40
_WITHOUT_TERMINAL = 100


def wants_color(stream: TextIO, env: Mapping[str, str], option: str = "auto") -> bool:
    """Whether to colour what goes to `stream`.

    `option` is auto, always or never and overrides the environment. With auto, NO_COLOR (set to anything but
    the empty string) says no, then FORCE_COLOR (anything but "" and "0") says yes, then a terminal that is
    not "dumb" does.
    """
    if option != "auto":
        return option == "always"
    if env.get("NO_COLOR"):
        return False
    if env.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return _is_terminal(stream) and env.get("TERM") != "dumb"


def screen_width(stream: TextIO, env: Mapping[str, str]) -> int:
    """The columns to draw in: COLUMNS, the terminal's width, or 100 where `stream` is no terminal."""
    asked = env.get("COLUMNS", "")
    if asked.isdecimal() and int(asked) > 0:
        return max(int(asked), _NARROWEST)
    if not _is_terminal(stream):
        return _WITHOUT_TERMINAL
    try:
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return max(columns or _WITHOUT_TERMINAL, _NARROWEST)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except (AttributeError, ValueError):  # no stream at all, or a closed one
        return False
