"""Path patterns of `exclude` and `per-file-ignores`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class PathPatterns:
    """Glob patterns that speak of paths.

    A pattern without a slash names a file or folder anywhere; one with a slash is taken from `root`, the
    folder of the configuration (an absolute pattern stands for itself). `*` and `?` stop at a slash, `**`
    does not. What matches a folder matches everything in it.
    """

    patterns: tuple[str, ...]
    root: str

    def match_entry(self, path: str) -> bool:
        """Whether the absolute `path` itself, not a folder above it, is meant."""
        names, paths = _compiled(self.patterns, self.root)
        return (
            names.fullmatch(os.path.basename(path)) is not None or paths.fullmatch(_slashes(path)) is not None
        )

    def match_within(self, path: str) -> bool:
        """Whether the absolute `path` or a folder above it is meant; names count from `root` down."""
        names, paths = _compiled(self.patterns, self.root)
        inside = _is_below(path, self.root)
        while True:
            if paths.fullmatch(_slashes(path)):
                return True
            if inside and names.fullmatch(os.path.basename(path)):
                return True
            parent = os.path.dirname(path)
            if parent == path:
                return False
            path = parent
            inside = inside and path != self.root


def glob_regex(pattern: str) -> str:
    """The regular expression for a glob over a path with "/" separators."""
    out = []
    position = 0
    while position < len(pattern):
        char = pattern[position]
        if pattern.startswith("**/", position):
            out.append("(?:[^/]+/)*")
            position += 3
        elif pattern.startswith("**", position):
            out.append(".*")
            position += 2
        elif char == "[" and (end := pattern.find("]", position + 2)) > 0:
            out.append(_character_set(pattern[position + 1 : end]))
            position = end + 1
        else:
            out.append({"*": "[^/]*", "?": "[^/]"}.get(char) or re.escape(char))
            position += 1
    return "".join(out)


@lru_cache(maxsize=256)
def _compiled(patterns: tuple[str, ...], root: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    names: list[str] = []
    paths: list[str] = []
    for written in patterns:
        pattern = _slashes(written).rstrip("/") or written
        pattern = pattern.removeprefix("./")
        if "/" not in pattern:
            names.append(glob_regex(pattern))
        elif os.path.isabs(pattern):
            paths.append(glob_regex(pattern))
        else:
            paths.append(re.escape(_slashes(root).rstrip("/")) + "/" + glob_regex(pattern))
    return _any_of(names), _any_of(paths)


def _any_of(expressions: Iterable[str]) -> re.Pattern[str]:
    alternatives = "|".join(f"(?:{expression})" for expression in expressions)
    return re.compile(alternatives or r"(?!)", re.DOTALL)


def _character_set(inside: str) -> str:
    negated, body = inside.startswith("!"), inside.removeprefix("!")
    escaped = re.sub(r"([\\^&|~\[])", r"\\\1", body)
    expression = f"[^{escaped}]" if negated else f"[{escaped}]"
    try:
        re.compile(expression)
    except re.error:
        return re.escape(f"[{inside}]")
    return expression


def _is_below(path: str, root: str) -> bool:
    return path.startswith(root.rstrip(os.sep) + os.sep)


def _slashes(path: str) -> str:
    return path.replace(os.sep, "/") if os.sep != "/" else path
