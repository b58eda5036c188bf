from __future__ import annotations

import json

from report_samples import CLEAN, LOSS, MIXED, SOURCES, finding, span

from gradguard.findings import Report
from gradguard.report.formats import render


def test_the_record_of_a_finding_is_the_contract() -> None:
    (record,) = json.loads(render(Report((LOSS,)), "json"))
    assert record == {
        "code": "GRD101",
        "name": "backward-untracked",
        "message": "`loss` was computed under `no_grad`, so `backward()` has no graph",
        "filename": "train.py",
        "cell": None,
        "location": {"row": 8, "column": 5},
        "end_location": {"row": 8, "column": 20},
        "severity": "error",
        "confidence": "likely",
        "witness": [
            {
                "filename": "train.py",
                "cell": None,
                "location": {"row": 5, "column": 10},
                "end_location": {"row": 5, "column": 25},
                "message": "guard opens here",
            },
            {
                "filename": "train.py",
                "cell": None,
                "location": {"row": 6, "column": 9},
                "end_location": {"row": 6, "column": 13},
                "message": "`loss` is made inside it",
            },
            {
                "filename": "train.py",
                "cell": None,
                "location": {"row": 8, "column": 5},
                "end_location": {"row": 8, "column": 20},
                "message": "needs the graph that 1 discarded",
            },
        ],
        "replay": {
            "profile": "torch",
            "outcome": "raises",
            "detail": "RuntimeError: element 0 does not require grad",
        },
        "replays": [
            {
                "profile": "torch",
                "outcome": "raises",
                "detail": "RuntimeError: element 0 does not require grad",
            },
            {"profile": "tenferro", "outcome": "silent", "detail": "the gradient table is empty"},
        ],
        "notes": ["assuming that `criterion` has no parameters"],
        "help": "move line 6 out of the `with` block",
        "fix": {
            "description": "enter the guard later",
            "applicability": "unsafe",
            "edits": [
                {
                    "filename": "train.py",
                    "cell": None,
                    "location": {"row": 5, "column": 5},
                    "end_location": {"row": 5, "column": 26},
                    "content": "if True:",
                }
            ],
        },
        "url": None,
    }


def test_every_finding_and_every_unread_file_is_in_the_array() -> None:
    records = json.loads(render(MIXED, "json", sources=SOURCES))
    assert [(record["code"], record["filename"], record["cell"]) for record in records] == [
        ("GRD000", "broken.py", None),
        ("GRD312", "nb.ipynb", 3),
        ("GRD201", "src/opt.py", None),
        ("GRD101", "train.py", None),
        ("GRD000", "lost.py", None),
    ]
    assert records[1]["replay"] is None


def test_json_lines_hold_the_same_records() -> None:
    lines = render(MIXED, "json-lines").splitlines()
    assert [json.loads(line) for line in lines] == json.loads(render(MIXED, "json"))


def test_nothing_found_is_an_empty_array_and_no_line() -> None:
    assert json.loads(render(CLEAN, "json")) == []
    assert render(CLEAN, "json-lines") == ""


def test_the_address_of_the_documentation_is_told_where_there_is_one() -> None:
    (record,) = json.loads(render(Report((LOSS,)), "json", docs_url="https://docs.example/rules/"))
    assert record["url"] == "https://docs.example/rules/GRD101"


def test_any_stream_can_carry_it() -> None:
    one = finding("`損失` \udcff", span(1, 1, 2, file="caf\udce9.py"))
    text = render(Report((one,)), "json")
    assert text.isascii()
    assert json.loads(text)[0]["filename"] == "caf\udce9.py"
