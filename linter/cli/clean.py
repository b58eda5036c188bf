"""`gradguard clean`."""

from __future__ import annotations

import os
from typing import Any

import click

from gradguard.cli.caching import cache_folder_of
from gradguard.cli.errors import CallError
from gradguard.cli.options import cache_folder_option, call_of, configuring_options
from gradguard.cli.output import say


@click.command("clean")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@cache_folder_option
@configuring_options
def command(paths: tuple[str, ...], **said: Any) -> None:
    """Remove the cache that a check of these paths uses (by default that of the working folder).

    Nothing is removed that gradguard has not put there.
    """

    call = call_of(said)
    folders = [path if os.path.isdir(path) else os.path.dirname(path) for path in map(os.path.abspath, paths)]
    settings = [call.resolver.settings_in(folder) for folder in folders or [os.getcwd()]]
    for folder in dict.fromkeys(map(cache_folder_of, settings)):
        _clean(folder)


def _clean(folder: str) -> None:
    from gradguard.cache.folder import is_foreign, remove

    if is_foreign(folder):
        raise CallError(f"`{folder}` is no cache of gradguard's, nothing is removed")
    try:
        removed = remove(folder)
    except OSError as error:
        raise CallError(f"cannot remove `{folder}`: {(error.strerror or str(error)).lower()}") from error
    if removed is None:
        say(f"no cache at `{folder}`")
        return
    files = "1 file" if removed.files == 1 else f"{removed.files} files"
    rest = "" if removed.folder else "; the folder stays, something else lies in it"
    say(f"removed `{folder}` ({files}, {removed.bytes / 1e6:.1f} MB){rest}")
