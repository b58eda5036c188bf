"""Taking a class or a function apart, so that the body of each function can be lowered when it is asked for."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradguard.ir.nodes import CHUNK
from gradguard.lower.chunks import first_row, pieces

SHORT = 12
"""Rows below which a piece is not worth taking apart."""
WRAPPER = "class _:\n"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True)
class Sketch:
    """What the cheap parser tells of a function. `header` is its text with an empty body, "" where that would
    save nothing."""

    name: str
    is_async: bool
    is_generator: bool
    is_decorated: bool
    header: str


@dataclass(frozen=True, slots=True)
class Part:
    """A statement of a class (or several that share a row), or a function that is a chunk by itself.

    `text` is complete: `WRAPPER` stands before the rows of a class's statement. `row` is the row in the chunk of
    its own first row, from 1, and `first_node` the number in the chunk of the first node made from it. `function`
    is what is known of a function that can wait.
    """

    text: str
    row: int
    first_node: int
    function: Sketch | None

    @property
    def wrapping(self) -> int:
        """How many nodes, and rows, come from a class that had to be put around it."""
        return int(self.text.startswith(WRAPPER))

    @property
    def rows_before(self) -> int:
        """How many rows of the chunk stand above the first row of the text."""
        return self.row - 1 - self.wrapping


@dataclass(frozen=True, slots=True)
class Parts:
    """A chunk in parts.

    `header` is the class without its statements, "" for a function. `end` is the row and the column (from 1)
    behind its last character.
    """

    header: str
    members: tuple[Part, ...]
    end: tuple[int, int] = (1, 1)

    def at(self, number: int) -> Part | None:
        """The part that holds a node; None for the header of a class."""
        index = bisect_right(self.members, number, key=lambda part: part.first_node) - 1
        return self.members[index] if index >= 0 else None


def parts_of(text: str, body: list[ast.stmt]) -> Parts | None:
    """The parts of a chunk that is one class or function, from its text and its statement; None if it is to be
    lowered as a whole."""
    lines = text.split("\n")
    if len(lines) <= SHORT:
        return None
    match body:
        case [ast.ClassDef() as statement]:
            return _parts_of_class(statement, lines)
        case [ast.FunctionDef() | ast.AsyncFunctionDef() as statement]:
            return Parts("", (Part(text, 1, 0, _sketch(statement, lines, 1, "")),))
        case _:
            return None


def _parts_of_class(statement: ast.ClassDef, lines: list[str]) -> Parts | None:
    found = pieces(statement.body, lines)
    first = first_row(statement.body[0])
    if not found or found[0].first_row != first or not _starts_row(statement.body[0], lines):
        return None
    head = lines[: first - 1]
    members: list[Part] = []
    number = _room(head)
    for piece in found:
        rows = lines[piece.first_row - 1 : piece.last_row]
        sketch = None
        match piece.statements:
            case [ast.FunctionDef() | ast.AsyncFunctionDef() as function]:
                sketch = _sketch(function, lines, piece.first_row, WRAPPER)
        text = WRAPPER + "\n".join(rows) + "\n"
        members.append(Part(text, piece.first_row, number, sketch))
        number += _room(rows)
    if number >= CHUNK:
        # The handles of a chunk must not run into those of the next.
        return None
    header = "\n".join([*head, f"{_indent(lines[first - 1])}pass", ""])
    row = statement.end_lineno or len(lines)
    column = len(lines[row - 1].encode()[: statement.end_col_offset].decode()) + 1
    return Parts(header, tuple(members), (row, column))


def _sketch(
    function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str], row: int, wrapper: str
) -> Sketch:
    """What is known of a function whose rows start at `row`."""
    header = _header(function, lines, row)
    text = lines[row - 1 : function.end_lineno]
    return Sketch(
        function.name,
        isinstance(function, ast.AsyncFunctionDef),
        any("yield" in line for line in text) and _yields(function),
        bool(function.decorator_list),
        header and wrapper + header,
    )


def _header(function: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str], row: int) -> str:
    """The rows of a function from `row` to where its body starts, with an empty body; "" if that saves nothing."""
    first = first_row(function.body[0])
    last = function.end_lineno or first
    if last - first < SHORT // 2 or not _starts_row(function.body[0], lines):
        return ""
    return "\n".join([*lines[row - 1 : first - 1], f"{_indent(lines[first - 1])}pass", ""])


def _starts_row(statement: ast.stmt, lines: list[str]) -> bool:
    """Whether nothing but blanks stands before a statement, nor a continued line above it."""
    row = first_row(statement)
    before = lines[row - 2] if row > 1 else ""
    decorated = row != statement.lineno
    start = (
        lines[row - 1].lstrip(" \t\f").startswith("@")
        if decorated
        else (not lines[row - 1].encode()[: statement.col_offset].strip(b" \t\f"))
    )
    return start and not before.endswith("\\")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def _room(rows: Sequence[str]) -> int:
    """More than the nodes that can be made from these rows: a node takes a character or more, bar a few."""
    return 2 * sum(map(len, rows)) + 2 * len(rows) + 8


def _yields(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the function itself holds a yield."""
    return any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own(function))


def _own(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function's body that belong to it and to no function inside it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, _FUNCTIONS):
            # What decorates a function, or is a default of it, is run by the one around it.
            pending += [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
        elif isinstance(node, ast.Lambda):
            pending += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        else:
            pending.extend(ast.iter_child_nodes(node))
