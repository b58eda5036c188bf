"""Cutting a file into its top-level statements with the cheap parser."""

from __future__ import annotations

import ast
import warnings

from gradguard.frozen import dataclass
from gradguard.lower.bindings import bound_names
from gradguard.lower.newer import is_tame, may_be_newer
from gradguard.lower.unreadable import Unreadable


@dataclass(frozen=True, slots=True)
class Chunk:
    """One top-level piece of a file: a statement, or several that share a row.

    Rows count from 1 and include decorators. `kind` is function, class, import or other; `binds` are the
    names that running the piece binds at module level, "*" standing for a star import.
    """

    index: int
    first_row: int
    last_row: int
    kind: str
    binds: tuple[str, ...]


@dataclass(slots=True)
class Piece:
    """A chunk that may still grow."""

    first_row: int
    last_row: int
    statements: list[ast.stmt]


def parse(text: str) -> ast.Module:
    """The `ast` tree of a text; raises `Unreadable` whatever is wrong with it."""
    if "\0" in text:
        raise Unreadable(*locate(text, text.index("\0")), "a null byte")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        raise Unreadable(error.lineno or 1, max(error.offset or 1, 1), reason_of(error)) from error
    except UnicodeEncodeError as error:
        row, column = locate(text, error.start)
        raise Unreadable(row, column, "a surrogate character that stands alone") from error
    except ValueError as error:
        raise Unreadable(1, 1, str(error)) from error
    except (RecursionError, MemoryError) as error:
        raise Unreadable(1, 1, "nested too deeply") from error


def reason_of(error: SyntaxError) -> str:
    """What the parser objects to, in the tool's own style: lower case and without a full stop."""
    reason = (error.msg or "invalid syntax").rstrip(".")
    head = reason[:2]
    return reason if head.isupper() else reason[:1].lower() + reason[1:]


def locate(text: str, offset: int) -> tuple[int, int]:
    """Row and column, from 1, of an offset into a text."""
    return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)


Read = tuple[Chunk, list[ast.stmt]]
"""A chunk and its statements, none where only the tree parser can read it."""


def cut(text: str, lines: list[str]) -> tuple[Read, ...]:
    """The top-level pieces of a Python text, in order; raises `Unreadable`."""
    try:
        tree = parse(text)
    except Unreadable as error:
        if isinstance(error.__cause__, SyntaxError) and may_be_newer(text) and is_tame(lines):
            return cut_with_libcst(text, error)
        raise
    walrus = ":=" in text
    chunks: list[Read] = []
    for index, piece in enumerate(pieces(tree.body, lines)):
        names = dict.fromkeys(name for stmt in piece.statements for name in bound_names(stmt, walrus))
        kind = kind_of(piece.statements)
        chunk = Chunk(index, piece.first_row, piece.last_row, kind, tuple(names))
        chunks.append((chunk, piece.statements))
    return tuple(chunks)


def cut_with_libcst(text: str, refusal: Unreadable) -> tuple[Read, ...]:
    """The pieces of a text that only libcst can parse; raises `refusal` if it cannot either."""
    from gradguard.lower.python.recut import stretches

    try:
        found = stretches(text)
    except (Unreadable, RecursionError):
        raise refusal from refusal.__cause__
    return tuple(
        (Chunk(index, piece.first_row, piece.last_row, piece.kind, piece.binds), [])
        for index, piece in enumerate(found)
    )


def pieces(statements: list[ast.stmt], lines: list[str]) -> list[Piece]:
    """Statements grouped so that no two groups share a row, nor a line continued by a backslash."""
    found: list[Piece] = []
    for statement in statements:
        first = first_row(statement)
        last = statement.end_lineno or statement.lineno
        while first > 1 and lines[first - 2].endswith("\\"):
            first -= 1
        while last < len(lines) and lines[last - 1].endswith("\\"):
            last += 1
        if found and first <= found[-1].last_row:
            found[-1].last_row = max(last, found[-1].last_row)
            found[-1].statements.append(statement)
        else:
            found.append(Piece(first, last, [statement]))
    return found


def first_row(statement: ast.stmt) -> int:
    """The row on which a statement starts, its decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def kind_of(statements: list[ast.stmt]) -> str:
    """The kind of the chunk that these statements make."""
    if all(isinstance(statement, ast.Import | ast.ImportFrom) for statement in statements):
        return "import"
    match statements:
        case [ast.FunctionDef() | ast.AsyncFunctionDef()]:
            return "function"
        case [ast.ClassDef()]:
            return "class"
        case _:
            return "other"
