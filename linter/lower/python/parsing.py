"""From the text of a chunk to its lowering."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import libcst as cst

from gradguard.ir.nodes import Body
from gradguard.lower.python.visitor import Anchor, Lowering
from gradguard.lower.stand_in import with_stand_ins
from gradguard.lower.unreadable import Unreadable


@dataclass(frozen=True, slots=True)
class Lowered:
    """A chunk's tree, its statements, and the syntax behind each handle."""

    tree: cst.Module
    body: Body
    anchors: list[Anchor]


def lower_text(text: str, base: int, rows_before: int) -> Lowered:
    """Lowers a chunk whose handles start at `base` and whose rows follow `rows_before` others.

    Raises `Unreadable`, with the row in the file.
    """
    lowering = Lowering(base)
    try:
        with collection_paused():
            tree = parse_tree(text, rows_before)
            tree.visit(lowering)
    except (RecursionError, MemoryError) as error:
        raise Unreadable(rows_before + 1, 1, "nested too deeply") from error
    return Lowered(tree, lowering.body, lowering.anchors)


def parse_tree(text: str, rows_before: int) -> cst.Module:
    """The libcst tree of a text; raises `Unreadable`, with the row in the file.

    A statement that is right but beyond libcst is replaced by one that binds its names to nothing known.
    """
    try:
        return cst.parse_module(text)
    except cst.ParserSyntaxError as error:
        refused = error
    mended = with_stand_ins(text, _is_parsable)
    if mended != text:
        try:
            return cst.parse_module(mended)
        except cst.ParserSyntaxError as error:
            refused = error
    # The row told is the one after the fault.
    raise Unreadable(rows_before + max(refused.raw_line - 1, 1), 1, "libcst cannot parse this") from refused


def _is_parsable(text: str) -> bool:
    try:
        cst.parse_module(text)
    except cst.ParserSyntaxError:
        return False
    return True


@contextmanager
def collection_paused() -> Iterator[None]:
    """A tree is many objects and no cycle: the collector would walk it again and again for nothing."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
