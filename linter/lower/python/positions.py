"""The positions of lowered nodes, computed only when a chunk has something to report."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider

from gradguard.lower.parts import Part, Parts
from gradguard.lower.python.parsing import collection_paused, lower_text
from gradguard.lower.python.visitor import Anchor
from gradguard.recursion import room_for

Place = tuple[tuple[int, int], tuple[int, int]]
Ranges = Mapping[cst.CSTNode, CodeRange]
_FRAMES = 8_000
"""The position provider recurses several frames for each level of the tree."""


def places(text: str, rows_before: int) -> list[tuple[Place, Place]]:
    """Header and extent of each node of a chunk, in the order of the handles.

    Rows and columns count from 1, columns in characters; an end column is the one behind the last character.
    """
    lowered = lower_text(text, 0, rows_before)
    try:
        with collection_paused(), room_for(_FRAMES):
            ranges = MetadataWrapper(lowered.tree, unsafe_skip_copy=True).resolve(PositionProvider)
    except RecursionError:
        return [_rough_places(text, rows_before)] * len(lowered.anchors)
    found = []
    for anchor in lowered.anchors:
        whole = _extent(anchor, ranges)
        found.append((_place(_header(anchor, whole, ranges), rows_before), _place(whole, rows_before)))
    return found


def _rough_places(text: str, rows_before: int) -> tuple[Place, Place]:
    """The first row and all rows, for a text too deep to be measured."""
    rows = text.rstrip("\n").split("\n")
    start = (rows_before + 1, 1)
    return (start, (rows_before + 1, len(rows[0]) + 1)), (start, (rows_before + len(rows), len(rows[-1]) + 1))


def class_places(parts: Parts) -> list[tuple[Place, Place]]:
    """The same of the class that these are the parts of, without its statements."""
    (header, (start, _)), *others = places(parts.header, parts.rows_before)
    return [(header, (start, parts.end)), *others]


def part_places(part: Part) -> list[tuple[Place, Place]]:
    """Header and extent of each node of one part of a chunk."""
    return places(part.text, part.rows_before)[part.wrapping :]


def _place(code: CodeRange, rows_before: int) -> Place:
    return (
        (code.start.line + rows_before, code.start.column + 1),
        (code.end.line + rows_before, code.end.column + 1),
    )


def _extent(anchor: Anchor, ranges: Ranges) -> CodeRange:
    match anchor:
        case (first, last):
            return CodeRange(_extent(first, ranges).start, _extent(last, ranges).end)
        case (
            cst.Tuple(lpar=[*_, left], rpar=[right, *_]) | cst.GeneratorExp(lpar=[*_, left], rpar=[right, *_])
        ):
            return CodeRange(ranges[left].start, ranges[right].end)
        case _:
            return ranges[anchor]


def _header(anchor: Anchor, whole: CodeRange, ranges: Ranges) -> CodeRange:
    last: cst.CSTNode | None = None
    match anchor:
        case cst.FunctionDef(name=last) | cst.ClassDef(name=last):
            pass
        case cst.If(test=last) | cst.While(test=last) | cst.For(iter=last) | cst.Match(subject=last):
            pass
        case cst.With(items=[*_, item]):
            last = item.asname.name if item.asname else item.item
        case cst.ExceptHandler(type=kind, name=name) | cst.ExceptStarHandler(type=kind, name=name):
            last = name.name if name else kind
        case cst.MatchCase(pattern=pattern, guard=guard):
            last = guard or pattern
        case cst.Try() | cst.TryStar():
            return _keyword(whole, "try")
        case _:
            return whole
    if last is None:
        return _keyword(whole, "except")
    # Parentheses are no part of what they hold, but of the header.
    outermost = getattr(last, "rpar", None)
    end = ranges[outermost[-1]].end if outermost else _extent(last, ranges).end
    return CodeRange(whole.start, end)


def _keyword(whole: CodeRange, keyword: str) -> CodeRange:
    return CodeRange(
        (whole.start.line, whole.start.column), (whole.start.line, whole.start.column + len(keyword))
    )
