"""A call that cannot be followed."""

from __future__ import annotations

from typing import IO, Any

import click


class CallError(click.ClickException):
    """Ends the command with exit code 2 and `error: ...` on standard error."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it."""
        click.echo(f"error: {self.format_message()}", file=file, err=file is None)
