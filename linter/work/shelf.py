"""The modules of a group that are open."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from gradguard.discover.disk import Disk
from gradguard.findings import Failure
from gradguard.lower.module import Module
from gradguard.lower.reading import Reading
from gradguard.source import Source
from gradguard.work.watched import Watched

if TYPE_CHECKING:
    from gradguard.findings import Finding

OPEN_BYTES = 4_000_000
"""Bytes of text whose modules are kept open between two files."""


class Shelf:
    """Opens the modules that are asked for, and notes on `disk` what is seen of them."""

    def __init__(
        self, disk: Disk, source_of: Callable[[str], Source | None], miscut: AbstractSet[str]
    ) -> None:
        """`source_of` reads the source at a path; `miscut` are the paths of those that must be parsed whole."""
        self._disk = disk
        self._miscut = miscut
        self._source_of = source_of
        self._open: OrderedDict[str, Module | None] = OrderedDict()
        self._new: list[Module] = []

    def put(self, key: str, source: Source) -> tuple[Module | None, Failure | None, Finding | None]:
        """Open a source anew; where it cannot be parsed there is no module, and why there is none."""
        from gradguard.pipeline import open_source

        reading = Reading.TREE if key in self._miscut else Reading.ROWS
        module, unparsed, told = open_source(source, reading)
        if isinstance(module, Module):
            module = Watched(module, key, self._disk)
            self._new.append(module)
        if module is not None:
            self._open[key] = module
        return module, unparsed, told

    def at(self, path: str) -> Module | None:
        """The module of a file that an import leads to; None where it does not exist or cannot be parsed."""
        self._disk.seen.contents.add(path)
        if path not in self._open:
            source = self._source_of(path)
            self._open[path] = None
            if source is not None:
                self.put(path, source)
        self._open.move_to_end(path)
        module = self._open[path]
        if isinstance(module, Watched):
            module.note_opened()
        else:
            self._disk.seen.opened.add(path)
        return module

    def drop(self, path: str) -> None:
        """Let go of a module."""
        self._open.pop(path, None)

    def close_some(self) -> None:
        """Let go of the trees of all modules, and of the modules that were not asked for in the longest time."""
        for opened in self._new:
            opened.forget_trees()
        self._new.clear()
        kept = sum(map(_bytes, self._open.values()))
        while kept > OPEN_BYTES and len(self._open) > 1:
            _, module = self._open.popitem(last=False)
            kept -= _bytes(module)


def _bytes(module: Module | None) -> int:
    if module is None:
        return 0
    return len((module.untold_source if isinstance(module, Watched) else module.source).text)
