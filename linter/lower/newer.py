"""Syntax that the running Python may be too old to parse itself."""

from __future__ import annotations

import re
import sys

_SINCE = (
    ((3, 11), r"^[ \t]*except\s*\*|\w\[[^\]\n]*\*|\*\w+\s*:\s*\*"),
    (
        (3, 12),
        r"^[ \t]*type\s+\w+.*=|^[ \t]*(?:async\s+)?(?:def|class)\s+\w+\s*\[|\b(?:[fF][rR]?|[rR][fF])[\"']",
    ),
    ((3, 13), r"^[ \t]*(?:type|def|class|async\s+def)\s+\w+\s*\[[^\]]*="),
    ((3, 14), r"\b(?:[tT][rR]?|[rR][tT])[\"']|^[ \t]*except\b[^(\n]*,"),
)
_MOST_BRACKETS = 100
_MOST_ROWS = 1_000
_LONGEST_ROW = 4_000


def may_be_newer(text: str) -> bool:
    """Whether `text`, which `ast` refuses, has a form that a later Python added."""
    return any(sys.version_info[:2] < since and re.search(form, text, re.MULTILINE) for since, form in _SINCE)


def is_tame(lines: list[str]) -> bool:
    """Whether a text surely nests too little to overflow the stack of a parser without a limit."""
    depth = rows = branches = 0
    for line in lines:
        depth = max(depth + sum(map(line.count, "([{")) - sum(map(line.count, ")]}")), 0)
        rows = rows + 1 if depth or line.endswith("\\") else 0
        branches += "elif" in line
        if len(line) > _LONGEST_ROW or depth > _MOST_BRACKETS or max(rows, branches) > _MOST_ROWS:
            return False
    return True
