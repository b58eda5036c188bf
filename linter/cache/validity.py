"""Whether what earlier results were made from is still so."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from gradguard.cache.glimpses import Named
from gradguard.cache.manifest import Entry, Manifest
from gradguard.discover.disk import UNREAD, Stamp, holds, python_files, read, text_of, time_of
from gradguard.work.sights import Lookup, listing

if TYPE_CHECKING:
    from gradguard.work.facets import Now


class Validity:
    """Compares a manifest with the disk, looking as little as it can.

    Where times and sizes are as they were, nothing is read; where all of them are, nothing else is looked at.
    """

    def __init__(self, manifest: Manifest, names: Mapping[str, str]) -> None:
        """`names` are those of the files of this run, by path. Looks at nothing yet."""
        self._manifest = manifest
        self._names = names
        self._untouched: bool | None = None
        self._new_folders: list[str] = []
        self._times: dict[str, tuple[int, int]] = {}
        self._now: dict[str, Stamp] = {}
        self._confirmed: dict[str, Stamp] = {}
        self._answers: dict[tuple[str, str], bool | str] = {}
        self._matches: dict[tuple[str, bytes], bool] = {}
        self._so: dict[str, bool] = {}
        self._outlined_so: dict[str, bool] = {}
        self._seen_now: dict[str, Now] = {}
        self._still: dict[str, bool] = {}
        self._nearest: dict[str, str] = {}
        self._changed_ones: frozenset[int] | None = None
        self._renamed_ones: frozenset[int] | None = None

    @property
    def is_untouched(self) -> bool:
        """Whether nothing that any result was made from has another time or size."""
        if self._untouched is None:
            manifest = self._manifest
            self._new_folders = [
                path for path, time in manifest.folders.items() if _folder_time(path) != time
            ]
            self._untouched = not self._new_folders and all(
                self._time_and_size(path) == stamp[:2] for path, stamp in manifest.contents.items()
            )
        return self._untouched

    def is_same(self, path: str, stamp: Stamp) -> bool:
        """Whether a file holds the bytes that it held when it had this stamp."""
        if self._time_and_size(path) == stamp[:2]:
            return True
        if path not in self._now:
            self._now[path] = read(path)[1]
        if self._now[path][2] != stamp[2]:
            return False
        self._confirmed[path] = self._now[path]
        return True

    def changed_files(self) -> dict[str, Stamp]:
        """Files that hold other bytes than results were made from, as far as that was looked at, as they are now."""
        return {path: self._now[path] for path, so in self._so.items() if not so and path in self._now}

    def newer(self, path: str, stamp: Stamp) -> Stamp:
        """The stamp of now, if the file had to be read and holds the same bytes; else the one given."""
        now = self._confirmed.get(path, stamp)
        return now if now[2] == stamp[2] else stamp

    @property
    def is_known_touched(self) -> bool:
        """Whether something was found to be touched."""
        return self._untouched is False

    def is_settling(self, started: int) -> bool:
        """Whether some time that had to be looked behind can be relied on in the next run."""
        return any(settled(stamp[0], started) for stamp in self._confirmed.values()) or any(
            settled(_folder_time(path), started) for path in self._new_folders
        )

    def holds(self, entry: Entry, names: str) -> bool:
        """Whether a result is what an analysis would give in this run, whose names go by `names`."""
        same_names = entry.names == names or (self._is_known(entry) and entry.root not in self._renamed())
        return same_names and self.is_unchanged(entry)

    def is_unchanged(self, entry: Entry) -> bool:
        """Whether all that a result was made from is as it was, whatever the names."""
        return self.is_untouched or (self._is_known(entry) and entry.root not in self._changed())

    def _is_known(self, entry: Entry) -> bool:
        return entry.root in self._manifest.details.glimpses

    def _changed(self) -> frozenset[int]:
        """The glimpses of which something, or something behind it, is not as it was."""
        if self._changed_ones is None:
            details = self._manifest.details
            lookups = {one for one in set(details.lookups) if not self._is_answer(*one)}
            matches = {one for one in set(details.matches) if not self._is_match(*one)}
            own = [
                number
                for number, glimpse in details.glimpses.items()
                if not self._is_read_so(glimpse)
                or (lookups and not lookups.isdisjoint(glimpse.lookups))
                or (matches and not matches.isdisjoint(glimpse.matches))
            ]
            self._changed_ones = _with_those_before(own, details.glimpses)
        return self._changed_ones

    def _renamed(self) -> frozenset[int]:
        """The glimpses of which this run calls some file otherwise."""
        if self._renamed_ones is None:
            glimpses = self._manifest.details.glimpses
            own = [
                number
                for number, glimpse in glimpses.items()
                if any(self._names.get(path) != name for path, name in glimpse.contents)
            ]
            self._renamed_ones = _with_those_before(own, glimpses)
        return self._renamed_ones

    def _is_read_so(self, glimpse: Named) -> bool:
        """Whether what was seen of the files that were read is as it was."""
        changed = [path for path, _ in glimpse.contents if not self._is_content_so(path)]
        return not changed or (
            set(changed).isdisjoint(glimpse.opened)
            and all(map(self.is_outlined_so, changed))
            and all(self._has(*facet) for facet in glimpse.facets if facet[0] in changed)
        )

    def _is_content_so(self, path: str) -> bool:
        if path not in self._so:
            stamp = self._manifest.contents.get(path)
            self._so[path] = stamp is not None and self.is_same(path, stamp)
        return self._so[path]

    def is_outlined_so(self, path: str) -> bool:
        """Whether what was outlined of a changed file is as it was."""
        if path not in self._outlined_so:
            told = self._manifest.details.outlined.get(path)
            so = told is not None and all(self._has(path, name, value) for name, value in told.items())
            self._outlined_so[path] = so
        return self._outlined_so[path]

    def _has(self, path: str, name: str, value: str) -> bool:
        """Whether this is still to be seen of a changed file."""
        if path not in self._seen_now:
            from gradguard.work.facets import Now

            self._seen_now[path] = Now(text_of(read(path)[0]) or "")
        return self._seen_now[path].has(name, value)

    def _is_answer(self, kind: str, path: str, answer: bool | str) -> bool:
        folder = _nearest(_where(kind, path), self._nearest)
        if folder not in self._still:
            time = self._manifest.folders.get(folder)
            self._still[folder] = time is not None and time == _folder_time(folder)
        if self._still[folder]:
            return True
        if (kind, path) not in self._answers:
            self._answers[kind, path] = _look(kind, path)
        return self._answers[kind, path] == answer

    def _is_match(self, path: str, pattern: bytes, answer: bool) -> bool:
        if self._is_content_so(path):
            return True
        if (path, pattern) not in self._matches:
            data = read(path)[0]
            self._matches[path, pattern] = data is not None and holds(data, pattern)
        return self._matches[path, pattern] == answer

    def _time_and_size(self, path: str) -> tuple[int, int]:
        if path not in self._times:
            self._times[path] = _time_and_size(path)
        return self._times[path]


def _with_those_before(start: Iterable[int], glimpses: Mapping[int, Named]) -> frozenset[int]:
    """These glimpses and all that they are behind. A missing one is taken for changed."""
    before: dict[int, list[int]] = {}
    met = set(start)
    for number, glimpse in glimpses.items():
        for inner in glimpse.through:
            before.setdefault(inner, []).append(number)
    met.update(inner for inner in before if inner not in glimpses)
    waiting = list(met)
    while waiting:
        news = [number for number in before.get(waiting.pop(), ()) if number not in met]
        met.update(news)
        waiting.extend(news)
    return frozenset(met)


def searched_folders(lookups: Iterable[Lookup], started: int) -> dict[str, int]:
    """The folders in which a change of what lookups found would show, with their times.

    A time that is not clearly before `started` (nanoseconds) is given as 0: the folder may change again
    within the same tick.
    """
    found: dict[str, int] = {}
    nearest: dict[str, str] = {}
    for folder in {_where(kind, path) for kind, path, _ in set(lookups)}:
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
    return (time_of(status), status.st_size) if stat.S_ISREG(status.st_mode) else UNREAD[:2]


def _folder_time(path: str) -> int:
    try:
        return time_of(os.stat(path))
    except (OSError, ValueError):
        return -1
