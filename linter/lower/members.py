"""The statements of a class, so that a position in one method costs no more than that method."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from gradguard.lower.chunks import parse, pieces
from gradguard.lower.unreadable import Unreadable

SHORT = 60
"""Rows below which a class is not worth taking apart."""


@dataclass(frozen=True, slots=True)
class Member:
    """A statement of a class: its rows within the chunk's text, and the number of its first node."""

    first_row: int
    last_row: int
    first_node: int


def members(text: str, starts: Sequence[int]) -> tuple[Member, ...]:
    """The members of a class; empty if it is short, or its text is not what `starts` was made from.

    `starts` holds the number of the first node of each statement in the class's block.
    """
    lines = text.split("\n")
    if len(lines) < SHORT:
        return ()
    try:
        (statement,) = parse(text).body
    except (Unreadable, ValueError):
        return ()
    found = pieces(getattr(statement, "body", []), lines)
    if len(found) != len(starts) or found[0].first_row == 1:
        return ()
    return tuple(
        Member(piece.first_row, piece.last_row, start) for piece, start in zip(found, starts, strict=True)
    )


def member_at(found: Sequence[Member], number: int) -> Member | None:
    """The member that holds a node; None for what stands in the header of the class."""
    index = bisect_right(found, number, key=lambda member: member.first_node) - 1
    return found[index] if index >= 0 else None
