"""JUnit XML: a suite a file, a failed case a finding, an error a file that was not read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import groupby
from xml.etree import ElementTree

from gradguard.findings import Finding, Report
from gradguard.report.concise import headline
from gradguard.report.failures import UNREADABLE, with_failures
from gradguard.report.place import relative, spell
from gradguard.report.summary import summary
from gradguard.report.view import View

# What XML 1.0 cannot hold, not even as a character reference.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report, view: View) -> str:
    """The suites of all files with findings, or one passed case where there is none."""
    findings = sorted(with_failures(report), key=lambda finding: finding.span.filename)
    root = ElementTree.Element("testsuites", _counts("gradguard", findings))
    for filename, of_file in groupby(findings, key=lambda finding: finding.span.filename):
        _suite(root, filename, list(of_file), view)
    if not findings:
        suite = ElementTree.SubElement(root, "testsuite", _counts("gradguard", findings))
        ElementTree.SubElement(suite, "testcase", {"name": summary(report), "classname": "gradguard"})
    ElementTree.indent(root)
    # Character references for all but ASCII: right in whatever encoding the text is written.
    body = ElementTree.tostring(root, encoding="us-ascii", xml_declaration=False).decode("ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _counts(name: str, findings: Sequence[Finding]) -> dict[str, str]:
    errors = sum(finding.code == UNREADABLE for finding in findings)
    return {
        "name": _allowed(name),
        "tests": str(len(findings) or 1),
        "failures": str(len(findings) - errors),
        "errors": str(errors),
    }


def _suite(root: ElementTree.Element, filename: str, findings: Sequence[Finding], view: View) -> None:
    path = relative(filename, view.root)
    suite = ElementTree.SubElement(root, "testsuite", _counts(path, findings))
    for finding in findings:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {
                "name": f"{finding.code} {finding.name}",
                "classname": _allowed(path),
                "file": _allowed(path),
                "line": str(finding.span.start.row),
            },
        )
        verdict = ElementTree.SubElement(
            case,
            "error" if finding.code == UNREADABLE else "failure",
            {"type": finding.code, "message": _allowed(finding.message)},
        )
        verdict.text = _allowed("\n".join(_body(finding)))


def _body(finding: Finding) -> list[str]:
    steps = [
        f"{number}. {spell(step.span)}: {step.message}" for number, step in enumerate(finding.witness, 1)
    ]
    notes = [f"note: {note}" for note in finding.notes]
    help_ = [f"help: {finding.help}"] if finding.help else []
    return [f"{spell(finding.span)}: {headline(finding)}", *steps, *notes, *help_]


def _allowed(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
