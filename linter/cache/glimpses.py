"""What results were made from, with the names that its files had in the run, as plain lists and back.

Results have most of it in common: everything is told once, in tables, and glimpses are numbers of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gradguard.work.sights import Glimpse, Lookup

Content = tuple[str, "str | None"]
"""The path of a file that was read, and the name under which the run showed it (None: it was not about it)."""
FileFacet = tuple[str, str, str]
Match = tuple[str, bytes, bool]


@dataclass(frozen=True, slots=True)
class Named:
    """A glimpse whose files have names; but for that, see `Glimpse`."""

    contents: tuple[Content, ...]
    opened: tuple[str, ...]
    facets: tuple[FileFacet, ...]
    lookups: tuple[Lookup, ...]
    matches: tuple[Match, ...]
    through: tuple[int, ...]


@dataclass(slots=True)
class Details:
    """Glimpses by number; what of files was outlined: values by name, by path. `lookups` and `matches` are at
    least those of the glimpses."""

    glimpses: dict[int, Named] = field(default_factory=dict)
    outlined: dict[str, dict[str, str]] = field(default_factory=dict)
    lookups: list[Lookup] = field(default_factory=list)
    matches: list[Match] = field(default_factory=list)

    def add(self, number: int, glimpse: Glimpse, names: Mapping[str, str], through: tuple[int, ...]) -> None:
        """Take in a glimpse, as a run saw it that calls files by these names."""
        contents = tuple([(path, names.get(path)) for path in glimpse.contents])
        self.glimpses[number] = Named(
            contents, glimpse.opened, glimpse.facets, glimpse.lookups, glimpse.matches, through
        )
        self.lookups.extend(glimpse.lookups)
        self.matches.extend(glimpse.matches)


class _Table:
    """Rows, each held once."""

    def __init__(self) -> None:
        self.rows: dict[Any, int] = {}

    def number(self, row: Any) -> int:
        return self.rows.setdefault(row, len(self.rows))

    def numbers(self, rows: Iterable[Any]) -> list[int]:
        return list(map(self.number, rows))


def details_to(details: Details, numbers: Mapping[int, int]) -> dict[str, Any]:
    """The details as lists, for the glimpses that are among `numbers`: the new number of each by its old one."""
    texts, contents, facets, lookups, matches = (_Table() for _ in range(5))
    glimpses = [
        [
            contents.numbers(glimpse.contents),
            texts.numbers(glimpse.opened),
            facets.numbers(glimpse.facets),
            lookups.numbers(glimpse.lookups),
            matches.numbers(glimpse.matches),
            [numbers[inner] for inner in glimpse.through if inner in numbers],
        ]
        for glimpse in map(details.glimpses.__getitem__, numbers)
    ]
    text = texts.number
    return {
        "contents": [part for path, name in contents.rows for part in (text(path), _from_name(path, name))],
        "facets": [text(part) for row in facets.rows for part in row],
        "lookups": [part for kind, path, seen in lookups.rows for part in (kind[0], text(path), seen)],
        "matches": [
            part
            for path, pattern, seen in matches.rows
            for part in (text(path), text(_from_bytes(pattern)), seen)
        ],
        "outlined": [
            [text(path), [text(part) for facet in seen.items() for part in facet]]
            for path, seen in details.outlined.items()
        ],
        "glimpses": glimpses,
        "texts": list(texts.rows),
    }


def details_from(told: dict[str, Any]) -> Details:
    """The inverse of `details_to`; raises TypeError, ValueError or LookupError on anything else."""
    texts: list[str] = told["texts"]
    if not set(map(type, texts)) <= {str}:
        raise TypeError("not texts")
    contents = [(texts[path], _to_name(texts[path], name)) for path, name in _rows(told["contents"], 2)]
    facets = [(texts[path], texts[name], texts[seen]) for path, name, seen in _rows(told["facets"], 3)]
    lookups = [(_KIND_OF[kind], texts[path], seen) for kind, path, seen in _rows(told["lookups"], 3)]
    matches = [
        (texts[path], texts[pattern].encode("latin-1"), bool(seen))
        for path, pattern, seen in _rows(told["matches"], 3)
    ]
    glimpses = {
        number: Named(
            tuple([contents[row] for row in read]),
            tuple([texts[row] for row in opened]),
            tuple([facets[row] for row in seen]),
            tuple([lookups[row] for row in looked_up]),
            tuple([matches[row] for row in searched]),
            tuple(map(int, through)),
        )
        for number, (read, opened, seen, looked_up, searched, through) in enumerate(told["glimpses"])
    }
    outlined = {
        texts[path]: {texts[name]: texts[seen] for name, seen in _rows(facets_of, 2)}
        for path, facets_of in told["outlined"]
    }
    return Details(glimpses, outlined, lookups, matches)


def _rows(told: list[Any], size: int) -> Iterator[tuple[Any, ...]]:
    return zip(*(told[start::size] for start in range(size)), strict=True)


_KIND_OF = {"f": "file", "p": "place", "l": "listing"}


def _from_name(path: str, name: str | None) -> int | str | None:
    """Most names are the end of the path: how much of it is left out tells them."""
    return len(path) - len(name) if name is not None and path.endswith(name) else name


def _to_name(path: str, told: int | str | None) -> str | None:
    return path[told:] if isinstance(told, int) else told


def _from_bytes(pattern: bytes) -> str:
    return pattern.decode("latin-1")
