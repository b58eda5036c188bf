"""The cases, and what their marks ask for."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

CASES = Path(__file__).resolve().parents[2] / "fixtures" / "cases"

_MARK = re.compile(r"(?:#|//) (?P<kind>expect|also|hard): (?P<codes>GRD\d{3}(?:, GRD\d{3})*)")

Place = tuple[str, int, str]


@dataclass(frozen=True)
class Case:
    """A program: one file, or a folder of files that import each other."""

    path: Path

    @property
    def label(self) -> str:
        """A name for test ids: `bad/001_...`."""
        return f"{self.path.parent.name}/{self.path.name}"

    def files(self) -> list[Path]:
        """The sources of the program."""
        if self.path.is_file():
            return [self.path]
        return sorted(path for path in self.path.rglob("*") if path.suffix in (".py", ".rs"))

    def marks(self, *kinds: str) -> set[Place]:
        """The marks of some kinds (expect, also, hard): file, row from 1, and code."""
        return {
            (str(path), row, code)
            for path in self.files()
            for row, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
            for mark in _MARK.finditer(line)
            if mark["kind"] in kinds
            for code in mark["codes"].split(", ")
        }


def cases(kind: str) -> list[Case]:
    """The cases of one folder: bad, good or rust."""
    found = sorted((CASES / kind).iterdir())
    return [Case(path) for path in found if path.is_dir() or path.suffix in (".py", ".rs")]


def findings(case: Case) -> set[Place]:
    """What the public interface reports, every rule asked, each place told once."""
    import gradguard

    report = gradguard.check_paths([case.path], select=["ALL"], preview=True, isolated=True)
    assert report.failures == ()
    assert report.checked == len(case.files())
    places = [
        (str(Path(one.span.filename).resolve()), one.span.start.row, one.code) for one in report.findings
    ]
    assert len(places) == len(set(places)), "one finding for a place and a cause"
    return set(places)
