"""Dataclasses that nobody changes, for what is made by the hundred thousand.

`frozen` ones set each field through `object.__setattr__`, which takes three times as long (CPython 3.11). Here the type
checker sees to it that none is changed, and nothing does at run time; all else, equality and hashes, is as usual.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    import dataclasses
    from collections.abc import Callable

    def dataclass(*, frozen: bool = False, slots: bool = False, eq: bool = True) -> Callable[[type], type]:
        """As that of the standard library."""
        return dataclasses.dataclass(slots=slots, eq=eq, unsafe_hash=frozen and eq)


__all__ = ["dataclass"]
