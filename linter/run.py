"""One run: from files and their settings to a report."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from gradguard.discover.load import Clean, Loaded, NotebookSource, Skipped
from gradguard.findings import Failure, Finding, GuardRecord, Report
from gradguard.judge.comments import OURS
from gradguard.settings.choose import UNREADABLE, check_entries, chosen_codes, ignored_in
from gradguard.settings.model import Settings
from gradguard.source import Source

# Given the number of files to analyse, a scope in which the number of finished ones can be told.
Meter = Callable[[int], AbstractContextManager[Callable[[int], None]]]

# Whether the bytes of a file in a language are worth a look; made for the settings that hold for the file.
Suspect = Callable[[bytes, str], bool]
Suspects = Callable[[Settings], Suspect]

_COMMENT_OF_OURS = re.compile(OURS.pattern.encode(), re.IGNORECASE)
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

    `report` holds what is to be shown, `sources` the texts as written by file name, `skipped` the files
    that are none of ours, `unopened` the files that could not be read at all, `unread` those that could not
    be read or parsed while GRD000 is silenced for them.
    """

    report: Report
    sources: Mapping[str, Source]
    skipped: tuple[Skipped, ...] = ()
    unopened: tuple[Failure, ...] = ()
    unread: tuple[Failure, ...] = ()


def suspects(settings: Settings) -> Suspect:
    """What tells whether the bytes of a file hold what a finding needs, or a comment of ours."""
    from gradguard.sift.tokens import sift, sift_rust

    extra, crates = _words_of(settings.frameworks), _crates_of(settings.frameworks)

    def is_suspect(data: bytes, language: str) -> bool:
        found = sift_rust(data, crates) if language == "rust" else sift(data, extra)
        return found or _COMMENT_OF_OURS.search(data) is not None

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


def check(opened: Sequence[Opened], meter: Meter | None = None) -> Outcome:
    """Analyse the files; keep the findings that their settings ask for and that no comment silences.

    Raises SettingsError where the settings name an unknown rule.
    """
    _check_settings(opened)
    found, unparsed = _analyse(opened, meter)
    wanted = _wanted(opened)
    shown: list[Finding] = []
    unopened: list[Failure] = []
    unparsed_told: list[Failure] = []
    unread: list[Failure] = []
    for file in opened:
        match file.loaded:
            case Failure(filename=filename) as failure:
                (unopened if UNREADABLE in wanted[filename] else unread).append(failure)
            case Source(filename=filename) as source:
                kept = _kept(file, source, found.get(filename, ()), wanted[filename])
                shown.extend(kept)
                told = any(finding.code == UNREADABLE for finding in kept)
                (unparsed_told if told else unread).extend(unparsed.get(filename, ()))
    return Outcome(
        Report(tuple(shown), (*unopened, *unparsed_told), _checked(opened, unparsed)),
        _sources(opened),
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


def _check_settings(opened: Sequence[Opened]) -> None:
    naming = {file.settings for file in opened if file.settings.selections or file.settings.per_file_ignores}
    if naming:
        from gradguard.pipeline import rules

        for settings in naming:
            check_entries(settings, rules())


def _analyse(
    opened: Sequence[Opened], meter: Meter | None
) -> tuple[Mapping[str, list[Finding]], Mapping[str, list[Failure]]]:
    """All findings, and what could not be parsed, by file name."""
    found: dict[str, list[Finding]] = defaultdict(list)
    unparsed: dict[str, list[Failure]] = defaultdict(list)
    groups = list(_groups(opened))
    if not groups:
        return found, unparsed
    from gradguard.pipeline import analyse

    scope = meter(sum(len(sources) for _, sources in groups)) if meter else nullcontext(None)
    with scope as advance:
        before = 0
        for settings, sources in groups:
            report = analyse(sources, settings, _behind(before, advance))
            before += len(sources)
            for finding in report.findings:
                found[finding.span.filename].append(finding)
            for failure in report.failures:
                unparsed[failure.filename].append(failure)
    return found, unparsed


def _behind(before: int, advance: Callable[[int], None] | None) -> Callable[[int], None] | None:
    """`advance` for a group of files that comes after `before` others."""
    return None if advance is None else lambda done: advance(before + done)


def _groups(opened: Sequence[Opened]) -> Iterator[tuple[Settings, list[Source]]]:
    """The sources by the settings that hold for them."""
    groups: dict[Settings, list[Source]] = {}
    for file in opened:
        if isinstance(file.loaded, Source):
            groups.setdefault(file.settings, []).append(file.loaded)
    yield from groups.items()


def _wanted(opened: Sequence[Opened]) -> Mapping[str, frozenset[str]]:
    """The codes of the rules that speak of each file that has something to tell, by its name."""
    telling = [file for file in opened if isinstance(file.loaded, Source | Failure)]
    if not telling:
        return {}
    from gradguard.pipeline import rules

    known = rules()
    chosen = {settings: chosen_codes(settings, known) for settings in {file.settings for file in telling}}
    return {
        file.loaded.filename: chosen[file.settings] - ignored_in(file.settings, file.path, known)
        for file in telling
    }


def _kept(file: Opened, source: Source, findings: Sequence[Finding], wanted: frozenset[str]) -> list[Finding]:
    """The findings that the settings of the file ask for and no comment silences, in order."""
    from gradguard.judge.suppress import apply_suppressions
    from gradguard.pipeline import rules

    left, idle = apply_suppressions(source, findings, rules())
    likely_too = file.settings.min_confidence == "likely"
    kept = [
        finding
        for finding in (*left, *idle)
        if finding.code in wanted and (likely_too or finding.confidence == "certain")
    ]
    return sorted(kept, key=lambda finding: (finding.span.cell or 0, finding.span.start, finding.code))


def _checked(opened: Sequence[Opened], unparsed: Mapping[str, list[Failure]]) -> int:
    return sum(
        isinstance(file.loaded, Clean | Source) and file.loaded.filename not in unparsed for file in opened
    )


def _sources(opened: Sequence[Opened]) -> dict[str, Source]:
    return {file.loaded.filename: _to_show(file.loaded) for file in opened if isinstance(file.loaded, Source)}


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
