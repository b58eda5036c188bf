"""What each function of a text holds and calls, told from the text by patterns."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from gradguard.frozen import dataclass

_LITERAL = re.compile(r"(?:\\\.|[\w\"'@=])+(?![*?])")


class Patterns:
    """Patterns that each start with a literal: whether that is there at all is quickly told, and the search for it is
    many times as fast as that for a choice."""

    def __init__(self, *texts: str) -> None:
        """Takes the texts of the patterns."""
        literals = [_literal(text) for text in texts]
        groups: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
        for literal, text in zip(literals, texts, strict=True):
            core = min((other for other in literals if other in literal), key=len)
            groups.setdefault(core, []).append((literal, re.compile(text)))
        self._by_core = tuple((core, tuple(group)) for core, group in groups.items())

    def near(self, text: str) -> Iterator[re.Pattern[str]]:
        """Those whose literals stand in a text."""
        for core, group in self._by_core:
            if core in text:
                yield from (pattern for literal, pattern in group if literal in text)


def _literal(text: str) -> str:
    match = _LITERAL.match(text)
    assert match is not None
    return match[0].replace("\\.", ".")


def word(word: str, after: str = "") -> str:
    """A pattern for a whole word, and what comes after it, that starts with a literal."""
    return rf"{word}\b(?<!\w{word}){after}"


SINK = Patterns(
    r"\.backward\b",
    r"backward\s*\((?<!\wbackward\()(?<!def backward\()",
    r"manual_backward\b",
    '"backward"',
    "'backward'",
    word("grad", r"\s*\("),
    r"\.grad\b",
    r"\.requires_grad\s*=\s*[^F=\s]",
    "register_hook",
    "update_params",
    r"\.minimize\b",
    word("Variable", r"\s*\("),
    '"grad"',
    "'grad'",
    word("closure", r"\s*\("),
)
HANDING = Patterns(
    word("Thread", r"\s*\("),
    r"\.submit\s*\(",
    r"map\s*\((?:(?<=return map\()|(?<== map\()|(?<==map\())",
    r"ool\w*\.\w*map\w*\s*\(",
    r"xecutor\w*\.\w*map\w*\s*\(",
    r"return\s*\([^\n]*[)\]]\s+for\s",
    r"yield\s*\([^\n]*[)\]]\s+for\s",
    r"=\s*\([^\n]*[)\]]\s+for\s",
)
"""Work put off or handed to a thread: it matters to the function that does it, not to those that call it."""
_GUARDS = ("no_grad", "inference_mode", "_grad_enabled", "enable_grad")
GUARDING = Patterns(*_GUARDS)
SHAPING = Patterns(
    *_GUARDS,
    "detach",
    r"\.data\b",
    r"\.item\s*\(",
    "argmax",
    "requires_grad",
    "Parameter",
    r"nn\.(?<!\wnn\.)",
    "optim",
    word("yield"),
    r"F\.(?<!\wF\.)",
    r"torch\.(?<!\wtorch\.)",
    r"loss(?<!\wloss)",
)
"""What decides whether a value can have a gradient."""
ROW = re.compile(r"\n([ \t]*)(?:((?:async[ \t]+)?def[ \t]+(\w+))|(class\b|@|from\b|import\b|#)|[^\s)\]}])")
"""A row that starts a statement, with the line end before it: a pattern that starts with a literal is searched
fast."""
_DOCUMENTATION = re.compile(r"\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''")
_COMMENT = re.compile(r"#[^\n\"']*$", re.MULTILINE)
CALL_BACKWARDS = re.compile(r"\(\s*(\w+)")
"""A call in a text read from its end: so the pattern starts with a literal."""


Parts = list[tuple[int, int]]
"""Pieces of a text, each from start to end."""


@dataclass(frozen=True, slots=True)
class Outline:
    """One function of a text: its name, whether it holds a sink itself, hands work on or names a guard, and the
    names it calls."""

    name: str
    sinks: bool
    hands: bool
    guards: bool
    calls: frozenset[str]


@dataclass(frozen=True, slots=True)
class Marks:
    """Where each pattern matches in a text, in order."""

    sinks: list[int]
    hands: list[int]
    guards: list[int]
    calls: list[int]
    called: list[str]

    def outline(self, name: str, parts: Parts) -> Outline:
        """The outline of the pieces of text from start to end."""
        return Outline(
            name,
            _any(self.sinks, parts),
            _any(self.hands, parts),
            _any(self.guards, parts),
            frozenset(
                called
                for start, end in parts
                for called in self.called[bisect_left(self.calls, start) : bisect_left(self.calls, end)]
            ),
        )


def _any(positions: list[int], parts: Parts) -> bool:
    return any(bisect_left(positions, start) < bisect_left(positions, end) for start, end in parts)


def holds(text: str, patterns: Patterns) -> bool:
    """Whether a text holds one of the patterns."""
    return any(pattern.search(text) for pattern in patterns.near(text))


def _places(text: str, patterns: Patterns) -> list[int]:
    return sorted(match.start() for pattern in patterns.near(text) for match in pattern.finditer(text))


def code_of(text: str) -> str:
    """A text without comments and long strings, which speak of much that the code does not do."""
    return _COMMENT.sub("", _without_documentation(text))


def _without_documentation(text: str) -> str:
    if "'''" not in text:
        pieces = text.split('"""')
        if len(pieces) % 2:
            return '""'.join(pieces[::2])
    return _DOCUMENTATION.sub('""', text)


