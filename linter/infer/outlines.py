"""What each function of a text holds and calls, told from the text by patterns."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

SINK = re.compile(
    r"\bbackward\b|\bgrad\s*\(|\.grad\b|\.requires_grad\s*=\s*[^F=\s]|register_hook|update_params|\.minimize\b"
    r"|\bVariable\s*\(|\"grad\"|'grad'|\bclosure\s*\("
)
HANDING = re.compile(
    r"\bThread\s*\(|\.submit\s*\(|(?:return|=)\s*map\s*\(|[Pp]ool\w*\.\w*map\w*\s*\(|[Ee]xecutor\w*\.\w*map\w*\s*\("
    r"|(?:return|=|yield)\s*\([^\n]*[)\]]\s+for\s"
)
"""Work put off or handed to a thread: it matters to the function that does it, not to those that call it."""
SHAPING = re.compile(
    r"no_grad|inference_mode|_grad_enabled|enable_grad|detach|\.data\b|\.item\s*\(|argmax|requires_grad|Parameter|\bnn\.|optim"
    r"|\byield\b|\bF\.|\btorch\.|\bloss"
)
"""What decides whether a value can have a gradient."""
GUARDING = re.compile(r"no_grad|inference_mode|_grad_enabled|enable_grad")
ROW = re.compile(
    r"^([ \t]*)(?:((?:async[ \t]+)?def[ \t]+(\w+))|(class\b|@|from\b|import\b|#)|[^\s)\]}])", re.MULTILINE
)
CALL = re.compile(r"(\w+)\s*\(")


@dataclass(frozen=True, slots=True)
class Outline:
    """One function of a text: its name, whether it holds a sink itself, hands work on, shapes values or names a
    guard, and the names it calls."""

    name: str
    sinks: bool
    hands: bool
    shapes: bool
    guards: bool
    calls: frozenset[str]


@dataclass(frozen=True, slots=True)
class Marks:
    """Where each pattern matches in a text, in order."""

    sinks: list[int]
    hands: list[int]
    shapes: list[int]
    guards: list[int]
    calls: list[int]
    called: list[str]

    def outline(self, name: str, parts: list[tuple[int, int]]) -> Outline:
        """The outline of the pieces of text from start to end."""
        return Outline(
            name,
            _any(self.sinks, parts),
            _any(self.hands, parts),
            _any(self.shapes, parts),
            _any(self.guards, parts),
            frozenset(
                called
                for start, end in parts
                for called in self.called[bisect_left(self.calls, start) : bisect_left(self.calls, end)]
            ),
        )


def _any(positions: list[int], parts: list[tuple[int, int]]) -> bool:
    return any(bisect_left(positions, start) < bisect_left(positions, end) for start, end in parts)


def _marks(text: str) -> Marks:
    calls, called = [], []
    for match in CALL.finditer(text):
        calls.append(match.start())
        called.append(match[1])
    sinks, hands, shapes, guards = (
        [match.start() for match in pattern.finditer(text)] for pattern in (SINK, HANDING, SHAPING, GUARDING)
    )
    return Marks(sinks, hands, shapes, guards, calls, called)


def outlines(text: str) -> list[Outline]:
    """The functions of a text, nested ones too, and the top level, without definitions and imports, as ""."""
    marks = _marks(text)
    open_ones: list[tuple[int, str, int]] = []
    result: list[Outline] = []
    top: list[tuple[int, int]] = []
    top_from: int | None = None
    for row in ROW.finditer(text):
        indent, start = len(row[1]), row.start()
        while open_ones and open_ones[-1][0] >= indent:
            _, name, begin = open_ones.pop()
            result.append(marks.outline(name, [(begin, start)]))
        if indent == 0:
            if top_from is not None:
                top.append((top_from, start))
            top_from = None if row[2] or row[4] else start
        if row[2]:
            open_ones.append((indent, row[3], row.end()))
    end = len(text)
    result.extend(marks.outline(name, [(begin, end)]) for _, name, begin in reversed(open_ones))
    if top_from is not None:
        top.append((top_from, end))
    result.append(marks.outline("", top))
    return result
