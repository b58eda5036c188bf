"""What git would ignore, told folder by folder on the way down."""

from __future__ import annotations

import os
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import Pattern

MARKS = frozenset({".git", ".gitignore"})
"""A folder in which neither of these lies has the rules of the folder around it."""


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The rules of one .gitignore, in its order, and the folder that they are relative to."""

    folder: str
    patterns: tuple[Pattern, ...]

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        """Whether `path` is ignored (True), asked for again (False), or not spoken of (None)."""
        relative = os.path.relpath(path, self.folder).replace(os.sep, "/")
        if is_folder:
            relative += "/"
        for pattern in reversed(self.patterns):
            if pattern.match_file(relative) is not None:
                return pattern.include
        return None


@dataclass(frozen=True, slots=True)
class IgnoreRules:
    """The rules in force in a folder, those of the nearest .gitignore last."""

    files: tuple[IgnoreFile, ...] = ()

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Whether git would leave `path` out; the folders above it are taken to be let in."""
        for file in reversed(self.files):
            verdict = file.verdict(path, is_folder)
            if verdict is not None:
                return verdict
        return False

    def entering(self, folder: str) -> IgnoreRules:
        """The rules in force inside of `folder`; a repository does not heed the folders around it."""
        outer = () if _is_repository(folder) else self.files
        own = tuple(
            IgnoreFile(folder, patterns)
            for name in (os.path.join(".git", "info", "exclude"), ".gitignore")
            if (patterns := _read(os.path.join(folder, name)))
        )
        return self if not own and outer is self.files else IgnoreRules(outer + own)


def rules_for(folder: str, working_folder: str) -> tuple[IgnoreRules, bool]:
    """The rules that the folders above `folder` give it, and whether it is itself ignored.

    The folders count from the root of the repository down; outside of a repository from `working_folder`
    down. The rules of an ignored folder are empty: who names it wants what is in it.
    """
    rules = IgnoreRules()
    chain = _chain(folder, working_folder)
    for parent, child in pairwise(chain):
        rules = rules.entering(parent)
        if rules.ignores(child, is_folder=True):
            return IgnoreRules(), True
    return rules, False


def _chain(folder: str, working_folder: str) -> list[str]:
    """The folders from the outermost whose rules count down to `folder`."""
    chain = [folder]
    while not _is_repository(chain[-1]):
        parent = os.path.dirname(chain[-1])
        if parent == chain[-1]:
            top = chain.index(working_folder) if working_folder in chain else 0
            return chain[top::-1]
        chain.append(parent)
    return chain[::-1]


def _is_repository(folder: str) -> bool:
    return os.path.lexists(os.path.join(folder, ".git"))


def _read(path: str) -> tuple[Pattern, ...]:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read().split("\n")
    except OSError:
        return ()
    lines = [line for line in lines if line.strip() and not line.startswith("#")]
    return _parse(lines) if lines else ()


def _parse(lines: list[str]) -> tuple[Pattern, ...]:
    from pathspec import GitIgnoreSpec

    try:
        spec = GitIgnoreSpec.from_lines(lines)
    except ValueError:
        if len(lines) == 1:
            # git passes over a line that it cannot read; so does this.
            return ()
        return tuple(pattern for line in lines for pattern in _parse([line]))
    return tuple(pattern for pattern in spec.patterns if pattern.include is not None)
