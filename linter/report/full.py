"""The format for reading: a headline, the code with the witness in it, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.discover.load import language_of
from gradguard.findings import Finding, Replay, Report
from gradguard.report.failures import UNREADABLE, with_failures
from gradguard.report.frame import Frame
from gradguard.report.layout import fold, one_line
from gradguard.report.marks import marks_of
from gradguard.report.paint import Paint
from gradguard.report.place import Lines, spell
from gradguard.report.view import View

_OUTCOMES = {
    "raises": "raises",
    "silent": "passes in silence",
    "fine": "runs as meant",
    "inconclusive": "cannot be told",
}
# A suppression cannot hide that a file was not read, nor that a suppression is idle.
_NOT_SILENCED = (UNREADABLE, "GRD001")


def render(report: Report, view: View) -> str:
    """One block a finding, an empty line after each."""
    lines = Lines(view.sources)
    return "".join("\n".join(_block(finding, view, lines)) + "\n\n" for finding in with_failures(report))


def _block(finding: Finding, view: View, lines: Lines) -> Iterator[str]:
    paint = Paint(view.color)
    yield _headline(finding, paint)
    yield from Frame(lines, paint, view.width, finding.severity).draw(marks_of(finding))
    for replay in finding.replays:
        yield from _remark("note", f"run on {replay.profile}", _outcome(replay), view, paint)
    for note in finding.notes:
        yield from _remark("note", "note", note, view, paint)
    if finding.confidence == "likely":
        yield from _remark("note", "note", "likely, not certain: one step of this is assumed", view, paint)
    if finding.help:
        yield from _remark("help", "help", finding.help, view, paint)
    if finding.fix:
        safety = "safe" if finding.fix.safe else "unsafe, look at it before you take it"
        yield from _remark("help", "fix", f"{finding.fix.description} ({safety})", view, paint)
    yield from _remark("faint", "rule", _about(finding, view), view, paint)


def _headline(finding: Finding, paint: Paint) -> str:
    kind = paint(finding.severity, f"{finding.severity}[{finding.code}]")
    return f"{paint('bold', spell(finding.span))}: {kind}: {paint('bold', one_line(finding.message))}"


def _outcome(replay: Replay) -> str:
    words = _OUTCOMES.get(replay.outcome, replay.outcome)
    return f"{words}: {replay.detail}" if replay.detail else words


def _about(finding: Finding, view: View) -> str:
    text = f"{finding.name}, told by `gradguard rule {finding.code}`"
    url = view.url(finding.code)
    if url:
        text += f" and at {url}"
    if finding.code not in _NOT_SILENCED:
        text += f"; silence it with `{_comment_mark(finding, view)} noqa: {finding.code}`"
    return text


def _comment_mark(finding: Finding, view: View) -> str:
    """How a comment starts in the language of the finding's file."""
    source = view.sources.get(finding.span.filename)
    language = source.language if source is not None else language_of(finding.span.filename)
    return "//" if language == "rust" else "#"


def _remark(role: str, title: str, text: str, view: View, paint: Paint) -> Iterator[str]:
    lead = f"{one_line(title)}: "
    first, *rest = fold(text, max(view.width - len(lead), 20))
    yield paint(role, lead[:-1]) + (f" {first}" if first else "")
    yield from (" " * len(lead) + line if line else "" for line in rest)
