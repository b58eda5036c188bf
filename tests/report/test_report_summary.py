from __future__ import annotations

import json

import pytest
from report_samples import CLEAN, LOSS, LOST, MIXED, SKIP

from gradguard.findings import Report
from gradguard.report.formats import FORMATS, render
from gradguard.report.summary import statistics, summary


@pytest.mark.parametrize(
    ("report", "text"),
    [
        (Report(), "No files to check."),
        (CLEAN, "No faults found (3 files checked)."),
        (Report(checked=1), "No faults found (1 file checked)."),
        (Report((LOSS,), checked=1), "Found 1 fault in 1 file (1 checked)."),
        (Report((SKIP, LOSS, LOSS), checked=9), "Found 3 faults in 2 files (9 checked)."),
        (MIXED, "Found 3 faults in 3 files (3 checked). Not checked in full: 2 files."),
        (Report((), (LOST,)), "No faults found (0 files checked). Not checked in full: 1 file."),
    ],
)
def test_summary(report: Report, text: str) -> None:
    assert summary(report) == text


def test_statistics_count_by_rule_most_often_first() -> None:
    report = Report((LOSS,) * 11 + (SKIP,), (LOST,))
    assert statistics(report) == (
        "11  GRD101  backward-untracked\n 1  GRD000  unreadable\n 1  GRD201  update-skips-missing-grad\n"
    )
    assert statistics(CLEAN) == ""


def test_statistics_as_json() -> None:
    assert json.loads(statistics(Report((LOSS, LOSS)), "json")) == [
        {"code": "GRD101", "name": "backward-untracked", "count": 2}
    ]


def test_unknown_formats_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match="unknown format 'xml'"):
        statistics(CLEAN, "xml")
    with pytest.raises(ValueError, match="unknown output format 'html', known are: full, concise"):
        render(CLEAN, "html")


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_tells_of_a_file_that_was_not_read(format: str) -> None:
    text = render(Report((), (LOST,)), format)
    assert "lost.py" in text
    assert "permission denied" in text
