"""What `gradguard check` answers: exit codes, files, output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_programs import ASSUMED, CLEAN, SKIPPING, UNTRACKED
from conftest import Command


def test_nothing_found(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(CLEAN)
    (folder / "b.py").write_text("x = 1\n")
    result = gradguard("check")
    assert (result.code, result.out) == (0, "")
    assert "2 files checked" in result.err


def test_findings(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    result = gradguard("check")
    assert result.code == 1
    assert result.out.startswith("a.py:7:1: GRD101 [backward-untracked] ")
    assert "1 fault in 1 file" in result.err


def test_findings_are_in_the_order_of_files_and_rows(gradguard: Command, folder: Path) -> None:
    (folder / "b.py").write_text(UNTRACKED + "\nloss.backward()\n" + SKIPPING)
    (folder / "a.py").write_text(SKIPPING)
    places = [line.split(": ")[0] for line in gradguard("check", "b.py", "a.py").out.splitlines()]
    rows = [(place.split(":")[0], int(place.split(":")[1])) for place in places]
    assert rows == sorted(rows)
    assert {name for name, _ in rows} == {"a.py", "b.py"}


def test_no_files_is_a_success_that_says_so(gradguard: Command, folder: Path) -> None:
    result = gradguard("check")
    assert (result.code, result.out) == (0, "")
    assert result.err.strip() == "No files to check."
    assert gradguard("check", "--output-format", "json").out.strip() == "[]"


@pytest.mark.parametrize("format", ["concise", "full", "json"])
def test_a_missing_path_is_an_error_that_names_it(gradguard: Command, folder: Path, format: str) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    result = gradguard("check", "nope.py", "a.py", "--output-format", format)
    assert result.code == 2
    assert "error: `nope.py`: no such file or folder" in result.err
    assert "GRD101" in result.out


def test_a_file_that_cannot_be_read_is_named_and_the_rest_is_checked(
    gradguard: Command, folder: Path
) -> None:
    (folder / "bad.py").write_bytes(b"no_grad()\xff")
    (folder / "binary.py").write_bytes(b"x\0y")
    (folder / "a.py").write_text(UNTRACKED)
    result = gradguard("check")
    assert result.code == 2
    assert result.codes == ["GRD101", "GRD000", "GRD000"]
    assert "(1 checked)" in result.err
    assert "2 files" in result.err
    printed = gradguard("check", "--output-format", "json")
    assert "error: `bad.py`: not valid utf-8" in printed.err
    assert {entry["filename"] for entry in json.loads(printed.out)} == {"a.py", "bad.py", "binary.py"}


def test_a_file_that_cannot_be_parsed_is_a_finding(gradguard: Command, folder: Path) -> None:
    (folder / "broken.py").write_text("with torch.no_grad(:\n")
    (folder / "a.py").write_text(UNTRACKED)
    result = gradguard("check", "--select", "GRD101")
    assert result.code == 1
    assert result.codes == ["GRD101", "GRD000"]
    assert "(1 checked)" in result.err


def test_who_ignores_unread_files_is_told_of_them(gradguard: Command, folder: Path) -> None:
    (folder / "broken.py").write_text("with torch.no_grad(:\n")
    (folder / "binary.py").write_bytes(b"x\0y")
    result = gradguard("check", "--ignore", "GRD000")
    assert (result.code, result.out) == (0, "")
    assert "note: `broken.py` is not checked" in result.err
    assert "note: `binary.py` is not checked" in result.err


def test_a_comment_on_a_row_does_not_hide_a_file_that_cannot_be_parsed(
    gradguard: Command, folder: Path
) -> None:
    (folder / "broken.py").write_text("with torch.no_grad(:  # noqa\n")
    assert gradguard("check").codes == ["GRD000"]
    (folder / "broken.py").write_text("# gradguard: ignore-file\nwith torch.no_grad(:\n")
    result = gradguard("check")
    assert (result.code, result.out) == (0, "")
    assert "note: `broken.py` is not checked" in result.err


def test_standard_input(gradguard: Command, folder: Path) -> None:
    result = gradguard("check", "-", stdin=UNTRACKED.encode())
    assert result.code == 1
    assert result.out.startswith("<stdin>:7:1: GRD101")


def test_stdin_filename(gradguard: Command, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "gradguard.toml").write_text('ignore = ["GRD101"]\n')
    assert gradguard("check", "-", "--stdin-filename", "x.py", stdin=UNTRACKED.encode()).out.startswith(
        "x.py:7:1"
    )
    assert gradguard("check", "-", "--stdin-filename", "sub/x.py", stdin=UNTRACKED.encode()).code == 0
    cell = {"cell_type": "code", "source": UNTRACKED}
    notebook = json.dumps({"cells": [cell], "metadata": {}}).encode()
    assert "cell 1" in gradguard("check", "-", "--stdin-filename", "x.ipynb", stdin=notebook).out
    (folder / "x.py").write_text(UNTRACKED)
    assert gradguard("check", "-", "x.py", "--stdin-filename", "x.py", stdin=b"x = 1\n").code == 0
    excluded = ("check", "-", "--stdin-filename", "venv/x.py", "--force-exclude")
    assert gradguard(*excluded, stdin=UNTRACKED.encode()).code == 0


def test_notebooks(gradguard: Command, folder: Path) -> None:
    head, tail = UNTRACKED.split("with ")
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "source": "# title"},
        {"cell_type": "code", "source": ["%matplotlib inline\n", *head.splitlines(keepends=True)]},
        {"cell_type": "code", "source": f"!nvidia-smi\nwith {tail}"},
    ]
    (folder / "n.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    result = gradguard("check", "--output-format", "json")
    (entry,) = json.loads(result.out)
    assert (entry["cell"], entry["location"]) == (3, {"row": 4, "column": 1})
    cells[2]["source"] = f"!nvidia-smi\nwith {tail}".replace("loss.backward", "%time loss.backward")
    (folder / "n.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}))
    shown = gradguard("check", "--output-format", "full").out
    assert "%time loss.backward()" in shown
    assert "if 1:" not in shown
    (folder / "n.ipynb").write_text(
        json.dumps({"cells": cells, "metadata": {"kernelspec": {"language": "R"}}})
    )
    result = gradguard("check")
    assert (result.code, result.out) == (0, "")
    assert "note: `n.ipynb` is not checked: a notebook in r" in result.err
    assert "No files to check." in result.err


@pytest.mark.parametrize(
    "data",
    [
        UNTRACKED.replace("\n", "\r\n").encode(),
        UNTRACKED.replace("\n", "\r").encode(),
        b"\xef\xbb\xbf" + UNTRACKED.encode(),
        UNTRACKED.rstrip("\n").encode(),
        UNTRACKED.replace("    ", "\t").encode(),
        UNTRACKED.replace("\n\n", "\n\x0c\n").encode(),
        f"# coding: latin-1 \xe9\n{UNTRACKED}".replace("\n\n", "\n", 1).encode("latin-1"),
        b"# coding: utf-7\n" + UNTRACKED.replace("\n\n", "\n", 1).replace("_", "+AF8-").encode(),
    ],
)
def test_every_spelling_of_a_file_has_the_finding_at_its_row(
    gradguard: Command, folder: Path, data: bytes
) -> None:
    (folder / "a.py").write_bytes(data)
    result = gradguard("check")
    assert result.out.startswith("a.py:7:1: GRD101"), result.out + result.err
    assert result.code == 1


def test_large_and_deep_files(gradguard: Command, folder: Path) -> None:
    (folder / "large.py").write_text("x = [1, 2, 3]\n" * 800_000)
    (folder / "deep.py").write_text("no_grad = " + "(" * 5000 + ")" * 5000 + "\n")
    (folder / "empty.py").write_text("")
    (folder / "blank.ipynb").write_text("")
    result = gradguard("check")
    assert result.codes in ([], ["GRD000"])
    assert f"{4 - len(result.codes)} files checked" in result.err or "(3 checked)" in result.err


def test_exit_zero(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    result = gradguard("check", "--exit-zero")
    assert (result.code, result.codes) == (0, ["GRD101"])
    assert gradguard("check", "--exit-zero", "nope.py").code == 2


def test_quiet(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    result = gradguard("check", "-q")
    assert (result.codes, result.err) == (["GRD101"], "")
    assert "nope.py" in gradguard("check", "-q", "nope.py").err


def test_statistics(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    (folder / "b.py").write_text(UNTRACKED + SKIPPING)
    result = gradguard("check", "--statistics")
    assert result.code == 1
    assert [line.split() for line in result.out.splitlines()] == [
        ["2", "GRD101", "backward-untracked"],
        ["1", "GRD201", "update-skips-missing-grad"],
    ]
    counted = json.loads(gradguard("check", "--statistics", "--output-format", "json").out)
    assert [(entry["code"], entry["count"]) for entry in counted] == [("GRD101", 2), ("GRD201", 1)]


@pytest.mark.parametrize(
    "format", ["full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit"]
)
def test_output_formats(gradguard: Command, folder: Path, format: str) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    result = gradguard("check", "--output-format", format)
    assert result.code == 1
    assert "GRD101" in result.out
    if format != "concise":
        assert result.out != gradguard("check").out
    (folder / "gradguard.toml").write_text(f'output-format = "{format}"\n')
    assert gradguard("check").out == result.out


def test_output_file(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    printed = gradguard("check").out
    result = gradguard("check", "-o", "report.txt")
    assert (result.code, result.out) == (1, "")
    assert (folder / "report.txt").read_text() == printed
    result = gradguard("check", "-o", "no/where.txt")
    assert result.code == 2
    assert "cannot write `no/where.txt`" in result.err


def test_color(gradguard: Command, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    assert "\x1b[" not in gradguard("check").out
    assert "\x1b[" in gradguard("check", "--color", "always").out
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in gradguard("check").out
    assert "\x1b[" not in gradguard("check", "--color", "never").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in gradguard("check").out


def test_names_that_are_no_text(gradguard: Command, folder: Path) -> None:
    try:
        Path("\udcff.py").write_text(UNTRACKED)
    except OSError:
        pytest.skip("the file system takes no such name")
    result = gradguard("check")
    assert result.code == 1
    assert "GRD101" in result.out


def test_likely_findings(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED + ASSUMED)
    assert gradguard("check").codes == ["GRD101", "GRD102"]
    assert gradguard("check", "--min-confidence", "likely").codes == ["GRD101", "GRD102"]
    assert gradguard("check", "--min-confidence", "certain").codes == ["GRD101"]
    (folder / "gradguard.toml").write_text('min-confidence = "certain"\n')
    assert gradguard("check").codes == ["GRD101"]
