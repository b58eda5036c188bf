"""What a result was made from, told once: results of neighbours have most of it in common."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from gradguard.discover.disk import Disk, Seen, Stamp

Lookup = tuple[str, str, bool | str]
"""How it was looked for (`KINDS`), the path, and the answer."""

KINDS = ("file", "place", "listing")


@dataclass(frozen=True, slots=True)
class Glimpse:
    """Some things that were seen together.

    `contents` are paths of files that were read, of which what is told of their outlines may have been seen;
    `opened` those of which anything may have been seen; `facets` triples of a path, the name of something that
    was seen of that file, and what was seen (see `gradguard.work.facets`); `matches` triples of a path, a
    pattern and whether it was there, `through` the numbers of other glimpses that belong to it.
    """

    contents: tuple[str, ...]
    opened: tuple[str, ...]
    facets: tuple[tuple[str, str, str], ...]
    lookups: tuple[Lookup, ...]
    matches: tuple[tuple[str, bytes, bool], ...]
    through: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Sights:
    """What one result was made from: the glimpse `root`. `glimpses`, `stamps` and `outlined` (facets of files by
    path, which every result may have seen that read the file) are those not told before."""

    root: int
    glimpses: Mapping[int, Glimpse] = field(default_factory=dict)
    stamps: Mapping[str, Stamp] = field(default_factory=dict)
    outlined: Mapping[str, Set[tuple[str, str]]] = field(default_factory=dict)


NOTHING = Sights(-1)


class Teller:
    """Numbers what was seen, and tells it result by result."""

    def __init__(self) -> None:
        """Has told nothing yet."""
        self._numbers: dict[Seen, int] = {}
        self._stamps: dict[str, Stamp] = {}

    def tell(self, disk: Disk, seen: Seen, outlined: Mapping[str, Set[tuple[str, str]]]) -> Sights:
        """What this result was made from, as far as earlier ones have not told it, and what is `outlined`."""
        glimpses: dict[int, Glimpse] = {}
        waiting = [seen]
        root = self._number(seen)
        while waiting:
            one = waiting.pop()
            news = [inner for inner in one.through if inner not in self._numbers]
            through = tuple(sorted(map(self._number, one.through)))
            waiting.extend(news)
            glimpses[self._number(one)] = _glimpse(disk, one, through)
        stamps = {path: stamp for path, stamp in disk.stamps.items() if self._stamps.get(path) != stamp}
        self._stamps.update(stamps)
        return Sights(root, glimpses, stamps, outlined)

    def _number(self, seen: Seen) -> int:
        return self._numbers.setdefault(seen, len(self._numbers))


def _glimpse(disk: Disk, seen: Seen, through: tuple[int, ...]) -> Glimpse:
    lookups: list[Lookup] = [("file", path, disk.is_file(path)) for path in sorted(seen.files)]
    lookups += [("place", path, disk.exists(path)) for path in sorted(seen.places)]
    lookups += [("listing", path, listing(disk.python_files(path))) for path in sorted(seen.listings)]
    matches = tuple((path, pattern, disk.holds(path, pattern)) for path, pattern in sorted(seen.matches))
    contents = tuple(sorted(seen.contents | seen.opened))
    opened, facets = tuple(sorted(seen.opened)), tuple(sorted(seen.facets))
    return Glimpse(contents, opened, facets, tuple(lookups), matches, through)


def listing(paths: tuple[str, ...]) -> str:
    """A short text that two listings share only if they name the same files."""
    from hashlib import blake2b

    return blake2b("\0".join(paths).encode("utf-8", "surrogateescape"), digest_size=12).hexdigest()
