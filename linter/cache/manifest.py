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

from gradguard.cache.encoding import (
    failure_from_list,
    failure_to_list,
    finding_from_list,
    finding_to_list,
    rule_from_list,
    rule_to_list,
)
from gradguard.cache.glimpses import Details, Named, details_from, details_to
from gradguard.discover.disk import Stamp
from gradguard.findings import Failure, Finding
from gradguard.rule import Rule

FORMAT = "2"
CLEAN, SUSPECT = 1, 2
"""What a checked file is: without anything that a finding needs, or analysed."""
_CONTENT = 4

_WRONG = (ValueError, TypeError, LookupError, AttributeError, RecursionError, OverflowError)


@dataclass(frozen=True, slots=True)
class Entry:
    """The result of a file. `names` tells under which names of files it was last known to hold, `root` is the
    number of the glimpse that it was made from; `commented`: the file holds a comment that speaks to us."""

    names: str
    commented: bool
    findings: tuple[Finding, ...]
    unparsed: Failure | None
    root: int


@dataclass(slots=True)
class Manifest:
    """What is known.

    `files`: stamps and kinds of checked files; `entries`: the results of those that are suspect; `contents`:
    stamps of all files that results were made from; `folders`: times of those that were searched. `rules` come
    without their checks. `unread` are details that nobody has asked for yet.
    """

    files: dict[str, tuple[Stamp, int]] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    contents: dict[str, Stamp] = field(default_factory=dict)
    folders: dict[str, int] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    unread: bytes = b""
    _details: Details | None = None

    @property
    def details(self) -> Details:
        """What the results were made from; empty where that part is damaged."""
        if self._details is None:
            try:
                self._details = details_from(_checked_json(self.unread)) if self.unread else Details()
            except _WRONG:
                self._details = Details()
        return self._details

    @property
    def is_detailed(self) -> bool:
        """Whether the details were asked for, and may thus have changed."""
        return self._details is not None


def manifest_from(data: bytes | None) -> Manifest:
    """What was written by `manifest_to`; an empty manifest where the bytes are anything else."""
    if data is None:
        return Manifest()
    try:
        head, _, details = data.partition(b"\n")
        told = _checked_json(head)
        if told["format"] != FORMAT:
            return Manifest()
        manifest = Manifest(unread=details)
        _read_stamps(told["stamps"], manifest)
        manifest.folders = {_path(path): int(time) for path, time in told["folders"]}
        manifest.rules = tuple(map(rule_from_list, told["rules"]))
        for path, names, commented, findings, unparsed, root in told["entries"]:
            manifest.entries[_path(path)] = Entry(
                names,
                bool(commented),
                tuple(map(finding_from_list, findings)),
                failure_from_list(unparsed),
                int(root),
            )
    except _WRONG:
        return Manifest()
    return manifest


def manifest_to(manifest: Manifest) -> bytes:
    """The bytes of a manifest; glimpses that no result needs are left out, and the stamps for them."""
    if manifest.is_detailed:
        glimpses = manifest.details.glimpses
        numbers = {old: new for new, old in enumerate(_needed(manifest, glimpses))}
        needed = {path for old in numbers for path, *_ in (*glimpses[old].contents, *glimpses[old].matches)}
        outlined = {path: told for path, told in manifest.details.outlined.items() if path in needed}
        details = _with_checksum(details_to(Details(glimpses, outlined), numbers))
        contents = {path: stamp for path, stamp in manifest.contents.items() if path in needed}
    else:
        numbers = {entry.root: entry.root for entry in manifest.entries.values()}
        details, contents = manifest.unread, manifest.contents
    head = {
        "format": FORMAT,
        "stamps": _stamps_to(manifest.files, contents),
        "folders": list(manifest.folders.items()),
        "rules": list(map(rule_to_list, manifest.rules)),
        "entries": [
            [
                path,
                entry.names,
                entry.commented,
                list(map(finding_to_list, entry.findings)),
                failure_to_list(entry.unparsed),
                numbers[entry.root],
            ]
            for path, entry in manifest.entries.items()
            if entry.root in numbers
        ],
    }
    return _with_checksum(head) + b"\n" + details


def _stamps_to(files: dict[str, tuple[Stamp, int]], contents: dict[str, Stamp]) -> list[list[Any]]:
    """Columns: paths, times, sizes, digests and roles. Columns are read faster than rows."""
    rows: list[tuple[str, int, int, str, int]] = []
    for path, (stamp, kind) in files.items():
        rows.append((path, *stamp, kind | (_CONTENT if contents.get(path) == stamp else 0)))
    for path, stamp in contents.items():
        if path not in files or files[path][0] != stamp:
            rows.append((path, *stamp, _CONTENT))
    return [list(column) for column in zip(*rows, strict=True)] or [[], [], [], [], []]


def _read_stamps(columns: list[list[Any]], manifest: Manifest) -> None:
    paths, times, sizes, digests, roles = columns
    if not (_are(str, paths) and _are(int, times) and _are(int, sizes) and _are(str, digests)):
        raise TypeError("not stamps")
    stamps = zip(times, sizes, digests, strict=True)
    for path, stamp, role in zip(paths, stamps, roles, strict=True):
        kind = role & ~_CONTENT
        if kind:
            manifest.files[path] = (stamp, kind)
        if role & _CONTENT:
            manifest.contents[path] = stamp


def _are(kind: type, values: list[Any]) -> bool:
    return set(map(type, values)) <= {kind}


def _path(told: object) -> str:
    if not isinstance(told, str):
        raise TypeError("not a path")
    return told


def _needed(manifest: Manifest, glimpses: dict[int, Named]) -> Iterable[int]:
    waiting = [entry.root for entry in manifest.entries.values()]
    met: dict[int, None] = {}
    while waiting:
        number = waiting.pop()
        if number not in met and number in glimpses:
            met[number] = None
            waiting.extend(glimpses[number].through)
    return met


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
