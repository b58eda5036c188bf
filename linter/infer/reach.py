"""Which functions can come to a place that asks for a gradient, told from the text.

Following calls is the dear part of a run, and a function that never leads to such a place needs none of it.
Everything here errs on the side of following: strings and comments count, and calls are matched by name alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from gradguard.infer.imports import Imports

SINK = re.compile(
    r"\bbackward\b|\bautograd\b|\.grad\b|\brequires_grad_?\b\s*(?:=[^=]|\()|register_hook|retain_grad|update_params|minimize"
    r"|\bVariable\s*\(|\bThread\s*\(|\.submit\s*\(|\bmap\s*\(|\bgradients?\b|\"grad\"|'grad'|\basyncio\b|\.optim\b"
    r"|(?:return|=|yield)\s*\([^()]*\([^()]*\)\s+for\s|closure\s*\("
)
DEFINITION = re.compile(r"^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)
CALL = re.compile(r"(\w+)\s*\(")
IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import|import[ \t]+()([\w.]+))", re.MULTILINE)
IMPLICIT = frozenset({"forward", "__call__", "call", "__init__", "__enter__", "__exit__", "__iter__", "__next__"})
MOST_FILES = 400

Reader = Callable[[str], "str | None"]


@dataclass(frozen=True, slots=True)
class Outline:
    """One function of a text: its name, whether it holds a sink itself, and the names it calls."""

    name: str
    sinks: bool
    calls: frozenset[str]


def outlines(text: str) -> list[Outline]:
    """The functions of a text, nested ones too, and the top level as the function ""."""
    found = list(DEFINITION.finditer(text))
    result = []
    for index, match in enumerate(found):
        indent = len(match[1])
        end = next((m.start() for m in found[index + 1 :] if len(m[1]) <= indent), len(text))
        body = text[match.end() : end]
        result.append(Outline(match[2], SINK.search(body) is not None, frozenset(CALL.findall(body))))
    result.append(_top_level(text))
    return result


def _top_level(text: str) -> Outline:
    rows = [row for row in text.split("\n") if row[:1] not in ("", " ", "\t", "#")]
    shallow = [row for row in text.split("\n") if row.startswith(("    ", "\t")) and not row.startswith("        ")]
    own = "\n".join(rows) + "\n" + "\n".join(shallow)
    return Outline("", SINK.search(own) is not None, frozenset(CALL.findall(own)))


@dataclass(slots=True)
class Reach:
    """Names that lead to a sink, by file. `read` gives a file's text, None where there is none."""

    imports: Imports
    read: Reader
    names: dict[str, frozenset[str]] = field(default_factory=dict)
    own: dict[str, list[Outline]] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)

    def reaching(self, key: str) -> frozenset[str]:
        """The names of functions that lead to a sink, as far as the file `key` can call them."""
        known = self.names.get(key)
        if known is not None:
            return known
        if key in self.open or len(self.names) > MOST_FILES:
            return frozenset()
        text = self.read(key)
        if text is None:
            return frozenset()
        self.open.add(key)
        imported: set[str] = set()
        for path in self._imported(key, text):
            imported |= self.reaching(path)
        self.open.discard(key)
        functions = self.own[key] = outlines(text)
        names = closed(functions, imported)
        self.names[key] = names
        return names

    def _imported(self, key: str, text: str) -> Iterable[str]:
        for match in IMPORT.finditer(text):
            module = match[2] if match[2] is not None else match[4]
            level = len(match[1] or "")
            path = self.imports.resolve(key, module or "", level)
            if path is not None:
                yield path

    def leads(self, key: str, name: str) -> bool:
        """Whether the function `name` of a file leads to a sink ("" for the top level)."""
        names = self.reaching(key)
        return name in names or bool(names & IMPLICIT) and any(o.sinks for o in self.own.get(key, ()))


def closed(functions: list[Outline], imported: set[str]) -> frozenset[str]:
    """The names that lead to a sink: those that hold one, and all that call such a name."""
    names = {one.name for one in functions if one.sinks} | imported
    changed = True
    while changed:
        changed = False
        for one in functions:
            if one.name not in names and not names.isdisjoint(one.calls):
                names.add(one.name)
                changed = True
    return frozenset(names)
