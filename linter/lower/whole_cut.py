"""The chunks of a text that was parsed as a whole, and their parts."""

from __future__ import annotations

import ast

from gradguard.lower.chunks import Chunk, cut, parse
from gradguard.lower.parts import Parts, parts_of
from gradguard.lower.unreadable import Unreadable


class WholeCut:
    """A text cut where the cheap parser says."""

    def __init__(self, text: str, lines: list[str]) -> None:
        """Parses the text; raises `Unreadable`."""
        read = cut(text, lines)
        self.chunks: tuple[Chunk, ...] = tuple(chunk for chunk, _ in read)
        self._lines = lines
        self._trees = {chunk.index: statements for chunk, statements in read}
        self._parts: dict[int, Parts | None] = {}

    def forget_trees(self) -> None:
        """Let go of what the cheap parser made: it takes much room, and can be made again of each chunk."""
        self._trees.clear()

    def statements(self, index: int) -> list[ast.stmt]:
        """The statements of a chunk, none where only the tree parser can read it; its parts are found on the way."""
        statements = self._trees.pop(index, None)
        if statements is None:
            statements = self._parsed(index)
        if index not in self._parts:
            self._parts[index] = parts_of(self.chunks[index], statements, self._lines)
        return statements

    def parts(self, index: int) -> Parts | None:
        """The parts of a chunk, None if it is to be lowered as a whole."""
        if index not in self._parts:
            self.statements(index)
        return self._parts[index]

    def measured_parts(self, index: int) -> Parts | None:
        """The parts of a chunk and where it ends."""
        return self.parts(index)

    def _parsed(self, index: int) -> list[ast.stmt]:
        chunk = self.chunks[index]
        rows = self._lines[chunk.first_row - 1 : chunk.last_row]
        try:
            # The rows of the tree are those of the file.
            return parse("\n" * (chunk.first_row - 1) + "\n".join(rows) + "\n").body
        except Unreadable as error:
            if isinstance(error.__cause__, SyntaxError):
                return []
            raise
