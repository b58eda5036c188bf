"""Taking a class or a function apart, so that the body of each function can be lowered when it is asked for.

Rows are those of the file, from 1.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field

from gradguard.frozen import dataclass
from gradguard.ir.nodes import CHUNK
from gradguard.lower.chunks import Chunk, first_row, pieces

SHORT = 12
"""Rows below which a piece is not worth taking apart."""
WRAPPER = "class _:\n"
AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Sketch:
    """What the cheap parser tells of a function."""

    name: str
    is_async: bool
    is_generator: bool
    is_decorated: bool


@dataclass(frozen=True, slots=True)
class Part:
    """A statement of a class (or several that share a row), or a function that is a chunk by itself.

    `text` is complete: `WRAPPER` stands before the rows of a class's statement. `row` is its own first row, and
    `first_node` the number in the chunk of the first node made from it. `function` is what is known of a function
    that can wait, `read` gives what the cheap parser makes of the text, `read_head` what it makes of its header alone,
    where that is less.
    """

    text: str
    row: int
    first_node: int
    function: Sketch | None
    read: Callable[[], list[ast.stmt]] = field(compare=False, repr=False)
    read_head: Callable[[], list[ast.stmt]] | None = field(default=None, compare=False, repr=False)

    @property
    def wrapping(self) -> int:
        """How many nodes, and rows, come from a class that had to be put around it."""
        return int(self.text.startswith(WRAPPER))

    @property
    def rows_before(self) -> int:
        """How many rows of the file stand above the first row of the text."""
        return self.row - 1 - self.wrapping

    def node(self) -> AnyFunction:
        """The function that the part is; only of one that can wait."""
        return _only_function(self.read())

    def head(self) -> AnyFunction:
        """The same, its statements left out where they need not be read."""
        return _only_function((self.read_head or self.read)())


def _only_function(statements: list[ast.stmt]) -> AnyFunction:
    (function,) = statements
    assert isinstance(function, AnyFunction)
    return function


@dataclass(frozen=True, slots=True)
class Parts:
    """A chunk in parts.

    `header` is the text of a class without its statements, "" for a function; `rows_before` is how many rows stand
    above it, `end` the row and the column (from 1) behind its last character, where the whole of it was parsed.
    """

    is_class: bool
    header: str
    rows_before: int
    members: tuple[Part, ...]
    end: tuple[int, int] = (1, 1)

    @staticmethod
    def of_class(
        header: str, rows_before: int, members: Sequence[Part], nodes: int, end: tuple[int, int] = (1, 1)
    ) -> Parts | None:
        """The parts of a class; None if more nodes can come from it than a chunk has handles for."""
        return Parts(True, header, rows_before, tuple(members), end) if nodes < CHUNK else None

    def at(self, number: int) -> Part | None:
        """The part that holds a node; None for the header of a class."""
        index = bisect_right(self.members, number, key=lambda part: part.first_node) - 1
        return self.members[index] if index >= 0 else None


def parts_of(chunk: Chunk, statements: list[ast.stmt], lines: list[str]) -> Parts | None:
    """The parts of a chunk that is one class or function, from its statement and the rows of its file; None if it
    is to be lowered as a whole."""
    if chunk.last_row - chunk.first_row + 1 < SHORT:
        return None
    match statements:
        case [ast.ClassDef() as statement]:
            return _parts_of_class(chunk, statement, lines)
        case [ast.FunctionDef() | ast.AsyncFunctionDef() as statement]:
            rows = lines[chunk.first_row - 1 : chunk.last_row]
            text = "\n".join(rows) + "\n"
            part = Part(text, chunk.first_row, 0, _sketch(statement, rows), as_read(statements))
            return Parts(False, "", chunk.first_row - 1, (part,))
        case _:
            return None


def _parts_of_class(chunk: Chunk, statement: ast.ClassDef, lines: list[str]) -> Parts | None:
    found = pieces(statement.body, lines)
    first = first_row(statement.body[0])
    if not found or found[0].first_row != first or not _starts_row(statement.body[0], lines):
        return None
    head = lines[chunk.first_row - 1 : first - 1]
    members: list[Part] = []
    number = room(head)
    for piece in found:
        rows = lines[piece.first_row - 1 : piece.last_row]
        sketch = None
        match piece.statements:
            case [ast.FunctionDef() | ast.AsyncFunctionDef() as function]:
                sketch = _sketch(function, rows)
        text = WRAPPER + "\n".join(rows) + "\n"
        members.append(Part(text, piece.first_row, number, sketch, as_read(piece.statements)))
        number += room(rows)
    header = emptied(head, lines[first - 1])
    row = statement.end_lineno or len(lines)
    column = len(lines[row - 1].encode()[: statement.end_col_offset].decode()) + 1
    return Parts.of_class(header, chunk.first_row - 1, members, number, (row, column))


def as_read(statements: list[ast.stmt]) -> Callable[[], list[ast.stmt]]:
    """What gives statements that were read with all of their file."""
    return lambda: statements


def _sketch(function: AnyFunction, rows: list[str]) -> Sketch:
    """What is known of a function with these rows."""
    return Sketch(
        function.name,
        isinstance(function, ast.AsyncFunctionDef),
        any("yield" in row for row in rows) and yields(function),
        bool(function.decorator_list),
    )


def header_of(part: Part) -> str:
    """The text of a part that is a function, with an empty body; "" if that saves nothing."""
    function = part.node()
    first = first_row(function.body[0])
    last = function.end_lineno or first
    lines = part.text.split("\n")
    # The rows of the tree may be those of the file, or those of the text.
    rows_before = first_row(function) - 1 - part.wrapping
    if last - first < SHORT // 2 or not _starts_row(function.body[0], lines, rows_before):
        return ""
    body_from = first - 1 - rows_before
    return emptied(lines[:body_from], lines[body_from])


def emptied(head: list[str], first: str) -> str:
    """The rows of a header with an empty body, indented as the first row of the body is."""
    return "\n".join([*head, f"{_indent(first)}pass", ""])


def _starts_row(statement: ast.stmt, lines: list[str], rows_before: int = 0) -> bool:
    """Whether nothing but blanks stands before a statement, nor a continued line above it."""
    row = first_row(statement) - rows_before
    before = lines[row - 2] if row > 1 else ""
    decorated = row + rows_before != statement.lineno
    start = (
        lines[row - 1].lstrip(" \t\f").startswith("@")
        if decorated
        else (not lines[row - 1].encode()[: statement.col_offset].strip(b" \t\f"))
    )
    return start and not before.endswith("\\")


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" \t"))]


def room(rows: Sequence[str]) -> int:
    """More than the nodes that can be made from these rows: a node takes a character or more, bar a few."""
    return 2 * sum(map(len, rows)) + 2 * len(rows) + 8


def yields(function: ast.stmt) -> bool:
    """Whether the function itself holds a yield."""
    return isinstance(function, AnyFunction) and any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in _own(function)
    )


def _own(function: AnyFunction) -> Iterator[ast.AST]:
    """The nodes of a function's body that belong to it and to no function inside it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, AnyFunction):
            # What decorates a function, or is a default of it, is run by the one around it.
            pending += [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
        elif isinstance(node, ast.Lambda):
            pending += [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        else:
            pending.extend(ast.iter_child_nodes(node))
