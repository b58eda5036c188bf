"""What the pipeline hands to the reports: findings and their spans."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """Row and column, both from 1; the column counts characters."""

    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a file. In a notebook `cell` is the cell's number from 1 and rows count within the cell."""

    filename: str
    start: Position
    end: Position
    cell: int | None = None


@dataclass(frozen=True, slots=True)
class WitnessStep:
    """One step of the chain from the cause to the sink."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Replay:
    """What the embedded runtime saw. `outcome` is raises, silent, fine or inconclusive."""

    profile: str
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of a piece of a file by `text`."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that mends a finding; `safe` if it leaves the meaning alone or is the only one meant."""

    description: str
    edits: tuple[Edit, ...]
    safe: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault. `severity` is error, warning or hint; `confidence` is certain or likely."""

    code: str
    name: str
    message: str
    span: Span
    severity: str = "error"
    confidence: str = "certain"
    witness: tuple[WitnessStep, ...] = ()
    notes: tuple[str, ...] = ()
    help: str = ""
    replays: tuple[Replay, ...] = ()
    fix: Fix | None = None


@dataclass(frozen=True, slots=True)
class GuardRecord:
    """One guard for the inventory. `form` is with, decorator, call, object or helper; `covers` lists
    (kind, span, text) where kind is value, call, backward, update, yield or await."""

    guard: str
    form: str
    span: Span
    ends: Position | None
    function: str | None
    covers: tuple[tuple[str, Span, str], ...] = ()
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be read or analysed, and why."""

    filename: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of a run over some files, findings sorted by file and position."""

    findings: tuple[Finding, ...] = ()
    failures: tuple[Failure, ...] = ()
    checked: int = 0
