from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from report_samples import CLEAN, LOSS, MIXED, SOURCES, finding, source, span, step

from gradguard.findings import Report
from gradguard.report.formats import render
from gradguard.rule import Rule

SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-2.1.0.json").read_text(encoding="utf-8"))
RULE = Rule("GRD101", "backward-untracked", "backward on a value made while recording was off", "warning")


def run_of(report: Report, **view: Any) -> dict[str, Any]:
    log = json.loads(render(report, "sarif", **view))
    jsonschema.Draft202012Validator(SCHEMA).validate(log)
    (run,) = log["runs"]
    assert isinstance(run, dict)
    return run


@pytest.mark.parametrize("report", [MIXED, CLEAN, Report((LOSS,))], ids=["mixed", "clean", "fix"])
def test_it_is_valid_against_the_schema(report: Report) -> None:
    assert len(run_of(report, sources=SOURCES, rules=[RULE])["results"]) == len(report.findings)


def test_the_schema_is_one_that_can_fail() -> None:
    log = json.loads(render(MIXED, "sarif"))
    log["runs"][0]["results"][0]["level"] = "hint"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(log)


def test_the_witness_is_a_code_flow_and_related_locations() -> None:
    (result,) = run_of(Report((LOSS,)))["results"]
    (flow,) = result["codeFlows"]
    steps = flow["threadFlows"][0]["locations"]
    assert [one["location"]["message"]["text"] for one in steps] == [
        "guard opens here",
        "`loss` is made inside it",
        "needs the graph that 1 discarded",
    ]
    assert [one["location"]["physicalLocation"]["region"]["startLine"] for one in steps] == [5, 6, 8]
    assert [one["physicalLocation"] for one in result["relatedLocations"]] == [
        one["location"]["physicalLocation"] for one in steps
    ]
    assert [one["id"] for one in result["relatedLocations"]] == [1, 2, 3]


def test_headline_region_and_level() -> None:
    (result,) = run_of(Report((LOSS,)), sources=SOURCES)["results"]
    assert result["message"]["text"] == LOSS.message
    assert result["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 8,
        "startColumn": 5,
        "endLine": 8,
        "endColumn": 20,
        "snippet": {"text": "loss.backward()"},
    }
    assert [one["level"] for one in run_of(MIXED)["results"]] == ["error", "note", "warning", "error"]


def test_columns_are_said_to_count_characters() -> None:
    assert run_of(CLEAN)["columnKind"] == "unicodeCodePoints"


def test_results_point_at_their_rule() -> None:
    run = run_of(MIXED, rules=[RULE])
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["GRD000", "GRD101", "GRD201", "GRD312"]
    assert [rules[one["ruleIndex"]]["id"] for one in run["results"]] == [
        one["ruleId"] for one in run["results"]
    ]
    assert rules[1]["shortDescription"]["text"] == RULE.summary
    assert rules[1]["defaultConfiguration"]["level"] == "warning"


def test_the_page_of_a_rule_is_its_help() -> None:
    (rule,) = run_of(Report((LOSS,)), rules=[RULE])["tool"]["driver"]["rules"]
    assert "## What it does" in rule["help"]["markdown"]
    assert "\nWhat it does\n" in rule["help"]["text"]
    assert rule["fullDescription"]["text"].startswith("Reports `backward()` on a value that was computed")
    assert "##" not in rule["help"]["text"].split("Example")[0]


def test_files_that_were_not_read_are_notifications() -> None:
    (invocation,) = run_of(MIXED)["invocations"]
    assert invocation["executionSuccessful"] is False
    assert [
        (one["message"]["text"], one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        for one in invocation["toolExecutionNotifications"]
    ] == [("invalid syntax", "broken.py"), ("permission denied", "lost.py")]
    assert run_of(CLEAN)["invocations"][0]["executionSuccessful"] is True


@pytest.mark.parametrize(
    ("file", "uri"),
    [
        ("a b/ü#1.py", "a%20b/%C3%BC%231.py"),
        ("100%.py", "100%25.py"),
        ("c:d.py", "c%3Ad.py"),
        ("caf\udce9.py", "caf%E9.py"),
        ("/elsewhere/x.py", "file:///elsewhere/x.py"),
        ("/repo/src/x.py", "src/x.py"),
        ("/repository/x.py", "file:///repository/x.py"),
        ("../up.py", "../up.py"),
    ],
)
def test_addresses_are_percent_encoded_and_relative_below_the_root(file: str, uri: str) -> None:
    (result,) = run_of(Report((finding(at=span(1, 1, 2, file=file)),)), root="/repo")["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_a_notebook_tells_its_cell_in_words_and_claims_no_line() -> None:
    result = run_of(MIXED)["results"][1]
    assert result["message"]["text"].endswith(" (cell 3, row 2, column 6)")
    assert result["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    assert result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "cell 3, row 2, column 6"


def fingerprints(report: Report, text: str) -> list[str]:
    results = run_of(report, sources=source(text))["results"]
    return [one["partialFingerprints"]["gradguard/v1"] for one in results]


def test_fingerprints_outlive_lines_that_come_above_and_differ_from_each_other() -> None:
    text = "loss.backward()\nloss.backward()\n"
    before = fingerprints(Report((finding(at=span(1, 1, 16)), finding(at=span(2, 1, 16)))), text)
    moved = Report((finding(at=span(3, 1, 16)), finding(at=span(4, 5, 20))))
    assert fingerprints(moved, "import torch\n\nloss.backward()\n    loss.backward()\n") == before
    assert len(set(before)) == 2
    assert fingerprints(Report((finding(at=span(1, 1, 16)),)), "other.backward()\n")[0] not in before


def test_a_fix_replaces_its_span() -> None:
    (result,) = run_of(Report((LOSS,)))["results"]
    (change,) = result["fixes"][0]["artifactChanges"]
    assert change["artifactLocation"]["uri"] == "train.py"
    (replacement,) = change["replacements"]
    assert replacement["insertedContent"]["text"] == "if True:"
    assert replacement["deletedRegion"]["startColumn"] == 5


def test_control_characters_and_strange_positions_stay_valid() -> None:
    odd = finding("\x00 \udcff", span(3, 9, 2, end_row=1), witness=[step("\x1b", span(1, 1, 1))])
    (result,) = run_of(Report((odd,)))["results"]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert (region["endLine"], region["endColumn"]) == (3, 9)
