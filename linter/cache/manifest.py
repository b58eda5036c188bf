"""One file of the cache: what is known of the files that a working folder's runs have met.

It is two JSON documents, each with a checksum: one that every run reads, and one that tells what each result
was made from, which is needed only where something has changed. JSON, since whoever can put a file into a
folder must not thereby be able to run code.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from gradguard.cache.encoding import failure_from_list, failure_to_list, finding_from_list, finding_to_list
from gradguard.discover.disk import Stamp
from gradguard.findings import Failure, Finding
from gradguard.work.sights import Glimpse

FORMAT = "1"
CLEAN, SUSPECT, FOLLOWED = 0, 1, 2
"""What a file is: checked and without anything that a finding needs, checked and analysed, only followed."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The result of a file. `checked` names the set of files that its findings were allowed to lie in, `root` is
    the number of the glimpse that it was made from; `commented`: the file holds a comment that speaks to us."""

    filename: str
    checked: str
    commented: bool
    findings: tuple[Finding, ...]
    unparsed: Failure | None
    root: int


@dataclass(slots=True)
class Manifest:
    """What is known: stamps and kinds of files by path, the results of those analysed, times of the folders
    that were searched, sets of checked files by name. `details` are glimpses that nobody has asked for yet."""

    stamps: dict[str, Stamp] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    checked: dict[str, frozenset[str]] = field(default_factory=dict)
    details: bytes = b""
    _glimpses: dict[int, Glimpse] | None = None

    def glimpses(self) -> dict[int, Glimpse]:
        """What the results were made from, by number; empty where that part is damaged."""
        if self._glimpses is None:
            try:
                self._glimpses = _to_glimpses(_checked_json(self.details)) if self.details else {}
            except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
                self._glimpses = {}
        return self._glimpses


def manifest_from(data: bytes | None) -> Manifest:
    """What was written by `manifest_to`; an empty manifest where the bytes are anything else."""
    if data is None:
        return Manifest()
    try:
        head, _, details = data.partition(b"\n")
        told = _checked_json(head)
        if told["format"] != FORMAT:
            return Manifest()
        manifest = Manifest(details=details)
        for path, time, size, digest, kind in told["files"]:
            manifest.stamps[path] = (time, size, digest)
            manifest.kinds[path] = kind
        manifest.folders = {str(path): int(time) for path, time in told["folders"]}
        manifest.checked = {str(name): frozenset(paths) for name, paths in told["checked"].items()}
        for path, filename, checked, commented, findings, unparsed, root in told["entries"]:
            manifest.entries[path] = Entry(
                filename,
                checked,
                bool(commented),
                tuple(map(finding_from_list, findings)),
                failure_from_list(unparsed),
                int(root),
            )
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return Manifest()
    return manifest


def manifest_to(manifest: Manifest) -> bytes:
    """The bytes of a manifest; glimpses that no result needs are left out."""
    glimpses = manifest.glimpses()
    numbers = {old: new for new, old in enumerate(_needed(manifest, glimpses))}
    head = {
        "format": FORMAT,
        "files": [[path, *stamp, manifest.kinds[path]] for path, stamp in manifest.stamps.items()],
        "folders": list(manifest.folders.items()),
        "checked": {name: sorted(manifest.checked[name]) for name in sorted(_names_used(manifest))},
        "entries": [
            [
                path,
                entry.filename,
                entry.checked,
                entry.commented,
                list(map(finding_to_list, entry.findings)),
                failure_to_list(entry.unparsed),
                numbers[entry.root],
            ]
            for path, entry in manifest.entries.items()
            if entry.root in numbers
        ],
    }
    details = _from_glimpses([glimpses[old] for old in numbers], numbers)
    return _with_checksum(head) + b"\n" + _with_checksum(details)


def _names_used(manifest: Manifest) -> set[str]:
    return {entry.checked for entry in manifest.entries.values()} & manifest.checked.keys()


def _needed(manifest: Manifest, glimpses: dict[int, Glimpse]) -> Iterable[int]:
    waiting = [entry.root for entry in manifest.entries.values()]
    met: dict[int, None] = {}
    while waiting:
        number = waiting.pop()
        if number not in met and number in glimpses:
            met[number] = None
            waiting.extend(glimpses[number].through)
    return met


def _from_glimpses(glimpses: list[Glimpse], numbers: dict[int, int]) -> dict[str, Any]:
    texts: dict[str, int] = {}

    def text(told: str) -> int:
        return texts.setdefault(told, len(texts))

    told = [
        [
            [text(path) for path in glimpse.contents],
            [part for kind, path, answer in glimpse.lookups for part in (kind[0], text(path), answer)],
            [
                part
                for path, pattern, answer in glimpse.matches
                for part in (text(path), text(pattern.decode("latin-1")), answer)
            ],
            [numbers[inner] for inner in glimpse.through if inner in numbers],
        ]
        for glimpse in glimpses
    ]
    return {"texts": list(texts), "glimpses": told}


_KIND_OF = {"f": "file", "p": "place", "l": "listing"}


def _to_glimpses(told: dict[str, Any]) -> dict[int, Glimpse]:
    texts: list[str] = told["texts"]
    found: dict[int, Glimpse] = {}
    for number, (contents, lookups, matches, through) in enumerate(told["glimpses"]):
        found[number] = Glimpse(
            tuple([texts[path] for path in contents]),
            tuple(
                (_KIND_OF[kind], texts[path], answer)
                for kind, path, answer in zip(lookups[::3], lookups[1::3], lookups[2::3], strict=True)
            ),
            tuple(
                (texts[path], texts[pattern].encode("latin-1"), answer)
                for path, pattern, answer in zip(matches[::3], matches[1::3], matches[2::3], strict=True)
            ),
            tuple(through),
        )
    return found


def _with_checksum(told: dict[str, Any]) -> bytes:
    data = json.dumps(told, separators=(",", ":"), ensure_ascii=True).encode("ascii")
    return b"%08x " % crc32(data) + data


def _checked_json(data: bytes) -> dict[str, Any]:
    """Raises ValueError where the checksum is not that of the document."""
    if data[8:9] != b" " or int(data[:8], 16) != crc32(data[9:]):
        raise ValueError("damaged")
    told = json.loads(data[9:])
    if not isinstance(told, dict):
        raise ValueError("not a manifest")
    return told
