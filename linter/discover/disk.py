"""What an analysis sees of the file system, and a note of everything that it saw.

A result holds as long as what was seen stays so. All looking goes through here: files that imports lead to,
and also places where a file was looked for in vain.
"""

from __future__ import annotations

import os
import re
import stat
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, MutableMapping
from contextlib import contextmanager
from typing import TypeVar

Value = TypeVar("Value")

_KEPT_BYTES = 12_000_000

Stamp = tuple[int, int, str]
"""Of a file as it was read: when it was changed (see `time_of`), its size, and a digest of its bytes."""
UNREAD: Stamp = (-1, -1, "")


class Seen:
    """Paths by how they were looked at.

    `contents`: read, for what is told of their outlines. `opened`: read, and anything may have been seen.
    `facets`: (path, name, value) of what else was seen of files that were read. `files`: asked whether a file
    is there. `places`: asked whether anything is there. `listings`: folders whose Python files were listed.
    `matches`: (path, pattern) of files that were asked whether they hold a pattern. `through`: what was seen
    earlier, by values that were used again.
    """

    __slots__ = ("contents", "facets", "files", "listings", "matches", "opened", "places", "through")

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.contents: set[str] = set()
        self.opened: set[str] = set()
        self.facets: set[tuple[str, str, str]] = set()
        self.files: set[str] = set()
        self.places: set[str] = set()
        self.listings: set[str] = set()
        self.matches: set[tuple[str, bytes]] = set()
        self.through: set[Seen] = set()

    def whole(self) -> Seen:
        """All of it in one, what was seen earlier included."""
        total = Seen()
        met: set[Seen] = {self}
        waiting = [self]
        while waiting:
            one = waiting.pop()
            total.contents |= one.contents
            total.opened |= one.opened
            total.facets |= one.facets
            total.files |= one.files
            total.places |= one.places
            total.listings |= one.listings
            total.matches |= one.matches
            waiting.extend(one.through - met)
            met |= one.through
        return total


class Disk:
    """The file system as one run sees it: what was answered once is answered so again.

    `seen` is what the analysis at hand has looked at, `stamps` are those of all files that were read.
    """

    def __init__(self) -> None:
        """Looks at nothing yet."""
        self.seen = Seen()
        self.stamps: dict[str, Stamp] = {}
        self._files: dict[str, bool] = {}
        self._places: dict[str, bool] = {}
        self._listings: dict[str, tuple[str, ...]] = {}
        self._matches: dict[tuple[str, bytes], bool] = {}
        self._texts: OrderedDict[str, str | None] = OrderedDict()
        self._kept = 0

    def is_file(self, path: str) -> bool:
        """Whether a file lies at `path`."""
        self.seen.files.add(path)
        if path not in self._files:
            self._files[path] = os.path.isfile(path)
        return self._files[path]

    def exists(self, path: str) -> bool:
        """Whether a file or folder lies at `path`."""
        self.seen.places.add(path)
        if path not in self._places:
            self._places[path] = os.path.exists(path)
        return self._places[path]

    def python_files(self, folder: str) -> tuple[str, ...]:
        """The paths of the Python files that lie in a folder, in order."""
        self.seen.listings.add(folder)
        if folder not in self._listings:
            self._listings[folder] = python_files(folder)
        return self._listings[folder]

    def holds(self, path: str, pattern: bytes) -> bool:
        """Whether the bytes of a file hold a pattern (multi-line); False where it cannot be read."""
        self.seen.matches.add((path, pattern))
        if (path, pattern) not in self._matches:
            data = self._read(path)
            self._matches[path, pattern] = data is not None and holds(data, pattern)
        return self._matches[path, pattern]

    def text(self, path: str) -> str | None:
        """The text of a Python file with "\\n" line ends; None where there is none or it cannot be decoded."""
        self.seen.contents.add(path)
        if path in self._texts:
            self._texts.move_to_end(path)
            return self._texts[path]
        found = self._texts[path] = text_of(self._read(path))
        self._kept += len(found or "")
        while self._kept > _KEPT_BYTES and len(self._texts) > 1:
            _, dropped = self._texts.popitem(last=False)
            self._kept -= len(dropped or "")
        return found

    def _read(self, path: str) -> bytes | None:
        data, self.stamps[path] = read(path)
        return data

    @contextmanager
    def watching(self) -> Iterator[Seen]:
        """Note apart what is seen in the scope; the notes around it do not get it."""
        outer, self.seen = self.seen, Seen()
        try:
            yield self.seen
        finally:
            self.seen = outer

    def remembered(
        self,
        memory: MutableMapping[Hashable, tuple[Value, Seen]],
        key: Hashable,
        make: Callable[[], Value],
    ) -> Value:
        """A value made from what lies on the disk, made once: who uses it has seen all that went into it."""
        known = memory.get(key)
        if known is None:
            with self.watching() as seen:
                value = make()
            known = memory[key] = (value, seen)
        self.seen.through.add(known[1])
        return known[0]


def python_files(folder: str) -> tuple[str, ...]:
    """The paths of the Python files in a folder, in order; none where it cannot be listed."""
    try:
        names = os.listdir(folder)
    except OSError:
        return ()
    return tuple(os.path.join(folder, name) for name in sorted(names) if name.endswith(".py"))


def holds(data: bytes, pattern: bytes) -> bool:
    """Whether bytes hold a pattern (multi-line)."""
    return re.search(pattern, data, re.MULTILINE) is not None


def read(path: str) -> tuple[bytes | None, Stamp]:
    """The bytes of a file with their stamp; no bytes where it cannot be read or is no plain file."""
    from hashlib import blake2b

    try:
        # The time is taken before the bytes: what is written in between makes them look old, not new.
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            return None, UNREAD
        with open(path, "rb") as stream:
            data = stream.read()
    except (OSError, ValueError):
        return None, UNREAD
    return data, (time_of(status), len(data), blake2b(data, digest_size=12).hexdigest())


def time_of(status: os.stat_result) -> int:
    """When something was changed, in nanoseconds.

    A program can set the time of a file's contents to what it likes, not that of the file's entry; on Windows
    that one tells when the file was made.
    """
    return status.st_mtime_ns if os.name == "nt" else status.st_ctime_ns


def text_of(data: bytes | None) -> str | None:
    """The text of a Python file; None where there is none or it cannot be decoded."""
    from gradguard.discover.decoding import Unreadable, python_text

    if data is None:
        return None
    try:
        return python_text(data)
    except Unreadable:
        return None
