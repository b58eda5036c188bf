"""Colours."""

from __future__ import annotations

from dataclasses import dataclass

_CODES = {
    "bold": "1",
    "error": "1;31",
    "warning": "1;33",
    "hint": "1;36",
    "gutter": "34",
    "step": "36",
    "note": "1",
    "help": "1;32",
    "faint": "2",
}


@dataclass(frozen=True, slots=True)
class Paint:
    """Wraps text in the escape sequence of a role, or leaves it as it is when `on` is False.

    Roles: bold, error, warning, hint, gutter, step, note, help, faint. An unknown role is bold.
    """

    on: bool

    def __call__(self, role: str, text: str) -> str:
        """`text` in the colour of `role`."""
        if not self.on or not text:
            return text
        return f"\x1b[{_CODES.get(role, '1')}m{text}\x1b[0m"
