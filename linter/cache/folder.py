"""The cache folder: where it lies, what is written into it, and how it is removed."""

from __future__ import annotations

import os
from contextlib import suppress

SUFFIX = ".runs"
MOST_FILES = 24
MOST_BYTES = 200_000_000
TAG = "CACHEDIR.TAG"
_TAG_TEXT = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# What gradguard found in earlier runs. It may be removed at any time: `gradguard clean`.\n"
)


def read(folder: str, name: str) -> bytes | None:
    """A file of the cache; None where there is none to be read."""
    try:
        with open(os.path.join(folder, name), "rb") as stream:
            return stream.read()
    except (OSError, ValueError):
        return None


def write(folder: str, name: str, data: bytes) -> None:
    """Put a file into the cache, whole or not at all; a folder that cannot be written to stays as it is."""
    with suppress(OSError, ValueError):
        _make(folder)
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


def remove(folder: str) -> bool:
    """Remove the files of a cache, and the folder if nothing else is in it; whether there was one.

    A folder that is no cache of gradguard's is left alone. Raises OSError where a file cannot be removed.
    """
    if not is_cache(folder):
        return False
    for name in os.listdir(folder):
        if name in (TAG, ".gitignore") or _is_ours(name):
            os.unlink(os.path.join(folder, name))
    with suppress(OSError):
        os.rmdir(folder)
    return True


def is_cache(folder: str) -> bool:
    """Whether a folder was made by `write`."""
    data = read(folder, TAG)
    return data is not None and b"gradguard" in data


def _is_ours(name: str) -> bool:
    return SUFFIX in name


def _make(folder: str) -> None:
    if os.path.isfile(os.path.join(folder, TAG)):
        return
    os.makedirs(folder, exist_ok=True)
    for name, text in ((".gitignore", "*\n"), (TAG, _TAG_TEXT)):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
            stream.write(text)


def _prune(folder: str, newest: str) -> None:
    """Remove the oldest files beyond what a cache may hold."""
    found: list[tuple[float, int, str]] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _is_ours(entry.name) and entry.name != newest:
                with suppress(OSError):
                    status = entry.stat()
                    found.append((status.st_mtime, status.st_size, entry.path))
    kept = 0
    for place, (_, size, path) in enumerate(sorted(found, reverse=True), start=1):
        kept += size
        if place >= MOST_FILES or kept > MOST_BYTES:
            with suppress(OSError):
                os.unlink(path)
