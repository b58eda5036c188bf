"""Whether what earlier results were made from is still so."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from gradguard.cache.manifest import Entry, Manifest
from gradguard.discover.disk import UNREAD, holds, python_files, read
from gradguard.work.sights import Glimpse, listing


class Validity:
    """Compares a manifest with the disk, looking as little as it can.

    Where times and sizes are as they were, nothing is read; where all of them are, nothing else is looked at.
    """

    def __init__(self, manifest: Manifest) -> None:
        """Looks at the times of all files and folders that the manifest knows."""
        self._manifest = manifest
        self._touched = {path for path, stamp in manifest.stamps.items() if _time_and_size(path) != stamp[:2]}
        self._new_folders = [path for path, time in manifest.folders.items() if _folder_time(path) != time]
        self._changed: dict[str, bool] = {}
        self._confirmed: list[int] = []
        self._answers: dict[tuple[str, str], bool | str] = {}
        self._matches: dict[tuple[str, bytes], bool] = {}
        self._known: dict[int, bool] = {}
        self._apart: dict[tuple[int, str], bool] = {}

    @property
    def untouched(self) -> bool:
        """Whether nothing at all has another time or size."""
        return not self._touched and not self._new_folders

    def has_changed(self, path: str) -> bool:
        """Whether a known file holds other bytes than it did."""
        if path not in self._touched:
            return False
        if path not in self._changed:
            stamp = read(path)[1]
            self._changed[path] = stamp[2] != self._manifest.stamps[path][2]
            if not self._changed[path]:
                self._manifest.stamps[path] = stamp
                self._confirmed.append(stamp[0])
        return self._changed[path]

    def has_settled(self, started: int) -> bool:
        """Whether some time that had to be looked behind can be relied on in the next run."""
        return any(settled(time, started) for time in self._confirmed) or any(
            settled(_folder_time(path), started) for path in self._new_folders
        )

    def holds(self, entry: Entry, checked: frozenset[str], name: str) -> bool:
        """Whether a result is what an analysis would give now, with the files `checked`, a set called `name`."""
        if entry.checked != name:
            before = self._manifest.checked.get(entry.checked)
            if before is None or not self._is_apart(entry.root, entry.checked, before ^ checked):
                return False
        return self.untouched or self._is_so(entry.root)

    def _is_so(self, number: int) -> bool:
        """Whether everything in a glimpse, and in those behind it, is as it was."""
        known = self._known.get(number)
        if known is None:
            # Until it is known, a glimpse that leads back to itself says nothing against it.
            self._known[number] = True
            glimpse = self._manifest.glimpses().get(number)
            known = glimpse is not None and self._is_same(glimpse)
            self._known[number] = known
        return known

    def _is_same(self, glimpse: Glimpse) -> bool:
        return (
            all(map(self._is_known, glimpse.contents))
            and all(self._answer(kind, path) == answer for kind, path, answer in glimpse.lookups)
            and all(self._match(path, pattern) == answer for path, pattern, answer in glimpse.matches)
            and all(map(self._is_so, glimpse.through))
        )

    def _is_known(self, path: str) -> bool:
        return path in self._manifest.stamps and not self.has_changed(path)

    def _answer(self, kind: str, path: str) -> bool | str:
        if (kind, path) not in self._answers:
            self._answers[kind, path] = _look(kind, path)
        return self._answers[kind, path]

    def _match(self, path: str, pattern: bytes) -> bool:
        if (path, pattern) not in self._matches:
            data = read(path)[0]
            self._matches[path, pattern] = data is not None and holds(data, pattern)
        return self._matches[path, pattern]

    def _is_apart(self, number: int, name: str, paths: frozenset[str]) -> bool:
        """Whether none of these files was followed; `name` is that of the set they come from."""
        known = self._apart.get((number, name))
        if known is None:
            self._apart[number, name] = True
            glimpse = self._manifest.glimpses().get(number)
            known = (
                glimpse is not None
                and paths.isdisjoint(glimpse.contents)
                and all(self._is_apart(inner, name, paths) for inner in glimpse.through)
            )
            self._apart[number, name] = known
        return known


def searched_folders(glimpses: Iterable[Glimpse], started: int) -> dict[str, int]:
    """The folders in which a change of what lookups found would show, with their times.

    A time that is not clearly before `started` (nanoseconds) is given as 0: the folder may change again
    within the same tick.
    """
    found: dict[str, int] = {}
    nearest: dict[str, str] = {}
    for folder in {_where(kind, path) for glimpse in glimpses for kind, path, _ in glimpse.lookups}:
        where = _nearest(folder, nearest)
        if where not in found:
            found[where] = settled(_folder_time(where), started)
    return found


def settled(time: int, started: int) -> int:
    """A time that can be trusted, else 0."""
    return time if time < started - _TICK else 0


# The coarsest clock of a common file system, and some more for clocks that disagree.
_TICK = 3_000_000_000


def _where(kind: str, path: str) -> str:
    return path if kind == "listing" else os.path.dirname(path)


def _nearest(folder: str, known: dict[str, str]) -> str:
    """The folder itself, or the first above it that exists."""
    if folder not in known:
        parent = os.path.dirname(folder)
        known[folder] = folder if os.path.isdir(folder) or parent == folder else _nearest(parent, known)
    return known[folder]


def _look(kind: str, path: str) -> bool | str:
    match kind:
        case "file":
            return os.path.isfile(path)
        case "place":
            return os.path.exists(path)
        case _:
            return listing(python_files(path))


def _time_and_size(path: str) -> tuple[int, int]:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return UNREAD[:2]
    return (status.st_mtime_ns, status.st_size) if stat.S_ISREG(status.st_mode) else UNREAD[:2]


def _folder_time(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except (OSError, ValueError):
        return -1
