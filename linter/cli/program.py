"""The program `gradguard` and its commands."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

import gradguard
from gradguard.cli.errors import CallError
from gradguard.settings.errors import SettingsError, did_you_mean

# Each command's module under gradguard.cli holds a click command called `command`.
_COMMANDS = {
    "check": "find code that trains nothing",
    "clean": "remove the cache",
    "guards": "list every guard and what it covers",
    "replay": "run what a finding is about, and tell what happens",
    "rule": "explain a rule",
}


class _LazyGroup(click.Group):
    """A group whose commands are imported when they are called; their summaries are known without."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        command: click.Command = import_module(f"gradguard.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in _COMMANDS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], _COMMANDS)
            if not hint and os.path.exists(args[0]):
                hint = f"; did you mean `gradguard check {args[0]}`?"
            raise CallError(f"no command `{args[0]}`{hint}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except SettingsError as error:
            raise CallError(str(error)) from error


@click.command(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 nothing found, 1 findings, 2 a wrong call or a file that could not be read.",
)
@click.version_option(gradguard.__version__, "-V", "--version", message="gradguard %(version)s")
def program() -> None:
    """Find training code that runs, prints a loss, and trains nothing."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (that of the process where none is given) and return the exit code."""
    try:
        result = program.main(
            args=None if arguments is None else list(arguments), prog_name="gradguard", standalone_mode=False
        )
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return 130
    except Exception:
        # Python's own exit code for this would be 1, which says that faults were found.
        import traceback

        traceback.print_exc()
        click.echo("error: gradguard itself is at fault here, please report this", err=True)
        return 2
    return result if isinstance(result, int) else 0
