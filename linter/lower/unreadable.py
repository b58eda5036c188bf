"""The errors that reading a file as code can raise."""

from __future__ import annotations


class Unreadable(Exception):
    """A text that cannot be parsed: the row and the column (from 1, in the text's own rows) and why."""

    def __init__(self, row: int, column: int, reason: str) -> None:
        """Takes the place and the reason."""
        super().__init__(row, column, reason)
        self.row = row
        self.column = column
        self.reason = reason

    def __str__(self) -> str:
        """The place and the reason, as `row:column: reason`."""
        return f"{self.row}:{self.column}: {self.reason}"


class Miscut(Exception):
    """A text that was cut by its rows turns out to be other than they say, or no Python: it must be parsed whole."""

    def __init__(self, key: str) -> None:
        """Takes what the file goes by in a program."""
        super().__init__(key)
        self.key = key
