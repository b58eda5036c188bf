"""What earlier runs of a working folder know of its files, and what this run adds."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import replace
from time import time_ns

from gradguard.cache import folder as cache_folder
from gradguard.cache.identity import program_key
from gradguard.cache.manifest import CLEAN, FOLLOWED, SUSPECT, Entry, manifest_from, manifest_to
from gradguard.cache.validity import Validity, searched_folders, settled
from gradguard.discover.disk import Stamp, read
from gradguard.discover.load import Clean, Known, Loaded, load_bytes, load_file
from gradguard.discover.walk import Target
from gradguard.settings.model import Settings
from gradguard.source import Source
from gradguard.work.result import Result
from gradguard.work.sights import Sights

MOST_BYTES = 60_000_000
"""Size above which a manifest keeps only what its last run has used."""

# Of a file that was read twice in a run with different bytes: no file is ever like this.
_TORN: Stamp = (0, -2, "?")


class Memory:
    """The cache for the files of one working folder that the same settings hold for."""

    def __init__(self, folder: str, settings: Settings, working_folder: str) -> None:
        """`folder` is the cache folder, which need not exist."""
        self._folder = folder
        self._name = _name(settings, working_folder)
        self._started = time_ns()
        self._manifest = manifest_from(cache_folder.read(folder, self._name))
        self._validity = Validity(self._manifest)
        self._checked: frozenset[str] = frozenset()
        self._checked_name = ""
        self._numbers: dict[tuple[int, int], int] = {}
        self._first = 0
        self._read: dict[str, tuple[Stamp, int]] = {}
        self._used: set[str] = set()
        self._learned = False

    def open_all(
        self, targets: Sequence[Target], is_suspect: Callable[[bytes, str], bool]
    ) -> dict[str, Loaded]:
        """The files by path: those that must be analysed as sources, others as what is known of them."""
        found: dict[str, Loaded] = {}
        kinds: dict[str, int] = {}
        for target in targets:
            kind = self._known_kind(target.path)
            if kind == FOLLOWED:
                found[target.path] = loaded = self._load(target, is_suspect)
                kinds[target.path] = _kind_of(loaded)
            else:
                kinds[target.path] = kind
        self._set_checked(path for path, kind in kinds.items() if kind == SUSPECT)
        for target in targets:
            if target.path not in found:
                is_clean = kinds[target.path] == CLEAN
                found[target.path] = (
                    Clean(target.filename) if is_clean else self._recalled(target, is_suspect)
                )
        self._forget_others(kinds)
        # Only now: until here the old stamps told what has changed.
        for path, (stamp, kind) in self._read.items():
            self._manifest.stamps[path], self._manifest.kinds[path] = stamp, kind
        return found

    def learn(self, source: Source, result: Result, process: int, sights: Sights, commented: bool) -> None:
        """Note the result of a file of this run; `process` tells whose numbers the sights use."""
        glimpses = self._manifest.glimpses()
        for number, glimpse in sights.glimpses.items():
            through = tuple([self._number(process, inner) for inner in glimpse.through])
            glimpses[self._number(process, number)] = replace(glimpse, through=through)
        for path, stamp in sights.stamps.items():
            self._note_followed(path, stamp)
        if result.broken is not None or source.path not in self._read:
            return
        self._learned = True
        self._used.add(source.path)
        self._manifest.entries[source.path] = Entry(
            source.filename,
            self._checked_name,
            commented,
            result.findings,
            result.unparsed,
            self._number(process, sights.root),
        )

    def save(self) -> None:
        """Write down what was learned, if anything was. What cannot be written is forgotten."""
        if not self._learned and not self._validity.has_settled(self._started):
            return
        manifest = self._manifest
        for path, stamp in manifest.stamps.items():
            if stamp[0] > 0:
                manifest.stamps[path] = (settled(stamp[0], self._started), *stamp[1:])
        manifest.folders = searched_folders(manifest.glimpses().values(), self._started)
        data = manifest_to(manifest)
        if len(data) > MOST_BYTES:
            manifest.entries = {path: one for path, one in manifest.entries.items() if path in self._used}
            data = manifest_to(manifest)
        if len(data) <= MOST_BYTES:
            cache_folder.write(self._folder, self._name, data)

    def _known_kind(self, path: str) -> int:
        """What an unchanged file is known to be; FOLLOWED where it has to be looked at."""
        kind = self._manifest.kinds.get(path, FOLLOWED)
        return FOLLOWED if kind == FOLLOWED or self._validity.has_changed(path) else kind

    def _load(self, target: Target, is_suspect: Callable[[bytes, str], bool]) -> Loaded:
        data, stamp = read(target.path)
        if data is None:
            # Once more, for the reason.
            return load_file(target, is_suspect)
        loaded = load_bytes(data, target.filename, target.path, is_suspect)
        if isinstance(loaded, Clean | Source):
            self._read[target.path] = stamp, _kind_of(loaded)
            self._learned = True
        return loaded

    def _recalled(self, target: Target, is_suspect: Callable[[bytes, str], bool]) -> Loaded:
        """What is known of an analysed file, if all that it was made from is as it was."""
        entry = self._manifest.entries.get(target.path)
        holds = entry is not None and self._validity.holds(entry, self._checked, self._checked_name)
        if entry is None or not holds or entry.filename != target.filename:
            return self._load(target, is_suspect)
        self._used.add(target.path)
        self._manifest.entries[target.path] = replace(entry, checked=self._checked_name)
        return Known(target.filename, entry.findings, entry.unparsed, entry.commented)

    def _set_checked(self, paths: Iterable[str]) -> None:
        from hashlib import blake2b

        self._checked = frozenset(paths)
        text = "\0".join(sorted(self._checked)).encode("utf-8", "surrogateescape")
        self._checked_name = blake2b(text, digest_size=12).hexdigest()
        self._manifest.checked[self._checked_name] = self._checked

    def _forget_others(self, mine: Container[str]) -> None:
        """Drop results of files that this run is not about and that would not hold any more.

        What is learned here changes what the manifest says of the files that they were made from.
        """
        if self._validity.untouched:
            return
        entries = self._manifest.entries
        for path in [path for path in entries if path not in mine]:
            entry = entries[path]
            if not self._validity.holds(
                entry, self._manifest.checked.get(entry.checked, frozenset()), entry.checked
            ):
                del entries[path]

    def _note_followed(self, path: str, stamp: Stamp) -> None:
        manifest = self._manifest
        known = self._read[path][0] if path in self._read else manifest.stamps.get(path)
        if known is None or (self._validity.has_changed(path) and path not in self._read):
            manifest.stamps[path] = stamp
            manifest.kinds[path] = FOLLOWED
            self._read[path] = stamp, FOLLOWED
        elif known[2] != stamp[2]:
            manifest.stamps[path] = _TORN

    def _number(self, process: int, number: int) -> int:
        """A glimpse's number in the manifest."""
        if not self._numbers:
            self._first = 1 + max(self._manifest.glimpses(), default=-1)
        return self._numbers.setdefault((process, number), self._first + len(self._numbers))


def _kind_of(loaded: Loaded) -> int:
    match loaded:
        case Clean():
            return CLEAN
        case Source():
            return SUSPECT
        case _:
            return FOLLOWED


def _name(settings: Settings, working_folder: str) -> str:
    from hashlib import blake2b

    told = (program_key(), working_folder, settings.root, settings.file, settings.fingerprint())
    text = "\0".join(told).encode("utf-8", "surrogateescape")
    return blake2b(text, digest_size=12).hexdigest() + cache_folder.SUFFIX
