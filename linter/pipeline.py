"""From sources to findings: lower, infer and judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradguard.findings import Failure, Finding, GuardRecord, Report
from gradguard.rule import Rule
from gradguard.source import Source

if TYPE_CHECKING:
    from gradguard.lower.module import Module, Unreadable
    from gradguard.lower.reading import Reading

Progress = Callable[[int], None]


def rules() -> tuple[Rule, ...]:
    """All rules, in the order of their codes."""
    from gradguard.rules import RULES

    return RULES


def analyse(sources: Sequence[Source], settings: Any, progress: Progress | None = None) -> Report:
    """All findings of all rules in the sources, unsuppressed, in order of file and position.

    A source that cannot be parsed is among the failures, and a GRD000 finding tells where.
    """
    from gradguard.work.analysis import Analysis, group_of

    analysis = Analysis(group_of(settings, sources))
    findings: list[Finding] = []
    failures: list[Failure] = []
    for done, source in enumerate(sources):
        result = analysis.of(source)
        findings.extend(result.findings)
        failures.extend(failure for failure in (result.unparsed, result.broken) if failure is not None)
        if progress is not None:
            progress(done + 1)
    return Report(tuple(in_order(findings)), tuple(failures), len(sources))


def in_order(findings: Sequence[Finding]) -> list[Finding]:
    """Sorted by place, one finding for each code and place."""
    unique = {(f.span.filename, f.span.cell, f.span.start, f.code): f for f in reversed(findings)}
    return [unique[key] for key in sorted(unique, key=lambda k: (k[0], k[1] or 0, k[2], k[3]))]


class Opened:
    """The lowered modules of a run, and those that imports lead to, read when asked for."""

    def __init__(self) -> None:
        """Nothing is open yet."""
        self.modules: dict[str, Module | None] = {}

    def by_path(self, path: str) -> Module | None:
        """The module of a Python file in the tree; None where it does not exist or cannot be read."""
        if path not in self.modules:
            self.modules[path] = _open_path(path)
        return self.modules[path]


def _open_path(path: str) -> Module | None:
    import os

    from gradguard.discover.decoding import python_text
    from gradguard.discover.load import language_of

    if not os.path.isfile(path):
        return None
    try:
        with open(path, "rb") as stream:
            text = python_text(stream.read())
    except (OSError, ValueError):
        return None
    module, _, _ = open_source(Source(path, path, text, language_of(path)))
    return module


def open_source(source: Source, reading: Reading | None = None) -> tuple[Module | None, Failure | None, Any]:
    """The module of a source, or why there is none: (module, failure, GRD000 finding).

    Python is read by libcst if nothing else is said.
    """
    from gradguard.lower.module import Unreadable, open_module
    from gradguard.lower.reading import Reading

    if source.language == "rust":
        return _open_rust(source)
    try:
        return open_module(source, reading or Reading.LIBCST), None, None
    except Unreadable as error:
        return None, *_unreadable(source, error)


def _open_rust(source: Source) -> tuple[Any, Failure | None, Any]:
    """The same for Rust: items that can be parsed are kept, and a file that uses no known crate may be anything."""
    from gradguard.facts.crates import load_crates
    from gradguard.lower.rust.module import RustModule

    module = RustModule(source)
    if module.error is None or not any(crate.packages & module.roots for crate in load_crates()):
        return module, None, None
    return module, *_unreadable(source, module.error)


def _unreadable(source: Source, error: Unreadable) -> tuple[Failure, Finding]:
    span = source.span((error.row, error.column), (error.row, error.column))
    finding = Finding(
        "GRD000", "unreadable", f"the file cannot be parsed: {error.reason}", span, help="mend the syntax"
    )
    return Failure(source.filename, error.reason), finding


def inventory(
    sources: Sequence[Source], settings: Any
) -> tuple[tuple[GuardRecord, ...], tuple[Failure, ...]]:
    """Every guard of the sources and what it covers."""
    from gradguard.inventory import listing

    return listing.inventory(sources, settings, open_source)
