"""Planted faults: what is written where, and which findings count as having found it."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from planting.sites import Lines

UNTRACKED = frozenset({"GRD101", "GRD104", "GRD105", "GRD108"})


@dataclass(frozen=True, slots=True)
class Edit:
    """New lines before line `at` (from 1), without indentation of their own beyond `indent`.

    `deeper` indents those lines of the file one step further; `dropped` leaves them out.
    """

    at: int
    lines: tuple[str, ...] = ()
    deeper: Lines | None = None
    dropped: Lines | None = None


@dataclass(frozen=True, slots=True)
class Plant:
    """A fault in a copy of a file. `heard` are the lines of the original at which a finding may stand."""

    kind: str
    line: int
    edits: tuple[Edit, ...]
    codes: frozenset[str]
    heard: tuple[Lines, ...]
    driver: str = ""


@dataclass(frozen=True, slots=True)
class Planted:
    """The text with the fault. `origin[i]` is the original's line that line `i + 1` was, 0 for a new one."""

    text: str
    origin: tuple[int, ...]


def apply(source: str, tree: ast.Module, plant: Plant) -> Planted | None:
    """The text with the fault in it; None where the edit does not make a program."""
    lines = source.splitlines(keepends=True)
    rows: list[tuple[str, int]] = [(line, number) for number, line in enumerate(lines, 1)]
    inside = _inside_strings(tree)
    for edit in sorted(plant.edits, key=lambda edit: -edit.at):
        if edit.deeper is not None:
            step = "\t" if lines[edit.at - 1].startswith("\t") else "    "
            for number in range(edit.deeper.first, edit.deeper.last + 1):
                text, origin = rows[number - 1]
                if number not in inside and text.strip():
                    rows[number - 1] = (step + text, origin)
        if edit.dropped is not None:
            rows[edit.dropped.first - 1 : edit.dropped.last] = []
        rows[edit.at - 1 : edit.at - 1] = [(line + "\n", 0) for line in edit.lines]
    text = "".join(text for text, _ in rows)
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return None
    return Planted(text, tuple(origin for _, origin in rows))


def indentation(source_lines: Sequence[str], line: int) -> str:
    """The blank text at the beginning of a line."""
    text = source_lines[line - 1]
    return text[: len(text) - len(text.lstrip())]


def importing(tree: ast.Module, source: str) -> Edit | None:
    """What binds the name `torch` at the top of a file that does not."""
    for node in tree.body:
        if isinstance(node, ast.Import) and any(
            (a.asname or a.name.split(".")[0]) == "torch" for a in node.names
        ):
            return None
    first = 1
    for node in tree.body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if not is_text and not is_future:
            first = node.lineno - (1 if getattr(node, "decorator_list", []) else 0)
            break
    return Edit(max(first, 1), ("import torch",))


def _inside_strings(tree: ast.Module) -> frozenset[int]:
    """The lines that begin inside a string."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        ):
            found.update(range(node.lineno + 1, (node.end_lineno or node.lineno) + 1))
    return frozenset(found)
