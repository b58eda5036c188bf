from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradguard.findings import Finding
from gradguard.judge.silence import noqa_edits
from gradguard.judge.suppress import apply_suppressions
from gradguard.rule import Rule
from gradguard.source import Cell, Source

RULES = (
    Rule("GRD001", "unused-suppression", ""),
    Rule("GRD101", "backward-untracked", ""),
    Rule("GRD102", "backward-graph-cut", ""),
    Rule("GRD201", "update-skips", ""),
)


def finding(source: Source, code: str, start: tuple[int, int], end: tuple[int, int]) -> Finding:
    return Finding(code, "", "", source.span(start, end))


def left_and_idle(text: str, *codes: str, rows: tuple[int, int] = (1, 1)) -> tuple[list[str], list[str]]:
    """The codes left of findings of `codes` at `rows`, and the messages about idle comments."""
    source = Source("a.py", "/a.py", text)
    left, idle = apply_suppressions(
        source, [finding(source, code, (rows[0], 1), (rows[1], 2)) for code in codes], RULES
    )
    return [one.code for one in left], [one.message for one in idle]


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "#noqa",
        "# NOQA: E501",
        "# noqa: GRD101",
        "# noqa:GRD101",
        "# noqa : grd101",
        "# noqa: E501, GRD101",
        "# noqa: E501 GRD101",
        "# noqa: GRD101 - the guard is meant",
        "# noqa: GRD101,",
        "# noqa: GRD1",
        "# noqa: GRD",
        "# why not # noqa: GRD101",
        "# type: ignore # noqa: GRD101",
        "# gradguard: ignore",
        "# gradguard:ignore[GRD101]",
        "# GradGuard: Ignore[ grd101 ]",
        "# gradguard: ignore[backward-untracked]",
        "# gradguard: ignore[GRD201 GRD101]",
        "# gradguard: ignore-file",
        "# gradguard: ignore-file[GRD101]",
    ],
)
def test_what_silences(comment: str) -> None:
    left, _ = left_and_idle(f"loss.backward()  {comment}\n", "GRD101")
    assert left == ([] if comment != "# NOQA: E501" else ["GRD101"])


@pytest.mark.parametrize(
    "text",
    [
        "loss.backward()  # noqa: GRD201",
        "loss.backward()  # noqa: E501",
        "loss.backward()  # noqa: RGRD101",
        "loss.backward()  # no qa",
        "loss.backward()  # noqastic: GRD101",
        "loss.backward('# noqa')",
        "loss.backward()\n# noqa",
        "loss.backward()  # noqa: GRD1O1",
        "loss.backward()  # gradguard: ignore[]",
        "loss.backward()  # gradguard: ignored",
        "loss.backward()\n# gradguard: ignore",
    ],
)
def test_what_does_not(text: str) -> None:
    assert left_and_idle(text, "GRD101")[0] == ["GRD101"]


@pytest.mark.parametrize("row", [1, 2, 3, 4])
def test_a_comment_anywhere_at_the_statement_counts(row: int) -> None:
    rows = ["accelerator.backward(", "    loss,", "    scale=2,", ")"]
    rows[row - 1] += "  # noqa: GRD101"
    text = "\n".join([*rows, "step()  # noqa: GRD201"])
    assert left_and_idle(text, "GRD101", rows=(1, 4)) == ([], ["`# noqa: GRD201` suppresses nothing"])


def test_a_comment_behind_a_string_of_several_rows() -> None:
    text = 'loss.backward("""\n# noqa: GRD101\n""")\nx = 1\n'
    assert left_and_idle(text, "GRD101", rows=(1, 3))[0] == ["GRD101"]
    text = 'loss.backward("""\n""")  # noqa: GRD101\n'
    assert left_and_idle(text, "GRD101")[0] == []


def test_an_own_comment_alone_on_its_row_speaks_of_the_next_code() -> None:
    assert left_and_idle(
        "# gradguard: ignore[GRD101]\n\n# why\nloss.backward()\n", "GRD101", rows=(4, 4)
    ) == ([], [])
    left, idle = left_and_idle("# gradguard: ignore[GRD101]\nx = 1\nloss.backward()\n", "GRD101", rows=(3, 3))
    assert (left, len(idle)) == (["GRD101"], 1)


def test_a_file_comment_counts_wherever_it_stands() -> None:
    text = "loss.backward()\nx = 1\n# gradguard: ignore-file[GRD101]\n"
    assert left_and_idle(text, "GRD101", "GRD201") == (["GRD201"], [])


@pytest.mark.parametrize(
    ("comment", "said"),
    [
        ("# noqa", []),
        ("# noqa: E501", []),
        ("# noqa: GRD101", ["`# noqa: GRD101` suppresses nothing"]),
        ("# noqa: GRD101 because", ["`# noqa: GRD101` suppresses nothing"]),
        ("# noqa: E501, GRD101", ["`GRD101` in `# noqa: E501, GRD101` suppresses nothing"]),
        ("# noqa: GRD201, GRD101", ["`GRD101` in `# noqa: GRD201, GRD101` suppresses nothing"]),
        (
            "# noqa: E5, GRD101, GRD102",
            ["`GRD101`, `GRD102` in `# noqa: E5, GRD101, GRD102` suppress nothing"],
        ),
        ("# noqa: GRD101, GRD001", []),
        ("# noqa: GRD201", []),
        ("# gradguard: ignore", []),
        ("# gradguard: ignore[GRD101]", ["`# gradguard: ignore[GRD101]` suppresses nothing"]),
        ("# gradguard: ignore-file[GRD1]", ["`# gradguard: ignore-file[GRD1]` suppresses nothing"]),
        ("# gradguard: ignroe", ["`ignroe` in `# gradguard: ignroe` is no instruction"]),
        ("# gradguard: ignore[]", ["`[]` in `# gradguard: ignore[]` is no instruction"]),
        ("# gradguard: the linter we use", []),
    ],
)
def test_idle_comments(comment: str, said: list[str]) -> None:
    assert left_and_idle(f"p.step()  {comment}\n", "GRD201")[1] == said


