"""From the paths of a command line to opened files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradguard.cli.options import Call
from gradguard.discover.load import Clean, Loaded, load_bytes, load_file
from gradguard.discover.walk import Target, Targets, find_targets
from gradguard.findings import Failure
from gradguard.run import Opened, Suspects
from gradguard.settings.model import Settings

if TYPE_CHECKING:
    from gradguard.cache.memory import Memory

MemoryFor = Callable[[Settings], "Memory | None"]

MANY = 600
"""Files from which a second process that reads some of them pays."""
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


def open_paths(
    paths: Sequence[str], call: Call, suspects: Suspects, memory_for: MemoryFor | None = None
) -> Files:
    """Read the files that the paths ask for, and standard input where `-` is among them.

    What `memory_for` the settings of a file still knows is not read.
    """
    targets = targets_of(paths, call)
    # An editor sends the text of a file that may lie there as well, in an older state.
    sent = os.path.abspath(call.stdin_filename) if call.stdin_filename and _STDIN in paths else None
    files = [
        (target, call.resolver.settings_in(os.path.dirname(target.path)))
        for target in targets.files
        if target.path != sent
    ]
    loaded = _recalled(files, suspects, memory_for) if memory_for is not None else {}
    jobs = call.resolver.settings_in(os.getcwd()).jobs
    loaded |= _read([file for file in files if file[0].path not in loaded], suspects, jobs)
    opened = [Opened(loaded[target.path], target.path, settings) for target, settings in files]
    if _STDIN in paths:
        opened.extend(_open_stdin(call, suspects))
    return Files(tuple(opened), targets.failures)


def _read(files: Sequence[tuple[Target, Settings]], suspects: Suspects, jobs: int) -> dict[str, Loaded]:
    """The files by their paths; if they are many, another process looks at some of them first."""
    if len(files) < MANY or jobs == 1:
        return {target.path: load_file(target, suspects(settings)) for target, settings in files}
    from gradguard.work.skim import Skim

    elsewhere = Skim(files, suspects, jobs)
    loaded: dict[str, Loaded] = {}
    for target, settings in files:
        match elsewhere.told.get(target.path):
            case None:
                loaded[target.path] = load_file(target, suspects(settings))
            case True:
                loaded[target.path] = Clean(target.filename)
            case False:
                loaded[target.path] = load_file(target, _always)
    elsewhere.end()
    return loaded


def _always(data: bytes, language: str) -> bool:
    return True


def _recalled(
    files: Sequence[tuple[Target, Settings]], suspects: Suspects, memory_for: MemoryFor
) -> dict[str, Loaded]:
    names = {target.path: target.filename for target, _ in files}
    groups: dict[Settings, list[Target]] = {}
    for target, settings in files:
        groups.setdefault(settings, []).append(target)
    found: dict[str, Loaded] = {}
    for settings, group in groups.items():
        memory = memory_for(settings)
        if memory is not None:
            found.update(memory.open_all(group, names, suspects(settings)))
    return found


def _open_stdin(call: Call, suspects: Suspects) -> list[Opened]:
    name = call.stdin_filename or _NAMELESS
    path = os.path.abspath(name)
    settings = call.resolver.settings_in(os.path.dirname(path))
    data = sys.stdin.buffer.read()
    if call.stdin_filename and settings.force_exclude and settings.excluded.match_within(path):
        return []
    return [Opened(load_bytes(data, name, "", suspects(settings)), path, settings)]
