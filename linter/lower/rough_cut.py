"""The chunks of a text, and the parts of its functions and classes, cut by rows: what is asked for is parsed alone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import pairwise

from gradguard.lower.bindings import bound_names
from gradguard.lower.chunks import Chunk, Piece, kind_of, parse, pieces
from gradguard.lower.parts import (
    SHORT,
    WRAPPER,
    Part,
    Parts,
    Sketch,
    as_read,
    emptied,
    parts_of,
    room,
    yields,
)
from gradguard.lower.rough import Block, Rows, Unclear
from gradguard.lower.unreadable import Miscut, Unreadable


class RoughCut:
    """A text cut by its rows. All but the making of it raises `Miscut` where something is other than those say."""

    def __init__(self, text: str, lines: list[str], key: str) -> None:
        """Parses what is neither function nor class; raises `Unclear` where the rows do not tell enough, or what is
        parsed is no Python. `key` is what the file goes by in a program."""
        self._key = key
        self._lines = lines
        self._rows = Rows(text)
        self._blocks: dict[int, Block] = {}
        self._trees: dict[int, list[ast.stmt]] = {}
        self._parts: dict[int, Parts | None] = {}
        blocks = self._rows.blocks()
        others = _without(blocks, lines, 1, len(lines))
        walrus = any(":=" in line for line in others)
        chunks = []
        for index, one in enumerate(_in_order(blocks, pieces(_parsed("\n".join(others)), others))):
            if isinstance(one, Block):
                self._blocks[index] = one
                chunks.append(Chunk(index, one.first_row, one.last_row, one.kind, (one.name,)))
            else:
                self._trees[index] = one.statements
                bound = [name for statement in one.statements for name in bound_names(statement, walrus)]
                kind, names = kind_of(one.statements), tuple(dict.fromkeys(bound))
                chunks.append(Chunk(index, one.first_row, one.last_row, kind, names))
        self.chunks: tuple[Chunk, ...] = tuple(chunks)

    def forget_trees(self) -> None:
        """Let go of what is neither function nor class: it can be parsed again."""
        self._trees.clear()

    def statements(self, index: int) -> list[ast.stmt]:
        """The statements of a chunk; their rows are those of the file."""
        statements = self._trees.pop(index, None)
        if statements is not None:
            return statements
        chunk = self.chunks[index]
        text = "\n" * (chunk.first_row - 1) + _text(chunk, self._lines)
        try:
            return _read(text, self._blocks[index]) if index in self._blocks else _parsed(text)
        except Unclear as error:
            raise Miscut(self._key) from error

    def parts(self, index: int) -> Parts | None:
        """The parts of a function or class, None if it is to be lowered as a whole."""
        if index not in self._parts:
            block = self._blocks[index]
            is_short = block.last_row - block.first_row + 1 < SHORT
            self._parts[index] = None if is_short else self._parts_of(block)
        return self._parts[index]

    def measured_parts(self, index: int) -> Parts | None:
        """The same parts, and where the chunk ends: all of it is parsed."""
        cut = self.parts(index)
        measured = parts_of(self.chunks[index], self.statements(index), self._lines)
        if (cut and cut.members) != (measured and measured.members):
            raise Miscut(self._key)
        return measured

    def _parts_of(self, block: Block) -> Parts | None:
        if block.kind == "function":
            return Parts(False, "", block.first_row - 1, (self._part(block, _text(block, self._lines), 0),))
        try:
            return self._parts_of_class(block)
        except Unclear as error:
            raise Miscut(self._key) from error

    def _parts_of_class(self, block: Block) -> Parts | None:
        inside = self._rows.inside(block)
        first = inside.first_row
        body = ["class _:", *_without(inside.blocks, self._lines, first, block.last_row)]
        others = pieces(_members(body), body)
        for piece in others:
            piece.first_row += first - 2
            piece.last_row += first - 2
        head = self._lines[block.first_row - 1 : first - 1]
        number = room(head)
        members = []
        for one in _in_order(inside.blocks, others):
            text = WRAPPER + _text(one, self._lines)
            if isinstance(one, Block):
                members.append(self._part(one, text, number))
            else:
                members.append(Part(text, one.first_row, number, None, as_read(one.statements)))
            number += room(self._lines[one.first_row - 1 : one.last_row])
        return Parts.of_class(emptied(head, self._lines[first - 1]), block.first_row - 1, members, number)

    def _part(self, block: Block, text: str, number: int) -> Part:
        sketch, read, read_head = None, self._reader(block, text), None
        if block.kind == "function":
            is_generator = "yield" in text and yields(read()[0])
            sketch = Sketch(block.name, block.is_async, is_generator, block.is_decorated)
            if block.is_decorated and (head := self._rows.head(block)):
                row = self._lines[block.header_row - 1]
                indent = row[: len(row) - len(row.lstrip())]
                wrapper = WRAPPER if text.startswith(WRAPPER) else ""
                read_head = self._reader(block, f"{wrapper}{head}\n{indent} pass\n")
        return Part(text, block.first_row, number, sketch, read, read_head)

    def _reader(self, block: Block, text: str) -> Callable[[], list[ast.stmt]]:
        """What reads a block, or a stub of it, when it is asked."""

        @cache
        def read() -> list[ast.stmt]:
            try:
                return _read(text, block)
            except Unclear as error:
                raise Miscut(self._key) from error

        return read


def _without(blocks: Iterable[Block], lines: list[str], first_row: int, last_row: int) -> list[str]:
    """The rows from the first to the last, those of the blocks empty."""
    left = lines[first_row - 1 : last_row]
    for block in blocks:
        count = block.last_row - block.first_row + 1
        start = block.first_row - first_row
        left[start : start + count] = [""] * count
    return left


def _in_order(blocks: Sequence[Block], others: Sequence[Piece]) -> list[Block | Piece]:
    """All of them by their rows; raises `Unclear` if they overlap, or one of the others is what a block should be."""
    found: list[Block | Piece] = sorted([*blocks, *others], key=lambda one: one.first_row)
    for before, one in pairwise(found):
        if one.first_row <= before.last_row:
            raise Unclear
    if any(kind_of(piece.statements) in ("function", "class") for piece in others):
        raise Unclear
    return found


def _text(one: Block | Piece | Chunk, lines: list[str]) -> str:
    return "\n".join(lines[one.first_row - 1 : one.last_row]) + "\n"


def _members(body: list[str]) -> list[ast.stmt]:
    """The statements of a class; none where all of its rows are empty."""
    if all(not (text := row.lstrip()) or text[0] == "#" for row in body[1:]):
        return []
    (around,) = _parsed("\n".join(body))
    assert isinstance(around, ast.ClassDef)
    return around.body


def _parsed(text: str) -> list[ast.stmt]:
    try:
        return parse(text).body
    except Unreadable as error:
        raise Unclear from error


def _read(text: str, block: Block) -> list[ast.stmt]:
    """The function or class that a block is, from its text; raises `Unclear` if it is something else."""
    statements = _parsed(text)
    if text.startswith(WRAPPER):
        statements = [inner for around in statements for inner in getattr(around, "body", ())]
    match statements:
        case [ast.FunctionDef(name=block.name) | ast.AsyncFunctionDef(name=block.name)]:
            kind = "function"
        case [ast.ClassDef(name=block.name)]:
            kind = "class"
        case _:
            raise Unclear
    if kind != block.kind:
        raise Unclear
    return statements
