"""`gradguard replay`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from gradguard.cli.errors import CallError
from gradguard.cli.opening import open_paths
from gradguard.cli.options import call_of, file_options
from gradguard.cli.output import print_text
from gradguard.findings import Failure
from gradguard.source import Source

if TYPE_CHECKING:
    from gradguard.replay.telling import Story

_PROFILES = ("torch", "tenferro", "paddle")


@click.command("replay")
@click.argument("place", metavar="FILE[:LINE]")
@click.option("--profile", type=click.Choice(_PROFILES), help="Run under this profile only.")
@click.option(
    "--replay-on",
    type=click.Choice(("embedded", "torch")),
    default="embedded",
    help="Run on the embedded runtime, or on torch itself.",
)
@file_options
def command(place: str, profile: str | None, replay_on: str, **said: Any) -> None:
    """Run what the findings of a file are about, and print what happens, line by line.

    With a LINE, only the findings on that line. A file without findings is run as a whole.
    """
    from gradguard.lower.unreadable import Unreadable
    from gradguard.replay.telling import tell

    path, line = _parted(place)
    files = open_paths((path,), call_of(said), lambda settings: lambda data, language: True)
    loaded = files.opened[0] if files.opened else None
    if loaded is None or not isinstance(loaded.loaded, Source):
        reason = files.missing[0].reason if files.missing else "it is not checked"
        if loaded is not None and isinstance(loaded.loaded, Failure):
            reason = loaded.loaded.reason
        raise CallError(f"`{path}`: {reason}")
    if loaded.loaded.language == "rust" and (profile is not None or replay_on == "torch"):
        raise CallError(f"`{path}`: Rust is replayed under the profile of the crate that it uses")
    try:
        stories = tell(loaded.loaded, loaded.settings, line, profile, replay_on)
    except Unreadable as error:
        raise CallError(f"`{path}:{error.row}` cannot be parsed: {error.reason}") from error
    except ImportError as error:
        raise CallError("torch is not installed") from error
    if not stories:
        raise CallError(f"`{path}` has no finding on line {line}")
    print_text("\n".join(_rendered(story) for story in stories))


def _parted(place: str) -> tuple[str, int | None]:
    """The file and the line of `FILE[:LINE]`; a column behind is left out."""
    path, rows = place, []
    while not os.path.exists(path) and ":" in path and path.rpartition(":")[2].isdigit():
        path, _, row = path.rpartition(":")
        rows.append(int(row))
    return path, rows[-1] if rows else None


def _rendered(story: Story) -> str:
    lines = [story.headline, *(f"  {line}" for line in story.lines), f"  {story.outcome}"]
    return "\n".join(lines) + "\n"
