"""What is wrong with a configuration, and the word that was probably meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class SettingsError(Exception):
    """A configuration that cannot be followed; the argument is a sentence for the user."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """`; did you mean ...` with the nearest of `known`, or "" where none is near."""
    choices = {choice.lower(): choice for choice in known}
    near = difflib.get_close_matches(word.lower(), choices, n=1, cutoff=0.5)
    return f"; did you mean `{choices[near[0]]}`?" if near else ""
