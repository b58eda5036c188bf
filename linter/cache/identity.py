"""What a cached result depends on besides the files: this program, what it is built on, and the Python."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from zlib import crc32

import gradguard
from gradguard.discover.disk import time_of

_SUFFIXES = (".py", ".toml")
# What parses the sources and what runs the replays.
_BASES = ("libcst", "numpy", "tree_sitter", "tree_sitter_rust")


def program_key() -> str:
    """A text that changes with gradguard's version and files, with the packages below it, and with Python.

    Files are told by their size and time: reading them takes longer than a warm run may.
    """
    digest = 0
    for folder in sorted(_folders()):
        for line in _files(folder):
            digest = crc32(line.encode("utf-8", "surrogateescape"), digest)
    for line in map(_base, _BASES):
        digest = crc32(line.encode("utf-8", "surrogateescape"), digest)
    python = ".".join(map(str, sys.version_info[:3]))
    return f"{gradguard.__version__}-{digest:08x}-{sys.implementation.name}-{python}"


def _folders() -> Iterator[str]:
    yield from gradguard.__path__
    # The rules need not lie inside of the package.
    rules = find_spec("gradguard.rules")
    if rules is not None:
        yield from rules.submodule_search_locations or ()


def _files(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
        for entry in entries:
            if entry.is_dir():
                yield from _files(entry.path)
            elif entry.name.endswith(_SUFFIXES):
                status = entry.stat()
                yield f"{entry.name} {status.st_size} {time_of(status)}"
    except OSError:
        return


def _base(name: str) -> str:
    """A text that is another one when another version of a package is installed."""
    spec = find_spec(name)
    try:
        status = os.stat(spec.origin or "") if spec is not None else None
    except OSError:
        status = None
    return f"{name} {status.st_size} {time_of(status)}" if status is not None else name
