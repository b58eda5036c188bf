"""Which functions can come to a place that asks for a gradient, told from the text.

Following calls is the dear part of a run, and a function that never leads to such a place needs none of it.
Everything here errs on the side of following: strings and comments count, and calls are matched by name alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field

from gradguard.discover.disk import Seen
from gradguard.infer.imports import Imports
from gradguard.infer.outlines import SINK, Outline, outlines

IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)|import[ \t]+([\w.]+))",
    re.MULTILINE,
)
CLASS = re.compile(r"^class[ \t]+(\w+)", re.MULTILINE)
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


@dataclass(slots=True)
class Reach:
    """Names that lead to a sink, by file. `read` gives a file's text, None where there is none."""

    imports: Imports
    read: Reader
    names: dict[Hashable, tuple[frozenset[str], Seen]] = field(default_factory=dict)
    own: dict[str, list[Outline]] = field(default_factory=dict)
    within: dict[str, frozenset[str]] = field(default_factory=dict)
    shaping: dict[str, frozenset[str]] = field(default_factory=dict)
    guarding: dict[str, frozenset[str]] = field(default_factory=dict)

    def reaching(self, key: str) -> frozenset[str]:
        """The names of functions that lead to a sink, as far as the file `key` calls them: its own, and those of
        the files it imports."""
        return self.imports.disk.remembered(self.names, key, lambda: self._reaching(key))

    def _reaching(self, key: str) -> frozenset[str]:
        imported: set[str] = set()
        text = self.read(key) or ""
        for path in set(self._imported(key, text, 0)):
            imported |= self._within(path) - COMMON - {""}
        return closed(self._outlines(key), imported)

    def _outlines(self, key: str) -> list[Outline]:
        self.imports.disk.seen.contents.add(key)
        if key not in self.own:
            self.own[key] = outlines(self.read(key) or "")
        return self.own[key]

    def _within(self, key: str) -> frozenset[str]:
        self.imports.disk.seen.contents.add(key)
        if key not in self.within:
            holds = SINK.search(self.read(key) or "") is not None
            self.within[key] = closed(self._outlines(key), set()) if holds else frozenset()
        return self.within[key]

    def _imported(
        self, key: str, text: str, depth: int, wanted: frozenset[str] | None = None
    ) -> Iterator[str]:
        """The files that imports name; a package's own file stands for those it takes the names from."""
        found = list(IMPORT.finditer(text))
        many = len(found) > MOST_STARS
        for match in found:
            names = frozenset(re.findall(r"\w+", match[3] or ""))
            if wanted is not None and not names & wanted and (many or (match[3] or "").strip() != "*"):
                continue
            module = match[2] if match[4] is None else match[4]
            path = self.imports.resolve(key, module or "", len(match[1] or ""))
            if path is None:
                continue
            yield path
            if os.path.basename(path) == "__init__.py":
                folder = os.path.dirname(path)
                yield from filter(None, (self.imports.submodule(folder, name) for name in names))
                if depth < 2:
                    yield from self._imported(path, self.read(path) or "", depth + 1, names)

    def is_plain(self, key: str) -> bool:
        """Whether no function of a file leads to a sink or hands work on."""
        return not self.reaching(key) and not any(one.sinks or one.hands for one in self._outlines(key))

    def may_guard(self, key: str, name: str, depth: int = 0) -> bool:
        """Whether the name that a file defines or imports may have to do with guards."""
        if any(one.name == name for one in self._outlines(key)):
            return self.guards(key, name)
        text = self.read(key) or ""
        for match in IMPORT.finditer(text):
            if name in re.findall(r"\w+", match[3] or "") and depth < 4:
                path = self.imports.resolve(key, match[2] or "", len(match[1] or ""))
                return path is not None and self.may_guard(path, name, depth + 1)
        return True

    def leads(self, key: str, name: str) -> bool:
        """Whether the function `name` of a file leads to a sink ("" for the top level)."""
        names = self.reaching(key)
        if name in names or (not name and self._works(key)):
            return True
        return any(
            (one.sinks and one.name in IMPLICIT) or (one.hands and one.name == name)
            for one in self._outlines(key)
        )

    def _works(self, key: str) -> bool:
        """Whether a file's top level does something itself: it guards, or calls a function that hands work on, or
        makes an object of a class where some function leads to a sink."""
        own = self._outlines(key)
        top = own[-1]
        if top.guards or any(one.hands and one.name in top.calls for one in own):
            return True
        if not any(one.sinks for one in own):
            return False
        return any(match[1] in top.calls for match in CLASS.finditer(self.read(key) or ""))

    def shapes(self, key: str, name: str) -> bool:
        """Whether the function `name` of a file, or one of the file that it calls, decides what can have a gradient."""
        if key not in self.shaping:
            own = self._outlines(key)
            shaping = {one.name for one in own if one.shapes}
            self.shaping[key] = closed(own, shaping) | shaping
        return name in self.shaping[key] or name in IMPLICIT

    def callers(self, key: str, name: str) -> int:
        """How many functions of a file (its top level among them) call the function `name`."""
        return sum(name in one.calls for one in self._outlines(key))

    def guards(self, key: str, name: str) -> bool:
        """Whether the function `name` of a file, or one of the file that it calls, names a guard."""
        if key not in self.guarding:
            own = self._outlines(key)
            self.guarding[key] = frozenset(one.name for one in own if one.guards)
        return name in self.guarding[key]


def closed(functions: list[Outline], imported: set[str]) -> frozenset[str]:
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
