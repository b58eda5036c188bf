from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_programs import ASSUMED, SKIPPING, UNTRACKED
from conftest import Command


def test_comments_are_written_once(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    (folder / "b.py").write_text(SKIPPING.replace("None:", "None:  # noqa: E501"))
    result = gradguard("check", "--add-noqa")
    assert (result.code, result.out) == (0, "")
    assert "added 2 comments in 2 files" in result.err
    assert (folder / "a.py").read_text() == UNTRACKED.replace(
        "loss.backward()", "loss.backward()  # noqa: GRD101"
    )
    assert "None:  # noqa: E501, GRD201\n" in (folder / "b.py").read_text()
    assert gradguard("check").code == 0
    before = (folder / "a.py").read_bytes()
    assert "added 0 comments in 0 files" in gradguard("check", "--add-noqa").err
    assert (folder / "a.py").read_bytes() == before


def test_only_what_is_chosen_is_written(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED + ASSUMED)
    gradguard("check", "--add-noqa", "--select", "GRD102")
    assert gradguard("check").codes == ["GRD101"]


@pytest.mark.parametrize(
    ("encoding", "line_end"), [("utf-8", "\r\n"), ("utf-8-sig", "\n"), ("latin-1", "\n"), ("utf-8", "\r")]
)
def test_the_rest_of_the_file_stays(gradguard: Command, folder: Path, encoding: str, line_end: str) -> None:
    text = f"# coding: {encoding.removesuffix('-sig')}\n# \xe9\n{UNTRACKED}".rstrip("\n")
    before = text.replace("\n", line_end).encode(encoding)
    (folder / "a.py").write_bytes(before)
    gradguard("check", "--add-noqa")
    comment = b"  # noqa: GRD101"
    assert (folder / "a.py").read_bytes() == before + comment
    assert gradguard("check").code == 0


def test_notebooks(gradguard: Command, folder: Path) -> None:
    head, tail = UNTRACKED.split("with ")
    cells = [
        {"source": head.splitlines(keepends=True), "cell_type": "code", "outputs": [{"text": "\u00e9"}]},
        {"cell_type": "code", "source": ["!ls\n", *f"with {tail}".splitlines(keepends=True)]},
    ]
    before = json.dumps({"nbformat": 4, "cells": cells, "metadata": {}}, indent=3) + "\n\n"
    (folder / "n.ipynb").write_text(before)
    gradguard("check", "--add-noqa")
    after = (folder / "n.ipynb").read_text()
    assert after == before.replace('"loss.backward()\\n"', '"loss.backward()  # noqa: GRD101\\n"')
    assert after != before
    assert gradguard("check").code == 0


def test_standard_input_cannot_be_written(gradguard: Command, folder: Path) -> None:
    result = gradguard("check", "--add-noqa", "-", stdin=UNTRACKED.encode())
    assert result.code == 2
    assert "--add-noqa" in result.err


def test_unread_files_are_told(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    (folder / "bad.py").write_bytes(b"\0")
    result = gradguard("check", "--add-noqa", ".", "gone.py")
    assert result.code == 2
    assert "`gone.py`" in result.err
    assert "`bad.py`" in result.err
    assert "noqa" in (folder / "a.py").read_text()


def test_a_file_that_cannot_be_written_is_told(
    gradguard: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a.py").write_text(UNTRACKED)

    def refuse(*arguments: object, **more: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("gradguard.discover.rewrite.tempfile.mkstemp", refuse)
    result = gradguard("check", "--add-noqa")
    assert result.code == 2
    assert "error: `a.py`: cannot be written: permission denied" in result.err


def test_suppressions_hold_and_idle_ones_are_told(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED.replace("backward()", "backward()  # noqa: GRD101"))
    (folder / "b.py").write_text("x = 1  # noqa: GRD101\n")
    (folder / "c.py").write_text("# gradguard: ignore-file\n" + UNTRACKED)
    (folder / "d.py").write_text("x = 1  # gradguard: ignore\n")
    result = gradguard("check")
    assert [line.split(" ")[0] for line in result.out.splitlines()] == ["b.py:1:8:", "d.py:1:8:"]
    assert set(result.codes) == {"GRD001"}
    assert result.code == 1
    assert gradguard("check", "--ignore", "GRD001").code == 0


def test_a_suppression_of_a_rule_that_is_off_is_not_idle(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED.replace("backward()", "backward()  # noqa: GRD101"))
    assert gradguard("check", "--select", "GRD001,GRD2").code == 0
    (folder / "b.py").write_text(f"# gradguard: ignore-file[GRD102]\n{ASSUMED}")
    assert gradguard("check", "b.py", "--min-confidence", "certain").code == 0
