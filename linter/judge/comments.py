"""Comments that silence findings, read from a source text."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradguard.discover.logical_lines import Rows, logical_lines
from gradguard.source import Source

MARKER = re.compile(r"noqa|gradguard[ \t]*:", re.IGNORECASE)
_OURS = re.compile(rb"noqa[^\n]*grd|gradguard[ \t]*:")

_NOQA = re.compile(r"(?:#|//)\s*noqa\b(?P<colon>[ \t]*:)?(?P<codes>[^#]*)", re.IGNORECASE)
_OWN = re.compile(
    r"(?:#|//)\s*gradguard[ \t]*:[ \t]*(?P<word>[\w-]+)(?:[ \t]*\[(?P<codes>[^\]\n]*)\])?", re.IGNORECASE
)
# Whatever starts with our letters is taken for a code, so that a slip in one is told and does not silence
# all.
_CODE = re.compile(r"(?:GRD\w*|[A-Za-z]+[0-9]+)\b", re.IGNORECASE)
_LIST = re.compile(rf"[\s,]*(?:{_CODE.pattern}[\s,]*)+", re.IGNORECASE)
_RUST_TOKEN = re.compile(r"//[^\n]*|/\*|r(#*)\"|\"|'(?:\\.|[^\\'\n])'", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Suppression:
    """One comment that asks for silence.

    `entries` are codes in upper case or names in lower case; none means every rule. `own` comments are
    written for this tool alone. `rows` are the rows of the text that it speaks of; `whole_file` ones speak
    of all. `start` and `end` are its place (row and column from 1); `text` is the comment as written,
    `mistaken` a word of it that means nothing.
    """

    entries: tuple[str, ...]
    own: bool
    whole_file: bool
    rows: range
    start: tuple[int, int]
    end: tuple[int, int]
    text: str
    mistaken: str = ""


def speaks_to_us(data: bytes) -> bool:
    """Whether a text, as bytes that hold ASCII as itself, can hold a comment that is worth a word where nothing was
    found."""
    data = data.lower()
    may = b"gradguard" in data or (b"noqa" in data and b"grd" in data)
    return may and _OURS.search(data) is not None


def suppressions(source: Source) -> list[Suppression]:
    """All comments of `source` that silence something, in order."""
    text = source.text
    if MARKER.search(text) is None:
        return []
    found: list[Suppression] = []
    rows = Rows(text)
    for start, end, first, last in _comments(text, source.language, rows):
        if MARKER.search(text, start, end):
            found.extend(_read(text, start, end, range(first, last + 1), rows))
    return found


def _comments(text: str, language: str, rows: Rows) -> Iterator[tuple[int, int, int, int]]:
    """Offsets of each comment, and the first and last row of the code that it stands at."""
    if language == "rust":
        for start, end in _rust_comments(text):
            row = rows.row(start)
            yield start, end, row, row
        return
    for line in logical_lines(text):
        if line.comments:
            first, last = rows.row(line.start), rows.row(max(line.start, line.end - 1))
            for start, end in line.comments:
                yield start, end, first, last


def _rust_comments(text: str) -> Iterator[tuple[int, int]]:
    position = 0
    while match := _RUST_TOKEN.search(text, position):
        token = match.group()
        position = match.end()
        if token.startswith("//"):
            yield match.span()
        elif token == "/*":
            position = _end_of_block(text, position)
        elif token == '"':
            closing = re.compile(r'(?:[^"\\]|\\.)*"', re.DOTALL).match(text, position)
            position = closing.end() if closing else len(text)
        elif token[0] == "r":
            end = text.find('"' + "#" * len(match.group(1)), position)
            position = len(text) if end < 0 else end + 1 + len(match.group(1))


def _end_of_block(text: str, position: int) -> int:
    depth = 1
    for match in re.compile(r"/\*|\*/").finditer(text, position):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return len(text)


def _read(text: str, start: int, end: int, lines: range, rows: Rows) -> Iterator[Suppression]:
    for match in _NOQA.finditer(text, start, end):
        codes, stop = _noqa_codes(match)
        yield Suppression(
            codes,
            False,
            False,
            lines,
            rows.position(match.start()),
            rows.position(stop),
            text[match.start() : stop],
        )
    for match in _OWN.finditer(text, start, end):
        yield from _own(match, _speaks_of(text, start, lines, rows), rows)


def _noqa_codes(match: re.Match[str]) -> tuple[tuple[str, ...], int]:
    """The codes of a noqa, and where it ends; behind it anything may be said."""
    listed = _LIST.match(match.group("codes")) if match.group("colon") else None
    if listed is None:
        return (), match.end("colon") if match.group("colon") else match.start("codes")
    codes = tuple(code.upper() for code in _CODE.findall(listed.group()))
    return codes, match.start("codes") + len(listed.group().rstrip(" \t,"))


def _own(match: re.Match[str], lines: range, rows: Rows) -> Iterator[Suppression]:
    word = match.group("word").lower()
    place = rows.position(match.start()), rows.position(match.end())
    if word in ("ignore", "ignore-file"):
        listed = match.group("codes")
        codes = tuple(_spelling(part) for part in (listed or "").replace(",", " ").split())
        mistaken = "" if listed is None or codes else "[]"
        yield Suppression(codes, True, word == "ignore-file", lines, *place, match.group(), mistaken)
    elif difflib.get_close_matches(word, ("ignore", "ignore-file", "noqa", "disable"), n=1, cutoff=0.7):
        yield Suppression((), True, False, range(0), *place, match.group(), word)


def _spelling(code: str) -> str:
    return code.upper() if _CODE.fullmatch(code) else code.lower()


def _speaks_of(text: str, comment: int, lines: range, rows: Rows) -> range:
    """An own comment alone on its row speaks of the next code as well, so that long rows need not grow."""
    row = rows.row(comment)
    if text[rows.offset(row) : comment].strip():
        return lines
    following = row + 1
    while (start := rows.offset(following)) < len(text):
        end = rows.offset(following + 1)
        code = text[start:end].strip()
        if code and not code.startswith(("#", "//")):
            break
        following += 1
    return range(lines.start, max(lines.stop, following + 1))
