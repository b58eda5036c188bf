"""The type of what a replayed program handles: anything at all."""

from __future__ import annotations

from typing import Any, TypeAlias

Value: TypeAlias = Any


def words(text: str) -> frozenset[str]:
    """The words of a text, as a set of names."""
    return frozenset(text.split())
