from __future__ import annotations

import re

from report_samples import CLEAN, MIXED, SOURCES, finding, span

from gradguard.findings import Failure, Report
from gradguard.report.formats import render


def test_one_line_a_finding_with_code_and_name_and_the_unread_file() -> None:
    assert render(MIXED, "concise", sources=SOURCES) == (
        """\
broken.py:4:7: GRD000 [unreadable] invalid syntax
nb.ipynb:cell 3:2:6: GRD312 [redundant-guard] `no_grad` stands inside a guard of the same effect
src/opt.py:3:9: GRD201 [update-skips-missing-grad] `p` is passed over in silence when it has no gradient
train.py:8:5: GRD101 [backward-untracked] `loss` was computed under `no_grad`, so `backward()` has no graph
lost.py:1:1: GRD000 [unreadable] permission denied
"""
    )


def test_nothing_found_is_nothing_said() -> None:
    assert render(CLEAN, "concise") == ""


def test_a_message_of_many_lines_stays_on_one() -> None:
    text = render(Report((finding("one\n  two\r\nthree\x1b[1m", span(1, 1, 2)),)), "concise")
    assert text == "train.py:1:1: GRD101 [backward-untracked] one two three\\x1b[1m\n"


def test_colour_changes_no_character() -> None:
    colored = render(MIXED, "concise", color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == render(MIXED, "concise")
    assert "\x1b[1;31mGRD101\x1b[0m" in colored


def test_two_failures_of_a_file_with_one_finding_lose_none() -> None:
    report = Report(
        (finding("invalid syntax", span(1, 1, 2), code="GRD000", name="unreadable"),),
        (Failure("train.py", "invalid syntax"), Failure("train.py", "analysis stopped")),
    )
    assert render(report, "concise").splitlines() == [
        "train.py:1:1: GRD000 [unreadable] invalid syntax",
        "train.py:1:1: GRD000 [unreadable] analysis stopped",
    ]
