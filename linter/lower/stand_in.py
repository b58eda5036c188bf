"""Doing without statements that `ast` can parse and libcst cannot."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable

from gradguard.lower.bindings import bound_names


def with_stand_ins(text: str, is_parsable: Callable[[str], bool]) -> str:
    """`text` with each simple statement that is not parsable by itself replaced by one that binds its names.

    Rows stay where they are. The text comes back as it was if `ast` cannot parse it either.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    lines = [line.encode() for line in text.split("\n")]
    # From the end, so that the columns of those before stay right.
    for statement in sorted(_simple_statements(tree), key=_start, reverse=True):
        if not is_parsable(_text_of(statement, lines)):
            _replace(statement, lines)
    return b"\n".join(lines).decode()


def _simple_statements(tree: ast.Module) -> list[ast.stmt]:
    return [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt) and not hasattr(node, "body") and not isinstance(node, ast.Match)
    ]


def _start(statement: ast.stmt) -> tuple[int, int]:
    return statement.lineno, statement.col_offset


def _end(statement: ast.stmt) -> tuple[int, int]:
    return statement.end_lineno or statement.lineno, statement.end_col_offset or 0


def _text_of(statement: ast.stmt, lines: list[bytes]) -> str:
    first, start = _start(statement)
    last, end = _end(statement)
    rows = lines[first - 1 : last]
    rows[-1] = rows[-1][:end]
    rows[0] = rows[0][start:]
    return b"\n".join(rows).decode() + "\n"


def _replace(statement: ast.stmt, lines: list[bytes]) -> None:
    first, start = _start(statement)
    last, end = _end(statement)
    names = dict.fromkeys(bound_names(statement, True))
    stand_in = " = ".join([*names, "..."]).encode()
    row = lines[first - 1][:start] + stand_in + lines[last - 1][end:]
    lines[first - 1 : last] = [row, *[b""] * (last - first)]
