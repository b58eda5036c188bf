"""The rule pages and the programs that stand in them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

RULES = Path(__file__).resolve().parents[2] / "rules"
HEADINGS = ("What it does", "Why it is bad", "Example", "Use instead", "Known limits")
SUFFIX = {"python": ".py", "rust": ".rs"}

_TITLE = re.compile(r"# (?P<name>[a-z]+(?:-[a-z]+)*) \((?P<code>GRD\d{3})\)")
_MARK = re.compile(r"(?:#|//) (?P<kind>expect|also): (?P<codes>GRD\d{3}(?:, GRD\d{3})*)")
_OUTCOME = re.compile(
    r'"""Outcome: (?:(?P<silent>silent)|raises (?P<errors>\w+(?: or \w+)*)) \| (?P<claim>.+)"""'
)

Mark = tuple[int, str]


def read_marks(text: str, kind: str) -> set[Mark]:
    """The marks of a kind (expect or also) in a program: row from 1, and code."""
    return {
        (row, code)
        for row, line in enumerate(text.splitlines(), start=1)
        for mark in _MARK.finditer(line)
        if mark["kind"] == kind
        for code in mark["codes"].split(", ")
    }


@dataclass(frozen=True)
class Outcome:
    """What a program says of itself: the errors it may raise (none: it runs to its end), and the claim.

    The claim of a program that raises is a part of the first error's text. A further error is what another
    version of Python raises in its place, with a text of its own.
    """

    errors: tuple[str, ...]
    claim: str


@dataclass(frozen=True)
class Program:
    """One fenced program. Rows of its marks count within the program."""

    page: str
    code: str
    section: str
    number: int
    row: int
    language: str
    text: str

    @property
    def label(self) -> str:
        """A name for test ids, and the file name under which the program is linted."""
        return f"{self.page}-{self.number}{SUFFIX[self.language]}"

    @property
    def expected(self) -> set[Mark]:
        """The places where a finding must be."""
        return read_marks(self.text, "expect")

    @property
    def tolerated(self) -> set[Mark]:
        """The places where a finding may be."""
        return read_marks(self.text, "also")

    @property
    def outcome(self) -> Outcome:
        """The first line of the docstring, read. Raises ValueError when there is none."""
        match = _OUTCOME.fullmatch(self.text.partition("\n")[0])
        if match is None:
            raise ValueError(f"{self.label}: the first line tells no outcome")
        errors = () if match["silent"] else tuple(match["errors"].split(" or "))
        return Outcome(errors, match["claim"])


@dataclass(frozen=True)
class Page:
    """A rule's Markdown page, cut into its headings and programs."""

    path: Path
    name: str
    code: str
    headings: tuple[str, ...]
    programs: tuple[Program, ...]


def read_page(path: Path) -> Page:
    """Reads a page. Raises ValueError when its title, a fence's language or a fence's end is wrong."""
    lines = path.read_text(encoding="utf-8").splitlines()
    title = _TITLE.fullmatch(lines[0])
    if title is None:
        raise ValueError(f"{path.name}: the title is not `# name (GRDnnn)`")
    headings: list[str] = []
    programs: list[Program] = []
    body: list[str] = []
    language, start = "", 0
    for row, line in enumerate(lines[1:], start=2):
        if start and line == "```":
            text = "\n".join(body) + "\n"
            section = headings[-1] if headings else ""
            programs.append(
                Program(path.stem, title["code"], section, len(programs) + 1, start, language, text)
            )
            start = 0
        elif start:
            body.append(line)
        elif line.startswith("```"):
            language, start, body = line.removeprefix("```"), row, []
            if language not in SUFFIX:
                raise ValueError(f"{path.name}:{row}: a program in {language or 'no language'}")
        elif line.startswith("#"):
            headings.append(line.removeprefix("## "))
    if start:
        raise ValueError(f"{path.name}:{start}: the fence does not end")
    return Page(path, title["name"], title["code"], tuple(headings), tuple(programs))


def read_pages() -> tuple[Page, ...]:
    """Every page of the rules' folder, by file name."""
    return tuple(read_page(path) for path in sorted(RULES.glob("*.md")))
