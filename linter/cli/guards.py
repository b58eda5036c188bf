"""`gradguard guards`."""

from __future__ import annotations

from typing import Any

import click

from gradguard.cli.opening import open_paths
from gradguard.cli.options import call_of, file_options, output_options
from gradguard.cli.output import color_and_width, print_text, say
from gradguard.run import guard_suspects, list_guards

_FORMATS = ("table", "json")


@click.command("guards")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@file_options
@output_options(_FORMATS)
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], **said: Any) -> None:
    """List every guard: its form, where it starts and ends, and what it covers.

    Covered are values made, calls, backward, updates, yields and awaits. Without a PATH the working folder
    is read.
    """
    from gradguard.report.guards import render_guards

    files = open_paths(paths or (".",), call_of(said), guard_suspects)
    records, failures = list_guards(files.opened)
    file = said["output_file"]
    color, width = color_and_width(said["color"], file)
    print_text(render_guards(records, said["output_format"] or "table", color=color, width=width), file)
    for failure in (*files.missing, *failures):
        say(f"error: `{failure.filename}`: {failure.reason}")
    ctx.exit(2 if files.missing or failures else 0)
