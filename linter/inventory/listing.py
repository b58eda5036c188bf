"""The guards of sources, with positions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from gradguard.facts.tables import Facts, load
from gradguard.findings import Failure, GuardRecord, Position, Span
from gradguard.inventory.covers import Covered, covered
from gradguard.inventory.found import Found
from gradguard.inventory.reading import Reading
from gradguard.inventory.resolve import SETTING, Resolver
from gradguard.inventory.statements import read_module
from gradguard.ir import nodes as ir
from gradguard.lower.unreadable import Unreadable
from gradguard.source import Source

if TYPE_CHECKING:
    from gradguard.lower.module import Module as PythonModule
    from gradguard.lower.rust.module import RustModule

    Module = PythonModule | RustModule

# What opens a source: (module, failure, whatever else); no module and no failure for a source of no interest.
Opener = Callable[[Source], tuple["PythonModule | RustModule | None", Failure | None, Any]]
Cover = Callable[[Found], Iterator[Covered]]
Inventory = tuple[tuple[GuardRecord, ...], tuple[Failure, ...]]

_LONGEST = 120
_ARGUED = (*SETTING, "inference")


def inventory(sources: Sequence[Source], settings: Any, opener: Opener) -> Inventory:
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
    body: list[ir.Stmt] = []
    failures: list[Failure] = []
    for chunk in module.chunks:
        try:
            body.extend(module.body(chunk.index))
        except Unreadable as error:
            failures.append(Failure(module.source.filename, f"{error.reason} (line {error.row})"))
    roots = getattr(module, "roots", None)
    if roots is None:
        found, cover = _read_python(tuple(body), facts)
    else:
        found, cover = _read_rust(roots, tuple(body), facts)
    return _Telling(module, found, cover).records(), tuple(failures)


def _read_python(body: ir.Body, facts: Facts) -> tuple[list[Found], Cover]:
    resolver = Resolver(facts)
    reading = Reading(resolver)
    read_module(reading, body)
    guards = frozenset(reading.entered | reading.undoing)
    return reading.found, lambda found: covered(found, resolver, guards)


def _read_rust(roots: frozenset[str], body: ir.Body, facts: Facts) -> tuple[list[Found], Cover]:
    from gradguard.facts.crates import load_crates
    from gradguard.inventory.rust import read_rust
    from gradguard.inventory.rust_covers import covered_in_rust

    reading = read_rust(roots, body, load_crates(facts.rust))
    return reading.found, lambda found: covered_in_rust(found, reading.crates, reading.made)


class _Telling:
    """From what was found to records."""

    def __init__(self, module: Module, found: list[Found], cover: Cover) -> None:
        self._module = module
        self._found = found
        self._cover = cover

    def records(self) -> tuple[GuardRecord, ...]:
        places = {id(one): self._place(one) for one in self._found}
        found = sorted(self._found, key=lambda one: (places[id(one)][0], one.made.guard))
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
        told = {(kind, at): text for kind, at, text in self._cover(one)}
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
