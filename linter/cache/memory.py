"""What earlier runs of a working folder know of its files, and what this run adds."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from time import time_ns

from gradguard.cache import folder as cache_folder
from gradguard.cache.identity import program_key
from gradguard.cache.manifest import CLEAN, SUSPECT, Entry, Manifest, manifest_from, manifest_to
from gradguard.cache.validity import Validity, searched_folders, settled
from gradguard.discover.disk import UNREAD, Stamp, read
from gradguard.discover.load import Clean, Known, Loaded, load_bytes, load_file
from gradguard.discover.walk import Target
from gradguard.rule import Rule
from gradguard.settings.model import Settings
from gradguard.source import Source
from gradguard.work.result import Result
from gradguard.work.sights import Sights

MOST_BYTES = 60_000_000
"""Size above which a manifest keeps only what its last run has used."""
FEW = 16
"""Files that are read sooner than the manifest."""

# Of a file that was read twice in a run with different bytes: no file is ever like this.
_TORN: Stamp = (0, -2, "?")
_GONE = (UNREAD, 0)


class Memory:
    """The cache for the files of one working folder that the same settings hold for."""

    def __init__(self, folder: str, settings: Settings, working_folder: str) -> None:
        """`folder` is the cache folder, which need not exist. Nothing is read yet."""
        self._folder = folder
        self._settings = settings
        self._working_folder = working_folder
        self._started = time_ns()
        self._name = ""
        self._manifest = Manifest()
        self._validity = Validity(self._manifest, {})
        self._names: Mapping[str, str] = {}
        self._names_key = ""
        self._numbers: dict[tuple[int, int], int] = {}
        self._first = 0
        self._read: dict[str, Stamp] = {}
        self._noted: dict[str, Stamp] = {}
        self._used: set[str] = set()
        self._learned = False

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules without their checks; none where they are not known."""
        return self._manifest.rules

    @rules.setter
    def rules(self, rules: tuple[Rule, ...]) -> None:
        self._manifest.rules = rules

    def open_all(
        self,
        targets: Sequence[Target],
        names: Mapping[str, str],
        is_suspect: Callable[[bytes, str], bool],
    ) -> dict[str, Loaded]:
        """The files by path: those that must be analysed as sources, others as what is known of them.

        `names` are those of all files of the run by path, also of those that other settings hold for.
        """
        if len(targets) <= FEW:
            found = {target.path: load_file(target, is_suspect) for target in targets}
            if not any(isinstance(loaded, Source) for loaded in found.values()):
                return found
        self._open(names)
        found = {}
        for target in targets:
            kind = self._known_kind(target.path)
            if kind == CLEAN:
                found[target.path] = Clean(target.filename)
            elif kind != SUSPECT:
                found[target.path] = self._load(target, is_suspect)
        for target in targets:
            if target.path not in found:
                found[target.path] = self._recalled(target, is_suspect)
        self._settle(found)
        return found

    def learn(self, source: Source, result: Result, process: int, sights: Sights, commented: bool) -> None:
        """Note the result of a file of this run; `process` tells whose numbers the sights use."""
        details = self._manifest.details
        for number, glimpse in sights.glimpses.items():
            through = tuple([self._number(process, inner) for inner in glimpse.through])
            details.add(self._number(process, number), glimpse, self._names, through)
        for path, stamp in sights.stamps.items():
            self._note(path, stamp)
        for path, facets in sights.outlined.items():
            if self._manifest.contents.get(path) != _TORN:
                details.outlined.setdefault(path, {}).update(facets)
        if result.broken is not None or source.path not in self._read:
            return
        self._learned = True
        self._used.add(source.path)
        self._manifest.entries[source.path] = Entry(
            self._names_key, commented, result.findings, result.unparsed, self._number(process, sights.root)
        )

    def save(self) -> None:
        """Write down what was learned, if anything was. What cannot be written is forgotten."""
        if not self._name or not (self._learned or self._validity.is_settling(self._started)):
            return
        manifest = self._manifest
        manifest.files = {
            path: (self._settled(self._validity.newer(path, stamp)), kind)
            for path, (stamp, kind) in manifest.files.items()
            if path in self._names or os.path.exists(path)
        }
        manifest.contents = {
            path: self._settled(self._validity.newer(path, stamp))
            for path, stamp in manifest.contents.items()
        }
        manifest.entries = {
            path: one
            for path, one in manifest.entries.items()
            if manifest.files.get(path, _GONE)[1] == SUSPECT
        }
        if manifest.is_detailed:
            manifest.folders = searched_folders(manifest.details.lookups, self._started)
        data = manifest_to(manifest)
        if len(data) > MOST_BYTES:
            manifest.entries = {path: one for path, one in manifest.entries.items() if path in self._used}
            data = manifest_to(manifest)
        if len(data) <= MOST_BYTES:
            cache_folder.write(self._folder, self._name, data)

    def _open(self, names: Mapping[str, str]) -> None:
        self._name = _name(self._settings, self._working_folder)
        self._manifest = manifest_from(cache_folder.read(self._folder, self._name))
        self._validity = Validity(self._manifest, names)
        self._names = names
        self._names_key = _key_of(names)

    def _known_kind(self, path: str) -> int:
        """What an unchanged file is known to be, else 0."""
        known = self._manifest.files.get(path)
        return known[1] if known is not None and self._validity.is_same(path, known[0]) else 0

    def _load(self, target: Target, is_suspect: Callable[[bytes, str], bool]) -> Loaded:
        data, stamp = read(target.path)
        if data is None:
            # Once more, for the reason.
            return load_file(target, is_suspect)
        loaded = load_bytes(data, target.filename, target.path, is_suspect)
        if isinstance(loaded, Clean | Source):
            self._read[target.path] = stamp
        return loaded

    def _recalled(self, target: Target, is_suspect: Callable[[bytes, str], bool]) -> Loaded:
        """What is known of an analysed file, if all that it was made from is as it was."""
        entry = self._manifest.entries.get(target.path)
        if entry is None or not self._validity.holds(entry, self._names_key):
            return self._load(target, is_suspect)
        self._used.add(target.path)
        if entry.names != self._names_key:
            self._manifest.entries[target.path] = replace(entry, names=self._names_key)
        return Known(target.filename, entry.findings, entry.unparsed, entry.commented)

    def _settle(self, found: Mapping[str, Loaded]) -> None:
        """Take over what was read, now that the old stamps have told what has changed."""
        sources = [path for path, loaded in found.items() if isinstance(loaded, Source)]
        forgotten = (sources or self._validity.is_known_touched) and self._forget_others(found)
        # What is left has seen nothing of what has changed in these.
        changed = self._validity.changed_files()
        self._manifest.contents.update(changed)
        for path in changed:
            if not self._validity.is_outlined_so(path):
                self._manifest.details.outlined.pop(path, None)
        for path in sources:
            self._manifest.entries.pop(path, None)
            if path in self._read:
                self._manifest.contents[path] = self._noted[path] = self._read[path]
        for path, stamp in self._read.items():
            self._manifest.files[path] = stamp, SUSPECT if isinstance(found[path], Source) else CLEAN
        self._learned = bool(forgotten or changed) or len(self._read) > FEW

    def _forget_others(self, mine: Container[str]) -> bool:
        """Drop results of files that this run is not about and that do not hold any more; whether there were any.

        What is learned here changes what the manifest says of the files that they were made from.
        """
        entries = self._manifest.entries
        others = [path for path in entries if path not in mine]
        dropped = [path for path in others if not self._validity.is_unchanged(entries[path])]
        for path in dropped:
            del entries[path]
        return bool(dropped)

    def _note(self, path: str, stamp: Stamp) -> None:
        """A file was read, by whatever process, in the course of an analysis."""
        contents = self._manifest.contents
        known = self._noted.get(path)
        if known is None:
            before = contents.get(path)
            if before is not None and before[2] != stamp[2] and self._validity.is_same(path, before):
                # It was as before when earlier results were found to hold.
                stamp = _TORN
        elif known[2] != stamp[2]:
            stamp = _TORN
        contents[path] = self._noted[path] = stamp
        if stamp == _TORN:
            # Nobody knows of which bytes it was told.
            self._manifest.details.outlined.pop(path, None)

    def _settled(self, stamp: Stamp) -> Stamp:
        return (settled(stamp[0], self._started), *stamp[1:]) if stamp[0] > 0 else stamp

    def _number(self, process: int, number: int) -> int:
        """A glimpse's number in the manifest."""
        if not self._numbers:
            self._first = 1 + max(self._manifest.details.glimpses, default=-1)
        return self._numbers.setdefault((process, number), self._first + len(self._numbers))


def _key_of(names: Mapping[str, str]) -> str:
    from hashlib import blake2b

    text = "\0".join([part for pair in names.items() for part in pair])
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()


def _name(settings: Settings, working_folder: str) -> str:
    from hashlib import blake2b

    told = (program_key(), working_folder, settings.root, settings.file, settings.fingerprint())
    text = "\0".join(told).encode("utf-8", "surrogateescape")
    return blake2b(text, digest_size=12).hexdigest() + cache_folder.SUFFIX
