"""Options that several commands share, and what they say of the settings."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from gradguard.cli.errors import CallError
from gradguard.settings.keys import OUTPUT_FORMATS
from gradguard.settings.model import Selection
from gradguard.settings.resolve import Overrides, Resolver, inline_values, selection_of

Function = TypeVar("Function", bound=Callable[..., Any])


def _split(ctx: click.Context, option: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    """The words of all uses of an option; blanks around a word do not count."""
    words = tuple(word.strip() for part in given for word in part.split(",") if word.strip())
    if given and not words:
        raise click.BadParameter("names nothing", ctx, option)
    return words


def _words(name: str, metavar: str, help: str) -> Callable[[Function], Function]:
    return click.option(name, multiple=True, callback=_split, metavar=metavar, help=help)


_CHOOSING = (
    _words("--select", "RULES", "Run these rules only: codes, their beginnings, names, or ALL."),
    _words("--extend-select", "RULES", "Run these rules as well."),
    _words("--ignore", "RULES", "Do not run these rules."),
    _words("--per-file-ignores", "PATTERN:RULE", "Do not run a rule on files that match."),
    click.option("--preview/--no-preview", default=None, help="Let rules run that are still in preview."),
    click.option(
        "--min-confidence",
        type=click.Choice(("likely", "certain")),
        help="Show findings that are at least so sure.  [default: likely]",
    ),
)

_REPLAYING = (
    click.option(
        "--replay/--no-replay",
        default=None,
        help="Run what each finding is about, and tell what happens.  [default: yes]",
    ),
    click.option(
        "--replay-on",
        type=click.Choice(("embedded", "torch")),
        help="Run on the embedded runtime, or on torch itself.  [default: embedded]",
    ),
    click.option(
        "--show-refuted", is_flag=True, default=None, help="Show findings too that a replay refutes."
    ),
)

_FINDING_FILES = (
    _words("--exclude", "PATTERNS", "Leave these files and folders out, instead of the usual ones."),
    _words("--extend-exclude", "PATTERNS", "Leave these files and folders out too."),
    click.option(
        "--force-exclude/--no-force-exclude",
        default=None,
        help="Leave excluded paths out even if they are named.",
    ),
    click.option(
        "--respect-gitignore/--no-respect-gitignore",
        default=None,
        help="Leave out what git ignores.  [default: yes]",
    ),
    click.option("--stdin-filename", metavar="PATH", help="The name of the text that `-` reads."),
)

_CONFIGURING = (
    click.option(
        "--config",
        multiple=True,
        metavar="FILE|KEY=VALUE",
        help="A configuration file to use for all, or one setting in TOML.",
    ),
    click.option("--isolated", is_flag=True, help="Heed no configuration file."),
)


# Options whose values are those of the settings of the same name.
_PLAIN = (
    "preview",
    "min_confidence",
    "force_exclude",
    "respect_gitignore",
    "replay",
    "replay_on",
    "show_refuted",
    "jobs",
    "no_cache",
)


cache_folder_option = click.option(
    "--cache-dir", metavar="FOLDER", help="Where the cache lies.  [default: .gradguard_cache]"
)

_RUNNING = (
    click.option(
        "--jobs",
        "-j",
        type=click.IntRange(min=0),
        help="Use at most so many processes for a large run.  [default: 0, as the machine likes]",
    ),
    click.option("--no-cache", "-n", is_flag=True, default=None, help="Neither use nor write the cache."),
    cache_folder_option,
)


def running_options(function: Function) -> Function:
    """What decides how a run goes about its work, whatever comes out."""
    return _with(function, _RUNNING)


def configuring_options(function: Function) -> Function:
    """Where settings come from."""
    return _with(function, _CONFIGURING)


def choosing_options(function: Function) -> Function:
    """`--select` and its kin."""
    return _with(function, _CHOOSING)


def replay_options(function: Function) -> Function:
    """Whether and where findings are replayed."""
    return _with(function, _REPLAYING)


def file_options(function: Function) -> Function:
    """What decides which files are looked at, and where settings come from."""
    return _with(function, _FINDING_FILES + _CONFIGURING)


def output_options(formats: Sequence[str] = OUTPUT_FORMATS) -> Callable[[Function], Function]:
    """Format, colour and destination of the output."""
    options = (
        click.option("--output-format", type=click.Choice(tuple(formats)), help="How to print."),
        click.option(
            "--output-file", "-o", type=click.Path(dir_okay=False), metavar="FILE", help="Print to this file."
        ),
        click.option(
            "--color",
            type=click.Choice(("auto", "always", "never")),
            default="auto",
            help="Whether to colour.",
        ),
    )
    return lambda function: _with(function, options)


def _with(function: Function, options: Sequence[Callable[[Function], Function]]) -> Function:
    for option in reversed(options):
        function = option(function)
    return function


@dataclass(frozen=True, slots=True)
class Call:
    """What was said on the command line, apart from paths and output."""

    overrides: Overrides
    resolver: Resolver
    stdin_filename: str | None


def call_of(said: Mapping[str, Any]) -> Call:
    """Make settings of the options of `choosing_options` and `file_options`."""
    inline: list[str] = []
    config: str | None = None
    for entry in said.get("config", ()):
        if "=" in entry and not os.path.exists(entry):
            inline.append(entry)
        elif config is not None:
            raise CallError("`--config` takes one file only")
        else:
            config = entry
    values = inline_values(inline)
    inlined = selection_of(values)
    selection = Selection(
        said.get("select") or inlined.select,
        inlined.extend_select + said.get("extend_select", ()),
        inlined.ignore + said.get("ignore", ()),
    )
    for name in _PLAIN:
        if said.get(name) is not None:
            values[name] = said[name]
    if said.get("cache_dir"):
        values["cache_dir"] = os.path.abspath(said["cache_dir"])
    if exclude := said.get("exclude", ()):
        values["exclude"] = _anchored(exclude)
    if extended := said.get("extend_exclude", ()):
        values["extend_exclude"] = values.get("extend_exclude", ()) + _anchored(extended)
    if ignores := _per_file(said.get("per_file_ignores", ())):
        values["per_file_ignores"] = values.get("per_file_ignores", ()) + ignores
    overrides = Overrides(selection, values, config, bool(said.get("isolated")))
    return Call(overrides, Resolver(overrides), said.get("stdin_filename"))


def _anchored(patterns: tuple[str, ...]) -> tuple[str, ...]:
    """Patterns with a slash start from the working folder, wherever the configuration lies."""
    return tuple(_from_here(pattern) for pattern in patterns)


def _from_here(pattern: str) -> str:
    negation = "!" if pattern.startswith("!") else ""
    bare = pattern.removeprefix("!").removeprefix("./")
    if "/" not in bare.rstrip("/") or os.path.isabs(bare):
        return pattern
    return f"{negation}{glob.escape(os.getcwd()).rstrip('/')}/{bare}"


def _per_file(entries: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    told: list[tuple[str, tuple[str, ...]]] = []
    for entry in entries:
        pattern, colon, rule = entry.rpartition(":")
        if colon and pattern and rule.strip():
            told.append((_from_here(pattern.strip()), (rule.strip(),)))
        elif told and not colon:
            # `tests/*:GRD101,GRD201`: the comma has parted rules of one pattern.
            told[-1] = (told[-1][0], (*told[-1][1], entry))
        else:
            raise CallError(f"`--per-file-ignores {entry}` is not of the form PATTERN:RULE")
    return tuple(told)
