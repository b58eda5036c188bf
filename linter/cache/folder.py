"""The cache folder: where it lies, what is written into it, and how it is removed."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

SUFFIX = ".runs"
MOST_FILES = 24
MOST_BYTES = 200_000_000
TAG = "CACHEDIR.TAG"
IGNORE = ".gitignore"
_TAG_TEXT = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# What gradguard found in earlier runs. It may be removed at any time: `gradguard clean`.\n"
)
_IGNORE_TEXT = "*\n"
# A manifest, or one that was being written when its process ended.
_OURS = re.compile(rf"[0-9a-f]{{24}}{re.escape(SUFFIX)}(?:\.\d+\.[0-9a-f]{{8}})?")


@dataclass(frozen=True, slots=True)
class Removed:
    """How many files of a cache were removed, their bytes, and whether the folder is gone as well."""

    files: int
    bytes: int
    folder: bool


def read(folder: str, name: str) -> bytes | None:
    """A file of the cache; None where there is none to be read."""
    try:
        with open(os.path.join(folder, name), "rb") as stream:
            return stream.read()
    except (OSError, ValueError):
        return None


def write(folder: str, name: str, data: bytes) -> None:
    """Put a file into the cache, whole or not at all.

    Nothing is written into a folder that cannot be written to, or in which other things lie.
    """
    with suppress(OSError, ValueError):
        if not _make(folder):
            return
        target = os.path.join(folder, name)
        # The name is this process's own, so that runs at the same time cannot mix their bytes.
        half = f"{target}.{os.getpid()}.{os.urandom(4).hex()}"
        try:
            with open(half, "xb") as stream:
                stream.write(data)
            os.replace(half, target)
        except OSError:
            with suppress(OSError):
                os.unlink(half)
            raise
        _prune(folder, name)


def remove(folder: str) -> Removed | None:
    """Remove the files of a cache, and the folder if nothing else is in it; None if there was no cache.

    Only what `write` has put there is removed, and nothing from a folder that `is_foreign`. Raises OSError
    where a file cannot be removed.
    """
    if not is_cache(folder):
        return None
    names = [name for name in os.listdir(folder) if name == TAG or _is_ours(folder, name)]
    if read(folder, IGNORE) == _IGNORE_TEXT.encode():
        names.append(IGNORE)
    size = 0
    # The tag last: a removal that stops half-way can be taken up again.
    for name in sorted(names, key=lambda name: name == TAG):
        path = os.path.join(folder, name)
        size += os.lstat(path).st_size
        os.unlink(path)
    try:
        os.rmdir(folder)
    except OSError:
        return Removed(len(names), size, folder=False)
    return Removed(len(names), size, folder=True)


def is_cache(folder: str) -> bool:
    """Whether a folder was made by `write`."""
    data = read(folder, TAG)
    return data is not None and b"gradguard" in data


def is_foreign(folder: str) -> bool:
    """Whether something lies at `folder` that is no cache of ours and cannot become one."""
    if is_cache(folder):
        return False
    try:
        return not all(name in (TAG, IGNORE) or _OURS.fullmatch(name) for name in os.listdir(folder))
    except (OSError, ValueError):
        return os.path.lexists(folder)


def _is_ours(folder: str, name: str) -> bool:
    return _OURS.fullmatch(name) is not None and not os.path.isdir(os.path.join(folder, name))


def _make(folder: str) -> bool:
    """Make the folder a cache, if it may become one."""
    if is_cache(folder):
        return True
    if is_foreign(folder):
        return False
    os.makedirs(folder, exist_ok=True)
    with suppress(FileExistsError), open(os.path.join(folder, IGNORE), "x", encoding="utf-8") as stream:
        stream.write(_IGNORE_TEXT)
    with open(os.path.join(folder, TAG), "w", encoding="utf-8") as stream:
        stream.write(_TAG_TEXT)
    return True


def _prune(folder: str, newest: str) -> None:
    """Remove the oldest files beyond what a cache may hold."""
    kept = 0
    for place, (_, size, path) in enumerate(sorted(_others(folder, newest), reverse=True), start=1):
        kept += size
        if place >= MOST_FILES or kept > MOST_BYTES:
            with suppress(OSError):
                os.unlink(path)


def _others(folder: str, newest: str) -> Iterator[tuple[int, int, str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name) and entry.name != newest:
                with suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    yield status.st_mtime_ns, status.st_size, entry.path