def test_an_idle_blanket_of_our_own() -> None:
    assert left_and_idle("x = 1  # gradguard: ignore\n")[1] == ["`# gradguard: ignore` suppresses nothing"]


def test_a_code_that_is_no_rule_is_told() -> None:
    source = Source("a.py", "/a.py", "x = 1  # noqa: GRD1O1, GRD999\n")
    _, idle = apply_suppressions(source, [], RULES)
    assert [one.notes for one in idle] == [("`GRD1O1` is no rule", "`GRD999` is no rule")]
    assert (idle[0].span.start.column, idle[0].span.end.column) == (8, 30)


def test_nothing_is_said_of_comments_in_a_file_that_cannot_be_parsed() -> None:
    assert left_and_idle("x = 1  # noqa: GRD101\n", "GRD000") == (["GRD000"], [])
    assert left_and_idle("x = 1  # noqa\n", "GRD000") == (["GRD000"], [])
    assert left_and_idle("x = 1  # gradguard: ignore-file\n", "GRD000") == ([], [])


def test_rust() -> None:
    text = """\
let text = "// noqa"; loss.backward(); // noqa: GRD101
let raw = r#" " // noqa "#; let c = '"'; loss.backward(); // gradguard: ignore[GRD101]
/* // noqa /* nested */ // noqa */ loss.backward();
loss.backward(); // noqa: GRD201
"""
    source = Source("a.rs", "/a.rs", text, "rust")
    findings = [finding(source, "GRD101", (row, 1), (row, 5)) for row in (1, 2, 3, 4)]
    left, idle = apply_suppressions(source, findings, RULES)
    assert [one.span.start.row for one in left] == [3, 4]
    assert [one.span.start.row for one in idle] == [4]


def test_notebooks_are_counted_by_cell() -> None:
    text = "x = 1\nloss.backward()  # noqa: GRD101\ny = 1  # noqa: GRD201\nloss.backward()\n"
    source = Source("a.ipynb", "/a.ipynb", text, "python", (Cell(2, 1, 2), Cell(5, 3, 2)))
    findings = [finding(source, "GRD101", (row, 1), (row, 5)) for row in (2, 4)]
    left, idle = apply_suppressions(source, findings, RULES)
    assert [(one.span.cell, one.span.start.row) for one in left] == [(5, 2)]
    assert [(one.span.cell, one.span.start.row) for one in idle] == [(5, 1)]


def inserted(text: str, *found: tuple[str, int], language: str = "python") -> list[tuple[int, int, str]]:
    source = Source("a", "/a", text, language)
    edits = noqa_edits(source, [finding(source, code, (row, 1), (row, 2)) for code, row in found])
    return [(edit.span.start.row, edit.span.start.column, edit.text) for edit in edits]


def test_comments_to_write() -> None:
    assert inserted("x = 1\n", ("GRD101", 1)) == [(1, 6, "  # noqa: GRD101")]
    assert inserted("x = 1", ("GRD201", 1), ("GRD101", 1), ("GRD101", 1)) == [
        (1, 6, "  # noqa: GRD101, GRD201")
    ]
    assert inserted("x = 1  # why  \n", ("GRD101", 1)) == [(1, 13, "  # noqa: GRD101")]
    assert inserted("x = 1  # noqa: E501 why\n", ("GRD101", 1)) == [(1, 20, ", GRD101")]
    assert inserted("x = (\n  1,\n)\n", ("GRD101", 1)) == [(3, 2, "  # noqa: GRD101")]
    assert inserted("x = 1 + \\\n  2\n", ("GRD101", 1)) == [(2, 4, "  # noqa: GRD101")]
    assert inserted('x = """\n"""\ny = 1', ("GRD101", 1)) == [(2, 4, "  # noqa: GRD101")]
    assert inserted("let x = 1;\n", ("GRD101", 1), language="rust") == [(1, 11, "  // noqa: GRD101")]
    assert inserted("x = 1  # noqa: GRD102\n", ("GRD000", 1), ("GRD001", 1)) == []


STATEMENTS = [
    "loss.backward()",
    "loss.backward()  # why",
    "loss.backward()  # noqa: E501",
    "loss.backward()  # noqa:E501,W1  and why",
    "loss.backward()  # gradguard: ignore[GRD201]",
    "loss.backward(\n    a,  # noqa: E501\n)",
    "loss.backward() \\\n    .step()",
    'loss.backward("""\n# noqa: GRD101\n""")',
    "if a:\n    # note\n    loss.backward()  \t",
    "\x0c",
    "",
]


@given(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=5), st.data())
def test_what_is_written_silences(statements: list[str], data: st.DataObject) -> None:
    text = "\n".join(statements)
    row = data.draw(st.integers(1, text.count("\n") + 1))
    source = Source("a.py", "/a.py", text)
    found = [finding(source, "GRD101", (row, 1), (row, 2))]
    (edit,) = noqa_edits(source, apply_suppressions(source, found, RULES)[0])
    rows = text.split("\n")
    target, column = rows[edit.span.start.row - 1], edit.span.start.column - 1
    rows[edit.span.start.row - 1] = target[:column] + edit.text + target[column:]
    again = Source("a.py", "/a.py", "\n".join(rows))
    ast.parse(again.text)
    assert apply_suppressions(again, found, RULES)[0] == ()
