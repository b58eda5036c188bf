"""IPython's own syntax in a notebook cell, made into Python that says as much.

Rows keep their numbers, and what is Python keeps its columns: a shell line becomes `pass`, a value that
comes from the shell or a magic becomes `...`, of which nobody knows anything.
"""

from __future__ import annotations

import ast
import re

from gradguard.discover.logical_lines import logical_line

# Cell magics whose body is Python that runs in the notebook's own namespace.
PYTHON_CELL_MAGICS = frozenset(
    {
        "capture",
        "debug",
        "lprun",
        "memit",
        "mprun",
        "prun",
        "px",
        "pyinstrument",
        "scalene",
        "snakeviz",
        "time",
        "timeit",
        "wandb",
    }
)

_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_LINE_MAGIC = re.compile(r"([ \t]*)(?:%|!|\?|,|;|/)")
_HELP = re.compile(r"([ \t]*)[%\w.*\[\]'\"]+\?{1,2}[ \t]*(?:#.*)?$")
_TIMED = re.compile(r"([ \t]*)%time[ \t]+(?=[^\s-])")
_ASSIGNED = re.compile(r"([ \t]*[^\W\d][\w ,.*]*(?:\[[^\]]*\])?[ \t]*=[ \t]*)(?:!|%[^\W\d])")


def plain_python(cell: str) -> str:
    """The text of a code cell with magics, shell lines and help requests replaced, row by row."""
    magic = _CELL_MAGIC.match(cell)
    if magic is None:
        return _plain_lines(cell)
    head, newline, body = _split_row(cell, magic.start(1))
    blank = "\n" * head.count("\n")
    if magic.group(1) in PYTHON_CELL_MAGICS:
        return f"{blank}pass{newline}{_plain_lines(body)}"
    return f"{blank}pass{newline}" + "\n" * body.count("\n")


def _split_row(text: str, offset: int) -> tuple[str, str, str]:
    end = text.find("\n", offset)
    return (text, "", "") if end < 0 else (text[:end], "\n", text[end + 1 :])


def _plain_lines(text: str) -> str:
    if not any(mark in text for mark in "%!?;,/"):
        return text
    pieces: list[str] = []
    position = 0
    while position < len(text):
        end = text.find("\n", position)
        row = text[position:] if end < 0 else text[position:end]
        replaced = _plain_row(row)
        if replaced is None:
            line = logical_line(text, position)
            pieces.append(text[line.start : line.end])
            position = line.end
            continue
        pieces.append(replaced)
        position += len(row)
        # A magic goes on behind a backslash; those rows are its own.
        while row.endswith("\\") and position < len(text):
            end = text.find("\n", position + 1)
            row = text[position + 1 :] if end < 0 else text[position + 1 : end]
            pieces.append("\n")
            position += 1 + len(row)
        if position < len(text):
            pieces.append("\n")
            position += 1
    return "".join(pieces)


def _plain_row(row: str) -> str | None:
    """What stands for a row of IPython syntax; None for a row of Python."""
    if timed := _TIMED.match(row):
        return _timed_statement(row, timed)
    if match := _LINE_MAGIC.match(row) or _HELP.match(row):
        return f"{match.group(1)}pass"
    if match := _ASSIGNED.match(row):
        return f"{match.group(1)}..."
    return None


def _timed_statement(row: str, magic: re.Match[str]) -> str:
    """`%time statement` runs the statement here and now; it stays in its columns behind an `if`."""
    indent = magic.group(1)
    try:
        body = ast.parse(row[magic.end() :]).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"{indent}pass"
    if len(body) != 1 or not isinstance(body[0], ast.Expr | ast.Assign | ast.AugAssign | ast.AnnAssign):
        return f"{indent}pass"
    head = f"{indent}if 1:"
    return head.ljust(magic.end()) + row[magic.end() :]