def _marks(text: str) -> Marks:
    calls, called = [], []
    end = len(text)
    for match in CALL_BACKWARDS.finditer(text[::-1]):
        calls.append(end - match.end())
        called.append(match[1][::-1])
    calls.reverse()
    called.reverse()
    sinks, hands, guards = (_places(text, patterns) for patterns in (SINK, HANDING, GUARDING))
    return Marks(sinks, hands, guards, calls, called)


def outlines(text: str) -> list[Outline]:
    """The functions of a text, nested ones too, and the top level, without definitions and imports, as ""."""
    text = "\n" + code_of(text)
    marks = _marks(text)
    return [marks.outline(name, parts) for name, parts in _functions(text)]


def shapers(text: str) -> frozenset[str]:
    """The names of the functions of a text ("" for its top level) that decide whether a value can have a gradient."""
    text = "\n" + code_of(text)
    shapes = _places(text, SHAPING)
    return frozenset(name for name, parts in _functions(text) if _any(shapes, parts))


def guards_at_top(text: str) -> bool:
    """Whether the top level of a text, without definitions and imports, names a guard."""
    text = "\n" + code_of(text)
    for place in _places(text, GUARDING):
        row = place
        while row > 0:
            row = text.rfind("\n", 0, row)
            start = ROW.match(text, row)
            if start is not None and not start[1]:
                if start[2] is None and start[4] is None:
                    return True
                break
    return False


def _functions(text: str) -> Iterator[tuple[str, Parts]]:
    """The pieces of each function, those of the top level last."""
    open_ones: list[tuple[int, str, int]] = []
    top: Parts = []
    top_from: int | None = None
    # The text starts with a line end of its own, so that its first row has one as well.
    for row in ROW.finditer(text):
        indent, start = len(row[1]), row.start() + 1
        while open_ones and open_ones[-1][0] >= indent:
            _, name, begin = open_ones.pop()
            yield name, [(begin, start)]
        if indent == 0:
            if top_from is not None:
                top.append((top_from, start))
            top_from = None if row[2] or row[4] else start
        if row[2]:
            open_ones.append((indent, row[3], row.end()))
    end = len(text)
    for _, name, begin in reversed(open_ones):
        yield name, [(begin, end)]
    if top_from is not None:
        top.append((top_from, end))
    yield "", top
