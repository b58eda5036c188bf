"""Which findings a comment silences, and which comments silence nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gradguard.findings import Finding, Span
from gradguard.judge.comments import Suppression, speaks_to_us, suppressions
from gradguard.rule import Rule
from gradguard.source import Source

UNREADABLE = "GRD000"
UNUSED = "GRD001"


def apply_suppressions(
    source: Source, findings: Sequence[Finding], rules: Iterable[Rule]
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """What is left of a file's `findings`, and a GRD001 for each comment of ours that silences none of them.

    `findings` must be all of the file, those of rules that are switched off too: a comment is of use if its
    rule would speak.
    """
    comments = (
        suppressions(source) if findings or speaks_to_us(source.text.encode("utf-8", "replace")) else []
    )
    if not comments:
        return tuple(findings), ()
    codes = {rule.name: rule.code for rule in rules}
    used: dict[Suppression, set[str]] = {comment: set() for comment in comments}
    left: list[Finding] = []
    for finding in findings:
        silenced = False
        for comment in comments:
            entries = _entries_that_silence(source, comment, finding, codes)
            used[comment].update(entries)
            silenced = silenced or bool(entries)
        if not silenced:
            left.append(finding)
    if any(finding.code == UNREADABLE for finding in findings):
        # Nobody knows what would have been found in the rest of the file.
        return tuple(left), ()
    idle = (_idle(source, comment, used[comment], codes) for comment in comments)
    return tuple(left), tuple(finding for finding in idle if finding is not None)


def text_row(source: Source, span: Span, row: int) -> int:
    """The row in `source.text` of a row in the terms of `span`."""
    for cell in source.cells:
        if cell.number == span.cell:
            return cell.first_row + row - 1
    return row


def _entries_that_silence(
    source: Source, comment: Suppression, finding: Finding, codes: Mapping[str, str]
) -> list[str]:
    """The entries of `comment` that silence `finding`; "" where it names none."""
    span = finding.span
    at_hand = comment.whole_file or any(
        text_row(source, span, row) in comment.rows for row in (span.start.row, span.end.row)
    )
    if not at_hand or comment.mistaken:
        return []
    if finding.code == UNREADABLE and not comment.whole_file:
        # The whole file is not checked; a comment about one row does not mean that.
        return []
    if not comment.entries:
        return [""]
    return [entry for entry in comment.entries if finding.code.startswith(codes.get(entry, entry))]


def _idle(source: Source, comment: Suppression, used: set[str], codes: Mapping[str, str]) -> Finding | None:
    """The GRD001 for a comment of ours, or the part of it, that silences nothing."""
    if comment.mistaken:
        message = f"`{comment.mistaken}` in `{comment.text}` is no instruction"
        return _finding(source, comment, message, help="did you mean `ignore`?")
    if not comment.entries:
        if not comment.own or used:
            return None
        return _finding(source, comment, f"`{comment.text}` suppresses nothing", help="remove the comment")
    ours = [entry for entry in comment.entries if comment.own or entry.startswith("GRD")]
    idle = [entry for entry in ours if entry not in used]
    if not idle or UNUSED in ours:
        return None
    notes = tuple(f"`{entry}` is no rule" for entry in idle if not _is_known(entry, codes))
    if len(idle) == len(comment.entries):
        return _finding(source, comment, f"`{comment.text}` suppresses nothing", notes, "remove the comment")
    listed = ", ".join(f"`{entry}`" for entry in idle)
    verb = "suppresses" if len(idle) == 1 else "suppress"
    message = f"{listed} in `{comment.text}` {verb} nothing"
    return _finding(source, comment, message, notes, f"remove {listed} from the comment")


def _is_known(entry: str, codes: Mapping[str, str]) -> bool:
    return entry in codes or any(code.startswith(entry) for code in codes.values())


def _finding(
    source: Source, comment: Suppression, message: str, notes: tuple[str, ...] = (), help: str = ""
) -> Finding:
    span = source.span(comment.start, comment.end)
    return Finding(UNUSED, "unused-suppression", message, span, severity="warning", notes=notes, help=help)
