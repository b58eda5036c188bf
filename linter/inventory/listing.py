"""The guards of sources, with positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from gradguard.facts.tables import Facts, load
from gradguard.findings import Failure, GuardRecord, Position, Span
from gradguard.inventory.covers import covered
from gradguard.inventory.found import Found
from gradguard.inventory.reading import Reading
from gradguard.inventory.resolve import SETTING, Resolver
from gradguard.inventory.statements import read_module
from gradguard.ir import nodes as ir
from gradguard.lower.unreadable import Unreadable
from gradguard.source import Source

if TYPE_CHECKING:
    from gradguard.lower.module import Module

# What opens a source: (module, failure, whatever else); no module and no failure for a source of no interest.
Opener = Callable[[Source], tuple["Module | None", Failure | None, Any]]
Inventory = tuple[tuple[GuardRecord, ...], tuple[Failure, ...]]

_LONGEST = 120
_ARGUED = (*SETTING, "inference")


def inventory(sources: Sequence[Source], settings: Any, opener: Opener) -> Inventory:  # noqa: ANN401
    """Every guard of the sources, in order of source and position, and what could not be read.

    A part of a file that cannot be lowered is among the failures; the guards of the others are told.
    """
    facts = load(dict(settings.frameworks))
    records: list[GuardRecord] = []
    failures: list[Failure] = []
    for source in sources:
        module, failure, _ = opener(source)
        if failure is not None:
            failures.append(failure)
        if module is not None:
            told, failed = guards_in(module, facts)
            records.extend(told)
            failures.extend(failed)
    return tuple(records), tuple(failures)


def guards_in(module: Module, facts: Facts) -> Inventory:
    """The guards of one module in order of position, and the chunks that could not be lowered."""
    resolver = Resolver(facts)
    body: list[ir.Stmt] = []
    failures: list[Failure] = []
    for chunk in module.chunks:
        try:
            body.extend(module.body(chunk.index))
        except Unreadable as error:
            failures.append(Failure(module.source.filename, f"{error.reason} (line {error.row})"))
    reading = Reading(resolver)
    read_module(reading, tuple(body))
    return _Telling(module, resolver, reading).records(), tuple(failures)


class _Telling:
    """From what was found to records."""

    def __init__(self, module: Module, resolver: Resolver, reading: Reading) -> None:
        self._module = module
        self._resolver = resolver
        self._reading = reading
        self._guards = frozenset(reading.entered | reading.undoing)

    def records(self) -> tuple[GuardRecord, ...]:
        places = {id(one): self._place(one) for one in self._reading.found}
        found = sorted(self._reading.found, key=lambda one: (places[id(one)][0], one.made.guard))
        return tuple(
            GuardRecord(
                self._name(one),
                one.form,
                self._module.span(one.at),
                self._ends(one),
                one.function,
                self._covers(one),
                sum(_encloses(other, places[id(other)], one, places[id(one)]) for other in found),
            )
            for one in found
        )

    def _place(self, one: Found) -> tuple[Point, Point | None]:
        start = _point(self._module.span(one.at), "start")
        end = None if one.reach.end is None else _point(self._module.extent(one.reach.end), "end")
        return start, end

    def _ends(self, one: Found) -> Position | None:
        """Where the guard ends; a position in another cell of a notebook cannot be told."""
        if one.reach.end is None:
            return None
        last = self._module.extent(one.reach.end)
        return last.end if last.cell == self._module.span(one.at).cell else None

    def _name(self, one: Found) -> str:
        call = one.made.call
        if call is None or not call.args or one.made.effect not in _ARGUED:
            return one.made.guard
        whole, func = self._module.extent(call.at), self._module.extent(call.func.at)
        return one.made.guard + self._text(Span(whole.filename, func.end, whole.end, whole.cell))

    def _covers(self, one: Found) -> tuple[tuple[str, Span, str], ...]:
        told = {(kind, at): text for kind, at, text in covered(one, self._resolver, self._guards)}
        spans = [(kind, self._module.span(at), text) for (kind, at), text in told.items()]
        spans.sort(key=lambda cover: (cover[1].cell or 0, cover[1].start, cover[0]))
        return tuple((kind, span, text or self._text(span)) for kind, span, text in spans)

    def _text(self, span: Span) -> str:
        """The source of a span in one line, cut where it is long."""
        shift = next(
            (cell.first_row - 1 for cell in self._module.source.cells if cell.number == span.cell), 0
        )
        rows = self._module.lines()[span.start.row + shift - 1 : span.end.row + shift]
        if rows:
            rows[-1] = rows[-1][: span.end.column - 1]
            rows[0] = rows[0][span.start.column - 1 :]
        text = " ".join(" ".join(rows).split())
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


Point = tuple[int, Position]


def _point(span: Span, which: str) -> Point:
    return span.cell or 0, span.start if which == "start" else span.end


def _encloses(
    other: Found, around: tuple[Point, Point | None], one: Found, inside: tuple[Point, Point | None]
) -> bool:
    """Whether a guard of the same body is in force where another one starts."""
    if other is one or other.frame != one.frame or other.frame == 0:
        return False
    if other.decorated:
        return bool(other.reach.region) and (not one.decorated or other.at < one.at)
    if one.decorated or other.form == "decorator" or not around[0] < inside[0]:
        return False
    return bool(other.reach.region) and (around[1] is None or inside[0] < around[1])
