"""One run: from files and their settings to a report."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gradguard.discover.load import Clean, Known, Loaded, NotebookSource, Skipped, load_file
from gradguard.discover.walk import Target
from gradguard.findings import Failure, Finding, GuardRecord, Report
from gradguard.judge.comments import speaks_to_us
from gradguard.settings.choose import UNREADABLE, check_entries, chosen_codes, ignored_in
from gradguard.settings.model import Settings
from gradguard.source import Source

if TYPE_CHECKING:
    from gradguard.cache.memory import Memory
    from gradguard.rule import Rule
    from gradguard.work.analysis import Group
    from gradguard.work.result import Result
    from gradguard.work.sights import Sights

# Given the number of files to analyse, a scope in which the number of finished ones can be told.
Meter = Callable[[int], AbstractContextManager[Callable[[int], None]]]

# Whether the bytes of a file in a language are worth a look; made for the settings that hold for the file.
Suspect = Callable[[bytes, str], bool]
Suspects = Callable[[Settings], Suspect]

# The parts of a framework's table whose names can make a finding of a file that holds no known word.
_TELLING = ("guards", "backward", "misspelt", "guarded", "hooks")


@dataclass(frozen=True, slots=True)
class Opened:
    """A file as it was loaded, its absolute path, and the settings that hold for it."""

    loaded: Loaded
    path: str
    settings: Settings


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run has to say.

    `report` holds what is to be shown, `sources` the texts as written by file name, `rules` all rules, as far
    as something has to be said of them; `skipped` are the files that are none of ours, `unopened` the files
    that could not be read at all or whose analysis failed, `unread` those that could not be read or parsed
    while GRD000 is silenced for them.
    """

    report: Report
    sources: Mapping[str, Source]
    rules: tuple[Rule, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    unopened: tuple[Failure, ...] = ()
    unread: tuple[Failure, ...] = ()


def suspects(settings: Settings) -> Suspect:
    """What tells whether the bytes of a file hold what a finding needs, or a comment of ours."""
    from gradguard.sift.tokens import sift, sift_rust

    extra, crates = _words_of(settings.frameworks), _crates_of(settings.frameworks)

    def is_suspect(data: bytes, language: str) -> bool:
        if language == "rust":
            return sift_rust(data, crates) or speaks_to_us(data)
        return sift(data, extra)

    return is_suspect


def guard_suspects(settings: Settings) -> Suspect:
    """What tells whether the bytes of a file may hold a guard."""
    from gradguard.sift.tokens import GUARDS, MISSPELT, sift_rust

    crates = _crates_of(settings.frameworks)
    words = "|".join(map(re.escape, sorted({*GUARDS, *MISSPELT, *_words_of(settings.frameworks)})))
    guard = re.compile(rf"\b(?:{words})\b".encode())

    def may_hold(data: bytes, language: str) -> bool:
        return sift_rust(data, crates) if language == "rust" else guard.search(data) is not None

    return may_hold


def check(
    opened: Sequence[Opened],
    meter: Meter | None = None,
    jobs: int = 1,
    memories: Mapping[Settings, Memory] | None = None,
) -> Outcome:
    """Analyse the files; keep the findings that their settings ask for and that no comment silences.

    `jobs` is the most processes to use (0: as the machine likes), `memories` take down what is found.
    Raises SettingsError where the settings name an unknown rule.
    """
    memories = memories or {}
    _check_settings(opened, memories)
    analysed = _analyse(opened, meter, jobs, memories)
    found, unparsed = analysed.found, analysed.unparsed
    places = _places(found)
    opened = _with_texts(opened, places)
    rules = known_rules(memories) if any(isinstance(file.loaded, Source | Failure) for file in opened) else ()
    wanted = _wanted(opened, rules)
    shown: list[Finding] = []
    unopened: list[Failure] = list(analysed.broken)
    unparsed_told: list[Failure] = []
    unread: list[Failure] = []
    for file in opened:
        match file.loaded:
            case Failure(filename=filename) as failure:
                (unopened if UNREADABLE in wanted[filename] else unread).append(failure)
            case Source(filename=filename) as source:
                kept = _kept(file, source, found.get(filename, ()), wanted[filename], rules)
                shown.extend(kept)
                told = any(finding.code == UNREADABLE for finding in kept)
                (unparsed_told if told else unread).extend(unparsed.get(filename, ()))
    return Outcome(
        Report(tuple(shown), (*unopened, *unparsed_told), _checked(opened, analysed)),
        _sources(opened, places),
        rules,
        tuple(file.loaded for file in opened if isinstance(file.loaded, Skipped)),
        tuple(unopened),
        tuple(unread),
    )


def list_guards(opened: Sequence[Opened]) -> tuple[tuple[GuardRecord, ...], tuple[Failure, ...]]:
    """The guards of the files in order, and the files that could not be read or parsed."""
    records: dict[str, list[GuardRecord]] = defaultdict(list)
    failures = [file.loaded for file in opened if isinstance(file.loaded, Failure)]
    for settings, sources in _groups(opened):
        from gradguard.pipeline import inventory

        found, failed = inventory(sources, settings)
        failures.extend(failed)
        for record in found:
            records[record.span.filename].append(record)
    ordered = [record for file in opened for record in records.pop(file.loaded.filename, ())]
    return tuple(ordered), tuple(failures)


def known_rules(memories: Mapping[Settings, Memory]) -> tuple[Rule, ...]:
    """All rules; without their checks where a memory knows them and they need not be imported."""
    for memory in memories.values():
        if memory.rules:
            return memory.rules
    from gradguard.pipeline import rules

    for memory in memories.values():
        memory.rules = rules()
    return rules()


def _check_settings(opened: Sequence[Opened], memories: Mapping[Settings, Memory]) -> None:
    naming = {file.settings for file in opened if file.settings.selections or file.settings.per_file_ignores}
    for settings in naming:
        check_entries(settings, known_rules(memories))


@dataclass(frozen=True, slots=True)
class _Analysed:
    """Findings by file name, what could not be parsed by file name, and the files whose analysis failed."""

    found: Mapping[str, list[Finding]] = field(default_factory=dict)
    unparsed: Mapping[str, list[Failure]] = field(default_factory=dict)
    broken: tuple[Failure, ...] = ()


def _analyse(
    opened: Sequence[Opened], meter: Meter | None, jobs: int, memories: Mapping[Settings, Memory]
) -> _Analysed:
    """Everything that is seen from the files, those known from an earlier run included."""
    telling = [file for file in opened if isinstance(file.loaded, Known | Source)]
    if not telling:
        return _Analysed()
    results = _results(opened, meter, jobs, memories)
    found: dict[str, list[Finding]] = defaultdict(list)
    unparsed: dict[str, list[Failure]] = defaultdict(list)
    broken: list[Failure] = []
    seen: list[Finding] = []
    for file in telling:
        result = file.loaded if isinstance(file.loaded, Known) else results[file.loaded.filename]
        seen.extend(result.findings)
        if result.unparsed is not None:
            unparsed[file.loaded.filename].append(result.unparsed)
        if not isinstance(result, Known) and result.broken is not None:
            broken.append(result.broken)
    if seen:
        from gradguard.pipeline import in_order

        for finding in in_order(seen):
            found[finding.span.filename].append(finding)
    return _Analysed(found, unparsed, tuple(broken))


def _results(
    opened: Sequence[Opened], meter: Meter | None, jobs: int, memories: Mapping[Settings, Memory]
) -> dict[str, Result]:
    """The results of the files that have to be analysed, by file name."""
    groups = list(_groups(opened))
    results: dict[str, Result] = {}
    if not groups:
        return results
    from gradguard.work.spread import analyse_all

    files = [(number, source) for number, (_, sources) in enumerate(groups) for source in sources]

    def take(number: int, process: int, result: Result, sights: Sights) -> None:
        group, source = files[number]
        results[source.filename] = result
        memory = memories.get(groups[group][0])
        if memory is not None and source.path:
            memory.learn(
                source, result, process, sights, speaks_to_us(source.text.encode("utf-8", "replace"))
            )
        if advance is not None:
            advance(len(results))

    with meter(len(files)) if meter else nullcontext(None) as advance:
        groups_of_files = [_group(settings, opened) for settings, _ in groups]
        analyse_all(groups_of_files, files, take, jobs, tells_sights=bool(memories))
    return results


def _group(settings: Settings, opened: Sequence[Opened]) -> Group:
    """What the analysis has to know of all files that the same settings hold for."""
    from gradguard.work.analysis import Group, key_of

    loose = tuple(
        file.loaded
        for file in opened
        if file.settings == settings and isinstance(file.loaded, Source) and not file.loaded.path
    )
    names = {file.path: file.loaded.filename for file in opened if file.loaded not in loose}
    return Group(settings, names, frozenset(names).union(map(key_of, loose)), loose)


def _places(found: Mapping[str, list[Finding]]) -> frozenset[str]:
    """The names of the files that the findings lie in or speak of."""
    return frozenset(
        span.filename
        for findings in found.values()
        for finding in findings
        for span in (finding.span, *(step.span for step in finding.witness))
    )


def _with_texts(opened: Sequence[Opened], places: frozenset[str]) -> Sequence[Opened]:
    """Read those of the files whose text is not at hand once more, if they have something to show or to say."""
    return [
        replace(file, loaded=load_file(Target(file.path, file.loaded.filename), lambda data, language: True))
        if isinstance(file.loaded, Clean | Known)
        and (file.loaded.filename in places or (isinstance(file.loaded, Known) and file.loaded.commented))
        else file
        for file in opened
    ]


def _groups(opened: Sequence[Opened]) -> Iterator[tuple[Settings, list[Source]]]:
    """The sources by the settings that hold for them."""
    groups: dict[Settings, list[Source]] = {}
    for file in opened:
        if isinstance(file.loaded, Source):
            groups.setdefault(file.settings, []).append(file.loaded)
    yield from groups.items()


def _wanted(opened: Sequence[Opened], rules: tuple[Rule, ...]) -> Mapping[str, frozenset[str]]:
    """The codes of the rules that speak of each file that has something to tell, by its name."""
    telling = [file for file in opened if isinstance(file.loaded, Source | Failure)]
    chosen = {settings: chosen_codes(settings, rules) for settings in {file.settings for file in telling}}
    return {
        file.loaded.filename: chosen[file.settings] - ignored_in(file.settings, file.path, rules)
        for file in telling
    }


def _kept(
    file: Opened,
    source: Source,
    findings: Sequence[Finding],
    wanted: frozenset[str],
    rules: tuple[Rule, ...],
) -> list[Finding]:
    """The findings that the settings of the file ask for and no comment silences, in order."""
    from gradguard.judge.suppress import apply_suppressions

    left, idle = apply_suppressions(source, findings, rules)
    likely_too = file.settings.min_confidence == "likely"
    kept = [
        finding
        for finding in (*left, *idle)
        if finding.code in wanted and (likely_too or finding.confidence == "certain")
    ]
    return sorted(kept, key=lambda finding: (finding.span.cell or 0, finding.span.start, finding.code))


def _checked(opened: Sequence[Opened], analysed: _Analysed) -> int:
    failed = {*analysed.unparsed, *(failure.filename for failure in analysed.broken)}
    return sum(
        isinstance(file.loaded, Clean | Known | Source) and file.loaded.filename not in failed
        for file in opened
    )


def _sources(opened: Sequence[Opened], places: frozenset[str]) -> dict[str, Source]:
    """The texts at hand, and those of files outside of the run that a finding leads through."""
    sources = {
        file.loaded.filename: _to_show(file.loaded) for file in opened if isinstance(file.loaded, Source)
    }
    outside = places.difference(file.loaded.filename for file in opened)
    for path in filter(os.path.isabs, outside):
        loaded = load_file(Target(path, path), lambda data, language: True)
        if isinstance(loaded, Source):
            sources[path] = _to_show(loaded)
    return sources


def _to_show(source: Source) -> Source:
    return source.as_written() if isinstance(source, NotebookSource) else source


def _words_of(frameworks: Mapping[str, object]) -> frozenset[str]:
    """The last parts of the dotted names that the user's framework tables call guards, sinks or hooks."""
    names: list[str] = []
    for table in frameworks.values():
        if not isinstance(table, Mapping) or table.get("language") == "rust":
            continue
        for section in map(table.get, _TELLING):
            if isinstance(section, Mapping):
                names.extend(section)
                names.extend(name for value in section.values() if isinstance(value, list) for name in value)
    return frozenset(word for name in names if (word := name.rpartition(".")[2]).isidentifier())


def _crates_of(frameworks: Mapping[str, object]) -> frozenset[str]:
    """The names that the paths of the user's Rust crates start with."""
    tables = [table for table in frameworks.values() if isinstance(table, Mapping)]
    packages = [table.get("packages", ()) for table in tables if table.get("language") == "rust"]
    return frozenset(name for names in packages if isinstance(names, list) for name in names)
