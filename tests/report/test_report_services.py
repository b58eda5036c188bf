"""The formats of continuous integration services: github, gitlab, junit."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from report_samples import CLEAN, LOSS, MIXED, SOURCES, finding, source, span, step

from gradguard.findings import Finding, Report
from gradguard.report.formats import render


def test_github_commands_escape_what_would_end_them() -> None:
    one = finding(
        "100% of `a`\nare gone", span(2, 3, 8, file="a,b:c%.py"), witness=[step("made: here", span(1, 1, 2))]
    )
    assert render(Report((one,)), "github") == (
        "::error title=GRD101 backward-untracked,file=a%2Cb%3Ac%25.py,line=2,endLine=2,col=3,endColumn=7::"
        "a,b:c%25.py:2:3: GRD101 [backward-untracked] 100%25 of `a` are gone%0A1. train.py:1:1: made: here\n"
    )


def test_github_levels_one_line_each_and_the_unread_file() -> None:
    commands = render(MIXED, "github").splitlines()
    assert [command.split(" ", 1)[0] for command in commands] == [
        "::error",
        "::notice",
        "::warning",
        "::error",
        "::error",
    ]
    assert "file=lost.py" in commands[4]
    assert commands[4].endswith("permission denied")


def test_github_leaves_out_columns_over_lines_and_lines_in_notebooks() -> None:
    over_lines = render(Report((finding(at=span(2, 3, 8, end_row=4)),)), "github")
    assert ",line=2,endLine=4::" in over_lines
    notebook = render(MIXED, "github").splitlines()[1]
    assert notebook.startswith(
        "::notice title=GRD312 redundant-guard,file=nb.ipynb::cell 3, row 2, column 6: "
    )


def test_github_paths_are_relative_to_the_root() -> None:
    one = finding(at=span(1, 1, 2, file="/repo/src/x.py"))
    assert ",file=src/x.py," in render(Report((one,)), "github", root="/repo")


def gitlab(*findings: Finding, text: str = "") -> list[dict[str, object]]:
    issues = json.loads(render(Report(findings), "gitlab", sources=source(text)))
    assert isinstance(issues, list)
    return issues


def test_gitlab_issue() -> None:
    (issue,) = gitlab(LOSS)
    assert len(str(issue.pop("fingerprint"))) == 64
    assert issue == {
        "type": "issue",
        "check_name": "GRD101",
        "description": "GRD101: `loss` was computed under `no_grad`, so `backward()` has no graph",
        "categories": ["Bug Risk"],
        "severity": "major",
        "location": {"path": "train.py", "lines": {"begin": 8, "end": 8}},
    }


def test_gitlab_tells_all_and_each_under_its_own_fingerprint() -> None:
    issues = json.loads(render(MIXED, "gitlab", sources=SOURCES))
    assert [issue["severity"] for issue in issues] == ["major", "info", "minor", "major", "major"]
    assert [issue["location"]["path"] for issue in issues][4] == "lost.py"
    assert "(cell 3, row 2, column 6)" in issues[1]["description"]
    assert len({issue["fingerprint"] for issue in issues}) == 5
    assert json.loads(render(CLEAN, "gitlab")) == []


def test_gitlab_fingerprints_are_stable_and_unique() -> None:
    text = "loss.backward()\nloss.backward()\n"
    first, second = gitlab(finding(at=span(1, 1, 16)), finding(at=span(2, 1, 16)), text=text)
    (moved,) = gitlab(finding(at=span(2, 5, 20)), text="\n    loss.backward()\n")
    assert first["fingerprint"] == moved["fingerprint"]
    assert first["fingerprint"] != second["fingerprint"]


def junit(report: Report) -> ElementTree.Element:
    return ElementTree.fromstring(render(report, "junit", sources=SOURCES))


def test_junit_has_a_suite_a_file_and_errors_for_the_unread() -> None:
    root = junit(MIXED)
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("5", "3", "2")
    assert [(suite.get("name"), suite.get("failures"), suite.get("errors")) for suite in root] == [
        ("broken.py", "0", "1"),
        ("lost.py", "0", "1"),
        ("nb.ipynb", "1", "0"),
        ("src/opt.py", "1", "0"),
        ("train.py", "1", "0"),
    ]
    assert [(error.get("type"), error.get("message")) for error in root.iter("error")] == [
        ("GRD000", "invalid syntax"),
        ("GRD000", "permission denied"),
    ]


def test_junit_failure_holds_the_headline_and_the_witness() -> None:
    (failure,) = junit(Report((LOSS,))).iter("failure")
    assert failure.get("message") == LOSS.message
    assert (failure.text or "").splitlines() == [
        "train.py:8:5: GRD101 [backward-untracked] " + LOSS.message,
        "1. train.py:5:10: guard opens here",
        "2. train.py:6:9: `loss` is made inside it",
        "3. train.py:8:5: needs the graph that 1 discarded",
        "note: assuming that `criterion` has no parameters",
        "help: move line 6 out of the `with` block",
    ]


def test_junit_of_a_clean_run_is_one_passed_case() -> None:
    root = junit(CLEAN)
    (case,) = root.iter("testcase")
    assert case.get("name") == "No faults found (3 files checked)."
    assert list(case) == []
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("1", "0", "0")


def test_junit_survives_markup_and_characters_that_xml_cannot_hold() -> None:
    one = finding('<a & "b"> \x00\x1b\ufffe\udcff ]]> 損', span(1, 1, 2, file="<&\x01>.py"))
    text = render(Report((one,)), "junit")
    root = ElementTree.fromstring(text)
    (failure,) = root.iter("failure")
    assert failure.get("message") == '<a & "b"> \ufffd\ufffd\ufffd\ufffd ]]> 損'
    assert root[0].get("name") == "<&\ufffd>.py"
    assert text.isascii()
