"""The one error that reading a file as code can raise."""

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
