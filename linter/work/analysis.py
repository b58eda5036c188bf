"""The analysis of the files of one group, one by one, sharing what they follow."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gradguard.discover.disk import Disk
from gradguard.findings import Failure, Finding
from gradguard.lower.module import Miscut, Module
from gradguard.settings.model import Settings
from gradguard.source import Source
from gradguard.work.facets import Facet, Outlined
from gradguard.work.limits import CPU_SECONDS, OutOfTime, limited_time, same_room
from gradguard.work.result import Result
from gradguard.work.shelf import Shelf

if TYPE_CHECKING:
    from gradguard.infer.program import Program
    from gradguard.judge.judging import Judged


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
        self._miscut: set[str] = set()
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
        result = self._result(source)
        while result is None:
            result = self._result(source)
        return result

    def _result(self, source: Source) -> Result | None:
        """The same; None if a file that was met has to be parsed whole, which it is the next time."""
        try:
            with self._disk.watching() as seen, same_room(), limited_time(self._seconds):
                findings, unparsed = self._findings(source)
            return Result(tuple(findings), unparsed, None, seen)
        except Miscut as miscut:
            self._miscut.add(miscut.key)
            self._shelf.drop(miscut.key)
            return None
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
        self._shelf = Shelf(self._disk, self._source, self._miscut)
        self._at_hand: Source | None = None
        self._outlined = Outlined(self._reach)

    def _findings(self, source: Source) -> tuple[list[Finding], Failure | None]:
        """What is to be told of a file. Most files have nothing: a first look at the cheap parser's tree finds that
        out, and whatever it finds is left to a second one at the tree of libcst."""
        from gradguard.pipeline import open_source

        key = key_of(source)
        self._at_hand = source
        self._disk.seen.opened.add(key)
        module, unparsed, told = self._shelf.put(key, source)
        findings = [told] if told is not None else []
        judged, program = self._judged(key, module)
        if judged and source.language == "python":
            judged, program = self._judged(key, open_source(source)[0])
        if judged:
            from gradguard.replay import replayed

            findings.extend(replayed(judged, program, self._facts, self._group.settings))
        self._shelf.close_some()
        return findings, unparsed

    def _judged(self, key: str, module: Module | None) -> tuple[list[Judged], Program]:
        """What the rules find in a file as it is read in this module."""
        from gradguard.infer.program import Program
        from gradguard.infer.roots import run_file
        from gradguard.judge.judging import judge
        from gradguard.pipeline import rules

        program = Program(
            self._shelf.at, imports=self._imports, reach=self._reach, rebinding=self._facts.rebinding
        )
        if module is None:
            return [], program
        program.add(key, module)
        events = run_file(program, self._facts, key)
        judged = judge(events, program.modules, self._group.checked, rules(), self._group.settings)
        return judged, program

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
