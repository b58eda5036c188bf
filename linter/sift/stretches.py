"""Which stretches of a text can hold a finding of their own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from gradguard.sift.tokens import Clue, Clues, compiled

Bounds = Sequence[tuple[int, int]]
"""Where each stretch starts and ends in the text, in order; what lies between two belongs to none."""


def suspect_stretches(clues: Clues, text: str, bounds: Bounds) -> frozenset[int]:
    """The numbers of the stretches that hold a clue, or both of a pair.

    One search of the whole text is cheaper than one of each stretch; what it finds is looked at once more, as a
    match may run on into the next stretch.
    """
    starts = [start for start, _ in bounds]
    near = {number for clue in clues.alone for number in _stretches_near(clue, text, bounds, starts)}
    for first, second in clues.together:
        near_first = set(_stretches_near(first, text, bounds, starts))
        near |= near_first.intersection(_stretches_near(second, text, bounds, starts))
    return frozenset(number for number in near if clues.hold(text[slice(*bounds[number])]))


def _stretches_near(clue: Clue, text: str, bounds: Bounds, starts: list[int]) -> Iterator[int]:
    """The stretches in which a match of the clue starts."""
    pattern = compiled(clue[1])
    match = pattern.search(text)
    while match is not None:
        number = bisect_right(starts, match.start()) - 1
        end = bounds[number][1] if number >= 0 else 0
        if match.start() < end:
            yield number
        elif number + 1 == len(bounds):
            return
        else:
            end = starts[number + 1]
        match = pattern.search(text, end)
