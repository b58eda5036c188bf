"""Which functions can come to a place that asks for a gradient, told from the text.

Following calls is the dear part of a run, and a function that never leads to such a place needs none of it.
Everything here errs on the side of following: short strings count, and calls are matched by name alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterator, Set
from dataclasses import dataclass, field

from gradguard.discover.disk import Seen
from gradguard.infer.imports import Imports
from gradguard.infer.outlines import (
    GUARDING,
    HANDING,
    SINK,
    Outline,
    Patterns,
    guards_at_top,
    holds,
    outlines,
    shapers,
)

IMPORT = re.compile(
    r"\n[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w.]+))"
)
_CLASS = re.compile(r"\nclass[ \t]+(\w+)")
MOST_STARS = 40
IMPLICIT = frozenset(
    {"forward", "__call__", "call", "__init__", "__enter__", "__exit__", "__iter__", "__next__"}
)
_EVERYDAY = (
    "to cuda cpu train eval load save apply size view reshape sum mean max min float half double item numpy detach "
    "clone print len range zip enumerate isinstance super getattr setattr hasattr type int str list dict tuple set "
    "sorted open main wrapper inner decorator parameters modules named_parameters state_dict load_state_dict "
    "get_logger warning info debug error log cat stack zeros ones tensor"
)
COMMON = IMPLICIT | frozenset([*dir(dict), *dir(list), *dir(str), *_EVERYDAY.split()])
"""Names that say nothing of who is called: they count only within a file."""

Reader = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True)
class ImportText:
    """An import as its text tells it: `from ..module import names` has level 2."""

    module: str
    level: int
    names: frozenset[str]
    is_star: bool


def imports_in(text: str) -> Iterator[ImportText]:
    """The imports of a text, those in functions too."""
    for match in IMPORT.finditer("\n" + text):
        names = match[3] or ""
        yield ImportText(
            match[2] or "" if match[4] is None else match[4],
            len(match[1] or ""),
            frozenset(re.findall(r"\w+", names)),
            names.strip() == "*",
        )


def classes_in(text: str) -> Iterator[str]:
    """The names of the classes at the top level of a text."""
    return (match[1] for match in _CLASS.finditer("\n" + text))


@dataclass(slots=True)
class Reach:
    """Names that lead to a sink, by file. `read` gives a file's text, None where there is none.

    `glanced` are files of which something was told from the text that their outlines would tell as well.
    """

    imports: Imports
    read: Reader
    names: dict[Hashable, tuple[frozenset[str], Seen]] = field(default_factory=dict)
    own: dict[str, list[Outline]] = field(default_factory=dict)
    within: dict[str, frozenset[str]] = field(default_factory=dict)
    shaping: dict[str, frozenset[str]] = field(default_factory=dict)
    guarding: dict[str, frozenset[str]] = field(default_factory=dict)
    held: dict[tuple[str, Patterns], bool] = field(default_factory=dict)
    statements: dict[str, tuple[ImportText, ...]] = field(default_factory=dict)
    origins: dict[Hashable, tuple[dict[str, frozenset[str]], Seen]] = field(default_factory=dict)
    glanced: dict[str, None] = field(default_factory=dict)

    def reaching(self, key: str) -> frozenset[str]:
        """The names of functions that lead to a sink, as far as the file `key` calls them: its own, and those of
        the files it imports."""
        return self.imports.disk.remembered(self.names, key, lambda: self._reaching(key))

    def _reaching(self, key: str) -> frozenset[str]:
        imported: set[str] = set()
        for path in {path for one in self._statements(key) for path in self._origins_of(key, one, 0)}:
            imported |= self._within(path) - COMMON - {""}
        if not self._holds(key, SINK):
            text = self._glance(key)
            imported = {name for name in imported if _calls(text, name)}
            if not imported:
                return frozenset()
        return closed(self._outlines(key), imported)

    def _outlines(self, key: str) -> list[Outline]:
        self.imports.disk.seen.contents.add(key)
        if key not in self.own:
            self.own[key] = outlines(self.read(key) or "")
        return self.own[key]

    def _glance(self, key: str) -> str:
        """The text of a file, for what its outlines would tell as well."""
        self.imports.disk.seen.contents.add(key)
        self.glanced[key] = None
        return self.read(key) or ""

    def _holds(self, key: str, patterns: Patterns) -> bool:
        """Whether a file holds one of the patterns anywhere, which is cheaper to tell than where."""
        self.imports.disk.seen.contents.add(key)
        if (key, patterns) not in self.held:
            self.held[key, patterns] = holds(self.read(key) or "", patterns)
        return self.held[key, patterns]

    def _within(self, key: str) -> frozenset[str]:
        self.imports.disk.seen.contents.add(key)
        if key not in self.within:
            own = self._outlines(key) if self._holds(key, SINK) else []
            self.within[key] = closed(own, set())
        return self.within[key]

    def _statements(self, key: str) -> tuple[ImportText, ...]:
        self.imports.disk.seen.contents.add(key)
        if key not in self.statements:
            self.statements[key] = tuple(imports_in(self.read(key) or ""))
        return self.statements[key]

    def _origins_of(self, key: str, statement: ImportText, depth: int) -> Iterator[str]:
        """The files that an import names; a package's own file stands for those it takes the names from."""
        path = self.imports.resolve(key, statement.module, statement.level)
        if path is None:
            return
        yield path
        if os.path.basename(path) != "__init__.py":
            return
        folder = os.path.dirname(path)
        yield from filter(None, (self.imports.submodule(folder, name) for name in statement.names))
        if depth < 2:
            origins = self._origins(path, depth + 1)
            for name in (*statement.names, "*"):
                yield from origins.get(name, ())

    def _origins(self, key: str, depth: int) -> dict[str, frozenset[str]]:
        """The files that each name a package's own file imports may come from; "*" stands for every name."""
        disk = self.imports.disk
        return disk.remembered(self.origins, (key, depth), lambda: self._gathered(key, depth))

    def _gathered(self, key: str, depth: int) -> dict[str, frozenset[str]]:
        statements = self._statements(key)
        found: dict[str, frozenset[str]] = {}
        for statement in statements:
            names = ("*",) if statement.is_star and len(statements) <= MOST_STARS else statement.names
            origins = frozenset(self._origins_of(key, statement, depth)) if names else frozenset()
            for name in names:
                found[name] = found.get(name, frozenset()) | origins
        return found

    def is_plain(self, key: str) -> bool:
        """Whether no function of a file leads to a sink or hands work on."""
        return not self.reaching(key) and not self._holds(key, SINK) and not self._holds(key, HANDING)

    def may_guard(self, key: str, name: str, depth: int = 0) -> bool:
        """Whether the name that a file defines or imports may have to do with guards."""
        if any(one.name == name for one in self._outlines(key)):
            return self.guards(key, name)
        for one in self._statements(key):
            if name in one.names and depth < 4:
                path = self.imports.resolve(key, one.module, one.level)
                return path is not None and self.may_guard(path, name, depth + 1)
        return True

    def leads(self, key: str, name: str) -> bool:
        """Whether the function `name` of a file leads to a sink ("" for the top level)."""
        if name in self.reaching(key) or (not name and self._works(key)):
            return True
        if not self._holds(key, SINK) and not self._holds(key, HANDING):
            return False
        return any(
            (one.sinks and one.name in IMPLICIT) or (one.hands and one.name == name)
            for one in self._outlines(key)
        )

    def _works(self, key: str) -> bool:
        """Whether a file's top level does something itself: it guards, or calls a function that hands work on, or
        makes an object of a class where some function leads to a sink."""
        if not self._holds(key, HANDING) and not self._holds(key, SINK):
            return self._holds(key, GUARDING) and guards_at_top(self._glance(key))
        own = self._outlines(key)
        top = own[-1]
        if top.guards or any(one.hands and one.name in top.calls for one in own):
            return True
        if not any(one.sinks for one in own):
            return False
        return any(name in top.calls for name in classes_in(self.read(key) or ""))

    def shapes(self, key: str, name: str) -> bool:
        """Whether the function `name` of a file, or one of the file that it calls, decides what can have a gradient."""
        if key not in self.shaping:
            own = self._outlines(key)
            shaping = shapers(self._glance(key))
            self.shaping[key] = closed(own, shaping) | shaping
        return name in self.shaping[key] or name in IMPLICIT

    def callers(self, key: str, name: str) -> int:
        """How many functions of a file (its top level among them) call the function `name`."""
        return sum(name in one.calls for one in self._outlines(key))

    def guards(self, key: str, name: str) -> bool:
        """Whether the function `name` of a file, or one of the file that it calls, names a guard."""
        if key not in self.guarding:
            own = self._outlines(key) if self._holds(key, GUARDING) else []
            self.guarding[key] = frozenset(one.name for one in own if one.guards)
        return name in self.guarding[key]


def _calls(text: str, name: str) -> bool:
    """Whether a text may call a name."""
    return name in text and re.search(rf"{re.escape(name)}\s*\(", text) is not None


def closed(functions: list[Outline], imported: Set[str]) -> frozenset[str]:
    """The names of functions that lead to a sink: those that hold one, and all that call such a name."""
    names = {one.name for one in functions if one.sinks}
    called = names | imported
    changed = True
    while changed:
        changed = False
        for one in functions:
            if one.name not in names and not called.isdisjoint(one.calls):
                names.add(one.name)
                called.add(one.name)
                changed = True
    return frozenset(names)
