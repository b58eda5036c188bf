"""How far a replay may go, and the ways in which it stops."""

from __future__ import annotations

STEPS = 20_000
SECONDS = 0.3
SECONDS_ON_TORCH = 10.0
CALL_DEPTH = 24
ROUNDS = 2
"""Rounds of a loop over something unknown or long."""
SHORT = 8
"""Elements up to which a sequence is gone through completely."""
LONGEST = 2_000
"""Elements that a built-in function may draw from an iterable."""
WIDEST = 32
"""Extent to which a dimension of a tensor made by the program is cut."""


class Stopped(BaseException):
    """The replay cannot go on; `reason` says why. No handler of the program may catch it."""

    def __init__(self, reason: str) -> None:
        """Keep the reason, a sentence without a full stop."""
        super().__init__(reason)
        self.reason = reason


def clipped(value: object) -> object:
    """An extent, cut so that replays stay small; anything but an int is returned as it is."""
    if isinstance(value, int) and not isinstance(value, bool) and value > WIDEST:
        return WIDEST
    return value
