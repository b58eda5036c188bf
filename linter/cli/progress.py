"""A progress bar for runs that take long enough to wonder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_MANY = 40


@contextmanager
def progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """Draw on standard error while files are analysed, if a person looks at it and there are many of them."""
    if total < _MANY or not sys.stderr.isatty():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("checking", total=total)
        yield lambda done: bar.update(task, completed=done)
