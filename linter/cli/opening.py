"""From the paths of a command line to opened files."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from gradguard.cli.options import Call
from gradguard.discover.load import load_bytes, load_file
from gradguard.discover.walk import Targets, find_targets
from gradguard.findings import Failure
from gradguard.run import Opened, Suspects

_STDIN = "-"
_NAMELESS = "<stdin>"


@dataclass(frozen=True, slots=True)
class Files:
    """The opened files, and the paths that could not be looked at."""

    opened: tuple[Opened, ...]
    missing: tuple[Failure, ...]


def targets_of(paths: Sequence[str], call: Call) -> Targets:
    """The files that the paths, other than `-`, ask for."""
    return find_targets([path for path in paths if path != _STDIN], call.resolver.settings_in)


def open_paths(paths: Sequence[str], call: Call, suspects: Suspects) -> Files:
    """Read the files that the paths ask for, and standard input where `-` is among them."""
    targets = targets_of(paths, call)
    opened: list[Opened] = []
    # An editor sends the text of a file that may lie there as well, in an older state.
    sent = os.path.abspath(call.stdin_filename) if call.stdin_filename and _STDIN in paths else None
    for target in targets.files:
        if target.path == sent:
            continue
        settings = call.resolver.settings_in(os.path.dirname(target.path))
        opened.append(Opened(load_file(target, suspects(settings)), target.path, settings))
    if _STDIN in paths:
        opened.extend(_open_stdin(call, suspects))
    return Files(tuple(opened), targets.failures)


def _open_stdin(call: Call, suspects: Suspects) -> list[Opened]:
    name = call.stdin_filename or _NAMELESS
    path = os.path.abspath(name)
    settings = call.resolver.settings_in(os.path.dirname(path))
    data = sys.stdin.buffer.read()
    if call.stdin_filename and settings.force_exclude and settings.excluded.match_within(path):
        return []
    return [Opened(load_bytes(data, name, "", suspects(settings)), path, settings)]
