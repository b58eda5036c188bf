"""The analysis of the files of one group, one by one, sharing what they follow."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradguard.discover.disk import Disk
from gradguard.findings import Failure, Finding
from gradguard.lower.module import Module
from gradguard.settings.model import Settings
from gradguard.source import Source
from gradguard.work.facets import Facet, Outlined
from gradguard.work.limits import CPU_SECONDS, OutOfTime, limited_time, same_room
from gradguard.work.result import Result
from gradguard.work.watched import Watched

OPEN_BYTES = 4_000_000
"""Bytes of text whose modules are kept open between two files."""


@dataclass(frozen=True, slots=True)
class Group:
    """The files that the same settings hold for.

    `names` are the shown names of all files of the run by their paths, `checked` the keys of those that are
    analysed, `loose` the sources that lie in no file.
    """

    settings: Settings
    names: Mapping[str, str] = field(default_factory=dict)
    checked: frozenset[str] = frozenset()
    loose: tuple[Source, ...] = ()


class Analysis:
    """Analyses files of a group. Each result is the same whatever was analysed before."""

    def __init__(self, group: Group, seconds: float = CPU_SECONDS) -> None:
        """Loads what is known of frameworks; `seconds` are granted to each file."""
        self._group = group
        self._seconds = seconds
        self._start_anew()

    @property
    def disk(self) -> Disk:
        """The file system as the files analysed so far saw it."""
        return self._disk

    def outlined(self) -> dict[str, set[Facet]]:
        """What was taken from the texts of files since this was last asked."""
        return self._outlined.news()

    def of(self, source: Source) -> Result:
        """Analyse one file. Never raises: what goes wrong is told of this file alone."""
        try:
            with self._disk.watching() as seen, same_room(), limited_time(self._seconds):
                findings, unparsed = self._findings(source)
            return Result(tuple(findings), unparsed, None, seen)
        except OutOfTime:
            reason = f"the analysis was given up after {self._seconds:.0f} seconds"
        except (Exception, RecursionError) as error:
            reason = f"gradguard itself failed here ({type(error).__name__}: {error}), please report this"
        # What it was about to write down may be half written.
        self._start_anew()
        return Result(broken=Failure(source.filename, reason))

    def _start_anew(self) -> None:
        from gradguard.facts.tables import load
        from gradguard.infer.imports import Imports
        from gradguard.infer.reach import Reach

        self._facts = load(dict(self._group.settings.frameworks))
        self._disk = Disk()
        self._loose = {key_of(source): source for source in self._group.loose}
        self._imports = Imports(set(self._loose), self._disk, unfollowed=self._facts.unfollowed)
        self._reach = Reach(self._imports, self._text)
        self._open: OrderedDict[str, Module | None] = OrderedDict()
        self._at_hand: Source | None = None
        self._outlined = Outlined(self._reach)

    def _findings(self, source: Source) -> tuple[list[Finding], Failure | None]:
        from gradguard.infer.program import Program
        from gradguard.infer.roots import run_file
        from gradguard.judge.judging import judge
        from gradguard.pipeline import open_source, rules
        from gradguard.replay import replayed

        key = key_of(source)
        self._at_hand = source
        self._disk.seen.opened.add(key)
        module, unparsed, told = open_source(source)
        findings = [told] if unparsed is not None else []
        if module is None:
            return findings, unparsed
        module = self._open[key] = self._watched(key, module)
        program = Program(
            self._module, imports=self._imports, reach=self._reach, rebinding=self._facts.rebinding
        )
        program.add(key, module)
        settings = self._group.settings
        judged = judge(
            run_file(program, self._facts, key), program.modules, set(self._group.checked), rules(), settings
        )
        findings.extend(replayed(judged, program, self._facts, settings))
        self._close_some()
        return findings, unparsed

    def _module(self, path: str) -> Module | None:
        """The module of a file that an import leads to; None where it does not exist or cannot be parsed."""
        self._disk.seen.contents.add(path)
        if path not in self._open:
            source = self._source(path)
            self._open[path] = self._watched(path, _module_of(source)) if source is not None else None
        self._open.move_to_end(path)
        module = self._open[path]
        if isinstance(module, Watched):
            module.note_opened()
        else:
            self._disk.seen.opened.add(path)
        return module

    def _watched(self, path: str, module: Any) -> Any:
        return Watched(module, path, self._disk) if isinstance(module, Module) else module

    def _source(self, path: str) -> Source | None:
        from gradguard.discover.load import language_of

        if path in self._loose:
            return self._loose[path]
        text = self._disk.text(path)
        return (
            None if text is None else Source(self._group.names.get(path, path), path, text, language_of(path))
        )

    def _text(self, key: str) -> str | None:
        if self._at_hand is not None and key == key_of(self._at_hand):
            return self._at_hand.text
        return self._loose[key].text if key in self._loose else self._disk.text(key)

    def _close_some(self) -> None:
        """Let go of the modules that were not asked for in the longest time."""
        kept = sum(map(_bytes, self._open.values()))
        while kept > OPEN_BYTES and len(self._open) > 1:
            _, module = self._open.popitem(last=False)
            kept -= _bytes(module)


def key_of(source: Source) -> str:
    """What a file goes by in a program."""
    return source.path or source.filename


def group_of(settings: Settings, sources: Sequence[Source]) -> Group:
    """The group of these sources, which are all files of the run."""
    return Group(
        settings,
        {source.path: source.filename for source in sources if source.path},
        frozenset(map(key_of, sources)),
        tuple(source for source in sources if not os.path.isfile(source.path)),
    )


def _module_of(source: Source) -> Any:
    from gradguard.pipeline import open_source

    return open_source(source)[0]


def _bytes(module: Module | None) -> int:
    if module is None:
        return 0
    return len((module.untold_source if isinstance(module, Watched) else module.source).text)
