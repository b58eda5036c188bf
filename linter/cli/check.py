"""`gradguard check`."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from gradguard.cli.caching import Caches
from gradguard.cli.errors import CallError
from gradguard.cli.opening import Files, open_paths, targets_of
from gradguard.cli.options import (
    Call,
    call_of,
    choosing_options,
    file_options,
    output_options,
    replay_options,
    running_options,
)
from gradguard.cli.output import color_and_width, on_terminal, print_text, say
from gradguard.cli.progress import progress_bar
from gradguard.report.summary import statistics, summary
from gradguard.rule import Rule
from gradguard.run import Outcome, check, known_rules, suspects


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@choosing_options
@replay_options
@file_options
@running_options
@output_options()
@click.option("--statistics", is_flag=True, help="Count the findings of each rule instead of listing them.")
@click.option("--quiet", "-q", is_flag=True, help="Print findings and errors only.")
@click.option("--exit-zero", "-e", is_flag=True, help="Exit with 0 also where something was found.")
@click.option("--add-noqa", is_flag=True, help="Write a `# noqa` comment at each finding, into the files.")
@click.option("--show-settings", is_flag=True, help="Print the settings in force and stop.")
@click.option("--show-files", is_flag=True, help="Print the files that would be checked and stop.")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], **said: Any) -> None:
    """Find code that trains nothing in files, folders, or standard input (-).

    Without a PATH the working folder is checked.
    """
    # What is read stays until the end: looking for garbage in it finds none, and takes a tenth of a run.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        _check(ctx, paths, said)
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


def _check(ctx: click.Context, paths: tuple[str, ...], said: Mapping[str, Any]) -> None:
    call = call_of(said)
    asked = paths or (".",)
    if said["show_settings"] or said["show_files"]:
        _check_rules(call, Caches(off=True))
    if said["show_settings"]:
        _show_settings(ctx, asked, call)
    if said["show_files"]:
        _show_files(ctx, asked, call)
    if said["add_noqa"] and "-" in asked:
        raise CallError("`--add-noqa` cannot write into standard input")
    # Writing comments takes the texts of all files that have findings, and what is sent lies in no file.
    caches = Caches(off=said["add_noqa"] or "-" in asked)
    files = open_paths(asked, call, suspects, caches.memory_for)
    gc.freeze()
    _check_rules(call, caches)
    jobs = call.resolver.settings_in(os.getcwd()).jobs
    outcome = check(files.opened, None if said["quiet"] else progress_bar, jobs, caches.memories)
    refused = caches.save()
    if not said["quiet"]:
        for folder in refused:
            say(f"warning: `{folder}` is no cache of gradguard's, nothing is kept there")
    if said["add_noqa"]:
        _add_noqa(ctx, files, outcome, quiet=said["quiet"])
    _print(files, outcome, call, said)
    ctx.exit(_exit_code(files, outcome, exit_zero=said["exit_zero"]))


def _check_rules(call: Call, caches: Caches) -> None:
    """Tell of what the command line says of rules even where there is nothing to check."""
    settings = call.resolver.settings_in(os.getcwd())
    if not settings.selections and not settings.per_file_ignores:
        return
    from gradguard.settings.choose import check_entries, idle_previews

    rules = known_rules(caches.memories)
    check_entries(settings, rules)
    for rule in idle_previews(settings, rules):
        say(f"warning: `{rule.code}` is in preview and does not run without `--preview`")


def _print(files: Files, outcome: Outcome, call: Call, said: Mapping[str, Any]) -> None:
    file = said["output_file"]
    asked = said["output_format"] or call.resolver.settings_in(os.getcwd()).output_format
    format = asked or ("full" if file is None and on_terminal() else "concise")
    for failure in files.missing:
        say(f"error: `{failure.filename}`: {failure.reason}")
    if format not in ("full", "concise") or file is not None or said["statistics"]:
        # What is printed is not read by a person, or does not name files.
        for failure in outcome.unopened:
            say(f"error: `{failure.filename}`: {failure.reason}")
    if said["statistics"]:
        text = statistics(outcome.report, "json" if format.startswith("json") else "text")
    else:
        text = _rendered(outcome, format, *color_and_width(said["color"], file))
    print_text(text, file)
    if not said["quiet"]:
        _remark(files, outcome)


def _rendered(outcome: Outcome, format: str, color: bool, width: int) -> str:
    from gradguard.report.formats import render

    known: Sequence[Rule] = outcome.rules
    if not known and format == "sarif":
        from gradguard.pipeline import rules

        known = rules()
    return render(
        outcome.report,
        format,
        sources=outcome.sources,
        rules=known,
        color=color,
        width=width,
        root=os.getcwd(),
    )


def _remark(files: Files, outcome: Outcome) -> None:
    """What was not checked, and the run in a sentence."""
    for skipped in outcome.skipped:
        say(f"note: `{skipped.filename}` is not checked: {skipped.reason}")
    for failure in outcome.unread:
        say(f"note: `{failure.filename}` is not checked: {failure.reason}")
    if files.opened or not files.missing:
        say(summary(outcome.report))


def _exit_code(files: Files, outcome: Outcome, *, exit_zero: bool) -> int:
    if files.missing or outcome.unopened:
        return 2
    return int(bool(outcome.report.findings) and not exit_zero)


def _add_noqa(ctx: click.Context, files: Files, outcome: Outcome, *, quiet: bool) -> None:
    from gradguard.cli.add_noqa import write_comments

    written = write_comments(files.opened, outcome)
    for failure in (*files.missing, *outcome.unopened, *written.failures):
        say(f"error: `{failure.filename}`: {failure.reason}")
    if not quiet:
        say(f"added {written.comments} in {written.files}")
    ctx.exit(2 if files.missing or outcome.unopened or written.failures else 0)


def _show_files(ctx: click.Context, paths: Sequence[str], call: Call) -> None:
    targets = targets_of(paths, call)
    print_text("".join(f"{target.filename}\n" for target in targets.files))
    for failure in targets.failures:
        say(f"error: `{failure.filename}`: {failure.reason}")
    ctx.exit(2 if targets.failures else 0)


def _show_settings(ctx: click.Context, paths: Sequence[str], call: Call) -> None:
    from gradguard.cli.show_settings import settings_text
    from gradguard.pipeline import rules

    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in map(os.path.abspath, paths)]
    shown = dict.fromkeys(call.resolver.settings_in(folder) for folder in folders)
    print_text("\n".join(settings_text(settings, rules()) for settings in shown))
    ctx.exit(0)
