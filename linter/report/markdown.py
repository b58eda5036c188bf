"""Markdown as plain text for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gradguard.report.layout import fold, printable
from gradguard.report.paint import Paint

_FENCE = re.compile(r"^( {0,3})(`{3,}|~{3,})(.*)$")
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"^(\s*(?:[-*+]|\d+[.)])\s+)(.*)$")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_STRONG = re.compile(r"(\*\*|__)(?=\S)(.+?)(?<=\S)\1")


def as_text(markdown: str, *, color: bool = False, width: int = 100) -> str:
    """`markdown` with paragraphs and list items folded to `width`, programs indented, headings without marks.

    Backticks stay, since they tell names from words; tables and quotes stay as they are written.
    """
    paint = Paint(color)
    lines = _drop_comments(markdown).split("\n")
    return _squeeze(list(_blocks(lines, paint, width)))


def _blocks(lines: list[str], paint: Paint, width: int) -> Iterator[str]:
    at = 0
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        if fence:
            end = _fence_end(lines, at, fence[2])
            yield "\n".join(f"    {printable(code)}".rstrip() for code in lines[at + 1 : end])
            at = end + 1
        elif heading := _HEADING.match(line):
            yield from ("", paint("bold", _inline(heading[2])), "")
            at += 1
        elif not line.strip() or line.lstrip().startswith(("|", ">")):
            yield printable(line.rstrip())
            at += 1
        else:
            end = _paragraph_end(lines, at)
            yield from _paragraph(lines[at:end], width)
            at = end


def _fence_end(lines: list[str], start: int, mark: str) -> int:
    for at in range(start + 1, len(lines)):
        text = lines[at].strip()
        if len(text) >= len(mark) and text == mark[0] * len(text):
            return at
    return len(lines)


def _paragraph_end(lines: list[str], start: int) -> int:
    for at in range(start + 1, len(lines)):
        line = lines[at]
        if not line.strip() or line.lstrip().startswith(("|", ">")):
            return at
        if _FENCE.match(line) or _HEADING.match(line) or _ITEM.match(line):
            return at
    return len(lines)


def _paragraph(lines: list[str], width: int) -> Iterator[str]:
    item = _ITEM.match(lines[0])
    lead, first = (item[1], item[2]) if item else ("", lines[0])
    text = _inline(" ".join([first, *lines[1:]]))
    for number, line in enumerate(fold(text, max(width - len(lead), 20))):
        yield (lead if number == 0 else " " * len(lead)) + line


def _inline(text: str) -> str:
    # What stands in backticks is code, and its stars and brackets are its own.
    parts = re.split(r"(`+[^`]*`+)", text)
    parts[::2] = [_STRONG.sub(r"\2", _LINK.sub(_link, part)) for part in parts[::2]]
    return printable("".join(parts))


def _link(match: re.Match[str]) -> str:
    return f"{match[1]} ({match[2]})" if "://" in match[2] else match[1]


def _drop_comments(markdown: str) -> str:
    return _COMMENT.sub("", markdown.replace("\r\n", "\n"))


def _squeeze(blocks: list[str]) -> str:
    # Only between blocks: the empty lines of a program are its own.
    kept: list[str] = []
    for block in blocks:
        if block or (kept and kept[-1]):
            kept.append(block)
    text = "\n".join(kept).rstrip("\n")
    return f"{text}\n" if text else ""
