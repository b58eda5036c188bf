"""What results saw of a file that they follow: as long as that is the same, the rest of it may change.

A followed file is seen through what `gradguard.infer.reach` takes from its text, and, where a call leads into
it, through the top-level pieces that were lowered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from hashlib import blake2b
from itertools import islice

from gradguard.infer.outlines import GUARDING, HANDING, SHAPING, SINK, Outline, holds, outlines, shapers
from gradguard.infer.reach import ImportText, Reach, classes_in, imports_in
from gradguard.lower.module import Chunk, Module, Unreadable, open_module
from gradguard.lower.reading import Reading
from gradguard.source import Source

Facet = tuple[str, str]
"""What was looked at, and a text that tells what was seen there."""

_PATTERNS = {"guarding": GUARDING, "handing": HANDING, "shaping": SHAPING, "sinks": SINK}
_NAMES = {patterns: name for name, patterns in _PATTERNS.items()}


class Outlined:
    """Tells what was taken from the texts of files, as far as it has not been told before."""

    def __init__(self, reach: Reach) -> None:
        """Has told nothing yet."""
        self._reach = reach
        self._told = [0, 0, 0, 0]

    def news(self) -> dict[str, set[Facet]]:
        """The facets by file that came up since the last time."""
        reach, (first, second, third, fourth) = self._reach, self._told
        self._told = [len(reach.statements), len(reach.own), len(reach.held), len(reach.glanced)]
        found: dict[str, set[Facet]] = {}
        for key, statements in islice(reach.statements.items(), first, None):
            found.setdefault(key, set()).add(("imports", _of_imports(statements)))
        for key in {*islice(reach.own, second, None), *islice(reach.glanced, fourth, None)}:
            text = reach.read(key) or ""
            own = reach.own[key] if key in reach.own else outlines(text)
            facets = found.setdefault(key, set())
            facets.add(("outlines", _of_outlines(own, shapers(text))))
            facets.add(("classes", _of_classes(text)))
        for (key, patterns), held in islice(reach.held.items(), third, None):
            # A pattern that nobody here knows has no answer that could be compared.
            found.setdefault(key, set()).add((_NAMES.get(patterns, "unknown"), str(held)))
        return found


class Now:
    """The facets of a file as it is now."""

    def __init__(self, text: str) -> None:
        """Takes the text of a Python file."""
        self._text = text
        self._values: dict[str, str | None] = {}

    def has(self, name: str, value: str) -> bool:
        """Whether this is to be seen of the file."""
        if name not in self._values:
            self._values[name] = self._value(name)
        return self._values[name] == value

    def _value(self, name: str) -> str | None:
        match name.split(" "):
            case ["imports"]:
                return self._imports
            case ["outlines"]:
                return self._outlines
            case ["classes"]:
                return _of_classes(self._text)
            case ["shape"]:
                return None if self._module is None else of_shape(self._module)
            case ["piece" | "place" as kind, number] if self._module is not None:
                index = int(number)
                if index >= len(self._module.chunks):
                    return None
                if kind == "place":
                    return of_place(self._module.chunks[index])
                return of_piece(self._module.text(index))
            case [pattern] if pattern in _PATTERNS:
                return str(holds(self._text, _PATTERNS[pattern]))
            case _:
                return None

    @cached_property
    def _imports(self) -> str:
        return _of_imports(imports_in(self._text))

    @cached_property
    def _outlines(self) -> str:
        return _of_outlines(outlines(self._text), shapers(self._text))

    @cached_property
    def _module(self) -> Module | None:
        try:
            return open_module(Source("", "", self._text), Reading.ROWS)
        except Unreadable:
            return None


def of_shape(module: Module) -> str:
    """What pieces there are, and what each binds."""
    return _digest(f"{chunk.kind} {' '.join(chunk.binds)}" for chunk in module.chunks)


def of_piece(text: str) -> str:
    """What a piece says."""
    return _digest([text])


def of_place(chunk: Chunk) -> str:
    """Where a piece starts."""
    return str(chunk.first_row)


def _of_imports(statements: Iterable[ImportText]) -> str:
    return _digest(f"{one.level} {one.module} {sorted(one.names)} {one.is_star}" for one in statements)


def _of_outlines(own: Iterable[Outline], shaping: Iterable[str]) -> str:
    return _digest(_lines(own, shaping))


def _lines(own: Iterable[Outline], shaping: Iterable[str]) -> Iterator[str]:
    for one in own:
        yield f"{one.name} {one.sinks} {one.hands} {one.guards} {' '.join(sorted(one.calls))}"
    yield " ".join(sorted(shaping))


def _of_classes(text: str) -> str:
    return _digest(classes_in(text))


def _digest(lines: Iterable[str]) -> str:
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=8).hexdigest()
