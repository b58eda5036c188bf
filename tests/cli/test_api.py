from __future__ import annotations

from pathlib import Path

import pytest
from cli_programs import ASSUMED, SKIPPING, UNTRACKED

import gradguard


def test_paths(folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    (folder / "bad.py").write_bytes(b"\0")
    (folder / "c.py").write_text("x = 1\n")
    report = gradguard.check_paths([folder, "gone.py"])
    assert [finding.code for finding in report.findings] == ["GRD101"]
    assert [failure.filename for failure in report.failures] == ["gone.py", "bad.py"]
    assert report.checked == 2


def test_text() -> None:
    (finding,) = gradguard.check_text(UNTRACKED, isolated=True)
    assert (finding.code, finding.span.filename, finding.span.start.row) == ("GRD101", "<text>", 7)
    assert gradguard.check_text("x = 1\n") == ()
    assert [finding.code for finding in gradguard.check_text("no_grad(\n")] == ["GRD000"]
    assert [finding.code for finding in gradguard.check_text("no_grad\0")] == ["GRD000"]


def test_options(folder: Path) -> None:
    text = UNTRACKED + ASSUMED + SKIPPING

    def codes(**options: object) -> set[str]:
        return {finding.code for finding in gradguard.check_text(text, "t/a.py", **options)}

    assert codes() == {"GRD101", "GRD102", "GRD201"}
    assert codes(select=["GRD1"]) == {"GRD101", "GRD102"}
    assert codes(ignore=("GRD1",)) == {"GRD201"}
    assert codes(ignore={"GRD101"}, min_confidence="certain") <= {"GRD201"}
    assert codes(per_file_ignores={"t/*": ["GRD1"]}) == {"GRD201"}
    (folder / "gradguard.toml").write_text('ignore = ["GRD1"]\n')
    (folder / "other.toml").write_text('ignore = ["GRD2"]\n')
    assert codes() == {"GRD201"}
    assert codes(isolated=True) == {"GRD101", "GRD102", "GRD201"}
    assert codes(config=folder / "other.toml") == {"GRD101", "GRD102"}


def test_path_options(folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    assert gradguard.check_paths(["."], extend_exclude=["a.py"]).checked == 0
    assert gradguard.check_paths(["a.py"], extend_exclude=["a.py"], force_exclude=True).checked == 0


def test_wrong_options_are_told() -> None:
    with pytest.raises(
        gradguard.SettingsError, match="unknown key `selct` in the options; did you mean `select`"
    ):
        gradguard.check_text("", selct=["GRD1"])
    with pytest.raises(gradguard.SettingsError, match="must be a list of strings"):
        gradguard.check_text("", select="GRD1")
    with pytest.raises(gradguard.SettingsError, match="unknown rule `GRD9`"):
        gradguard.check_paths(["."], select=["GRD9"])


def test_names() -> None:
    assert set(gradguard.__all__) <= set(dir(gradguard))
    assert all(getattr(gradguard, name) is not None for name in gradguard.__all__)
    with pytest.raises(AttributeError):
        gradguard.check_everything  # noqa: B018
