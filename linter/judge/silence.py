"""The comments that would silence findings, as edits."""

from __future__ import annotations

from collections.abc import Sequence

from gradguard.discover.logical_lines import Rows, logical_lines
from gradguard.findings import Edit, Finding
from gradguard.judge.comments import Suppression, suppressions
from gradguard.judge.suppress import UNREADABLE, UNUSED, text_row
from gradguard.source import Source

# No comment can silence these: one stands for the whole file, the other is about a comment.
_NOT_SILENCED = frozenset({UNREADABLE, UNUSED})


def noqa_edits(source: Source, findings: Sequence[Finding]) -> tuple[Edit, ...]:
    """Insertions into `source` that silence its `findings`: codes added to a noqa that is there, or a new
    one.

    The comment stands at the end of the statement's last row, where none is part of a string.
    """
    codes: dict[int, list[str]] = {}
    ends = _Ends(source)
    for finding in findings:
        if finding.code in _NOT_SILENCED:
            continue
        row = ends.last_row(text_row(source, finding.span, finding.span.start.row), finding, source)
        listed = codes.setdefault(row, [])
        if finding.code not in listed:
            listed.append(finding.code)
    present = {
        comment.start[0]: comment for comment in suppressions(source) if comment.entries and not comment.own
    }
    return tuple(
        _edit(source, ends, row, sorted(listed), present.get(row)) for row, listed in sorted(codes.items())
    )


class _Ends:
    """Where statements and rows end."""

    def __init__(self, source: Source) -> None:
        self._rows = Rows(source.text)
        self._text = source.text
        self._last: dict[int, int] = {}
        if source.language == "python":
            for line in logical_lines(source.text):
                first, last = self._rows.row(line.start), self._rows.row(max(line.start, line.end - 1))
                self._last.update(dict.fromkeys(range(first, last), last))

    def last_row(self, row: int, finding: Finding, source: Source) -> int:
        if source.language == "rust":
            return finding.span.end.row
        return self._last.get(row, row)

    def column(self, row: int) -> int:
        """The column behind the last character of a row that is no blank."""
        text = self._text[self._rows.offset(row) : self._rows.offset(row + 1)]
        return len(text.rstrip()) + 1


def _edit(source: Source, ends: _Ends, row: int, codes: list[str], present: Suppression | None) -> Edit:
    listed = ", ".join(codes)
    if present is not None:
        return Edit(source.span(present.end, present.end), f", {listed}")
    mark = "//" if source.language == "rust" else "#"
    place = (row, ends.column(row))
    return Edit(source.span(place, place), f"  {mark} noqa: {listed}")
