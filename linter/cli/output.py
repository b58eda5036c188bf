"""Printing, and what the terminal can show."""

from __future__ import annotations

import os
import sys

import click

from gradguard.cli.errors import CallError
from gradguard.report.terminal import screen_width, wants_color


def print_text(text: str, file: str | None = None) -> None:
    """Print to standard output, or to `file`. A reader that has left is no fault. Raises CallError."""
    if file is not None:
        try:
            with open(file, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
                stream.write(text)
        except OSError as error:
            raise CallError(f"cannot write `{file}`: {(error.strerror or str(error)).lower()}") from error
        return
    try:
        sys.stdout.write(_printable(text, sys.stdout.encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more at its end and would complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say(text: str) -> None:
    """A line on standard error."""
    click.echo(_printable(text, getattr(sys.stderr, "encoding", None)), err=True)


def color_and_width(option: str, file: str | None = None) -> tuple[bool, int]:
    """Whether to colour and how wide to draw."""
    if file is not None:
        return option == "always", 100
    return wants_color(sys.stdout, os.environ, option), screen_width(sys.stdout, os.environ)


def on_terminal() -> bool:
    """Whether standard output is read by a person."""
    return sys.stdout.isatty()


def _printable(text: str, encoding: str | None) -> str:
    """File names may hold bytes that are no text, and a terminal may lack letters."""
    codec = encoding or "utf-8"
    return text.encode(codec, "backslashreplace").decode(codec)
