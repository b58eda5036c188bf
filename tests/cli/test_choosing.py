"""Every switch that chooses rules or files does something, on the command line and in the configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_programs import OPTIMIZER, SKIPPING, UNTRACKED
from conftest import Command


@pytest.fixture
def two(folder: Path) -> Path:
    """A folder with one finding of GRD101 and one of GRD201."""
    (folder / "a.py").write_text(UNTRACKED)
    (folder / "tests").mkdir()
    (folder / "tests" / "b.py").write_text(SKIPPING)
    return folder


@pytest.mark.parametrize(
    ("arguments", "codes"),
    [
        ([], ["GRD101", "GRD201"]),
        (["--select", "GRD2"], ["GRD201"]),
        (["--select", "GRD2,GRD101"], ["GRD101", "GRD201"]),
        (["--select", "GRD2", "--select", "backward-untracked"], ["GRD101", "GRD201"]),
        (["--select", "ALL", "--ignore", "GRD1"], ["GRD201"]),
        (["--select", "GRD3", "--extend-select", "GRD101"], ["GRD101"]),
        (["--ignore", "GRD101, GRD201"], []),
        (["--per-file-ignores", "tests/*:GRD201"], ["GRD101"]),
        (["--per-file-ignores", "tests/*:GRD1,GRD2"], ["GRD101"]),
        (["--per-file-ignores", "tests:GRD2,a.py:GRD101"], []),
        (["--per-file-ignores", "!tests/*:ALL"], ["GRD201"]),
        (["--exclude", "tests"], ["GRD101"]),
        (["--extend-exclude", "a.py"], ["GRD201"]),
        (["--extend-exclude", "tests/b.py"], ["GRD101"]),
        (["--config", 'ignore = ["GRD101"]'], ["GRD201"]),
        (["--config", "extend-exclude=['tests']", "--extend-exclude", "a.py"], []),
    ],
)
def test_switches(gradguard: Command, two: Path, arguments: list[str], codes: list[str]) -> None:
    result = gradguard("check", *arguments)
    assert result.codes == codes
    assert result.code == int(bool(codes))


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ('select = ["GRD2"]', ["GRD201"]),
        ('select = ["GRD3"]\nextend-select = ["GRD101"]', ["GRD101"]),
        ('ignore = ["GRD101"]', ["GRD201"]),
        ('extend-ignore = ["GRD101"]', ["GRD201"]),
        ('per-file-ignores = {"tests/*" = ["GRD201"]}', ["GRD101"]),
        ('exclude = ["tests"]', ["GRD101"]),
        ('extend-exclude = ["tests/*.py"]', ["GRD101"]),
    ],
)
@pytest.mark.parametrize("name", ["gradguard.toml", ".gradguard.toml", "pyproject.toml"])
def test_configuration(gradguard: Command, two: Path, name: str, text: str, codes: list[str]) -> None:
    head = "[tool.gradguard]\n" if name == "pyproject.toml" else ""
    (two / name).write_text(head + text)
    assert gradguard("check").codes == codes
    assert gradguard("check", "--isolated").codes == ["GRD101", "GRD201"]


def test_each_file_has_the_settings_of_its_folder(gradguard: Command, two: Path) -> None:
    (two / "gradguard.toml").write_text('ignore = ["GRD101"]')
    (two / "tests" / "gradguard.toml").write_text('ignore = ["GRD201"]')
    (two / "tests" / "a.py").write_text(UNTRACKED)
    result = gradguard("check")
    assert [line.split(" ")[0] + line.split(" ")[1] for line in result.out.splitlines()] == [
        "tests/a.py:7:1:GRD101"
    ]


def test_config_names_a_file_for_all(gradguard: Command, two: Path) -> None:
    (two / "tests" / "gradguard.toml").write_text('ignore = ["ALL"]')
    (two / "other.toml").write_text('ignore = ["GRD101"]\nextend-exclude = ["nothing"]')
    assert gradguard("check", "--config", "other.toml").codes == ["GRD201"]
    assert gradguard("check", "--config", "gone.toml").code == 2
    assert gradguard("check", "--config", "other.toml", "--isolated").code == 2
    assert gradguard("check", "--config", "other.toml", "--config", "other.toml").code == 2


def test_the_command_line_counts_more_than_a_file(gradguard: Command, two: Path) -> None:
    (two / "gradguard.toml").write_text('ignore = ["GRD101"]\n')
    assert gradguard("check", "--select", "GRD101").codes == ["GRD101"]
    assert gradguard("check", "--extend-select", "GRD101").codes == ["GRD101", "GRD201"]
    (two / "gradguard.toml").write_text(
        'min-confidence = "certain"\nforce-exclude = true\nextend-exclude=["a.py"]\n'
    )
    assert gradguard("check", "a.py").codes == []
    assert gradguard("check", "a.py", "--no-force-exclude").codes == ["GRD101"]


def test_patterns_of_the_command_line_start_where_it_does(
    gradguard: Command, two: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (two / "gradguard.toml").write_text("")
    monkeypatch.chdir(two / "tests")
    assert gradguard("check", "--extend-exclude", "./b.py").codes == []
    assert gradguard("check", "--extend-exclude", "tests/b.py").codes == ["GRD201"]
    assert gradguard("check", "--per-file-ignores", "./b.py:GRD201").codes == []
    assert gradguard("check", "..", "--extend-exclude", "tests/b.py").codes == ["GRD101", "GRD201"]


def test_gitignore(gradguard: Command, two: Path) -> None:
    (two / ".gitignore").write_text("tests/\n")
    assert gradguard("check").codes == ["GRD101"]
    assert gradguard("check", "--no-respect-gitignore").codes == ["GRD101", "GRD201"]
    assert gradguard("check", "tests/b.py").codes == ["GRD201"]
    (two / "gradguard.toml").write_text("respect-gitignore = false\n")
    assert gradguard("check").codes == ["GRD101", "GRD201"]
    assert gradguard("check", "--respect-gitignore").codes == ["GRD101"]


def test_force_exclude(gradguard: Command, two: Path) -> None:
    (two / "venv").mkdir()
    (two / "venv" / "c.py").write_text(UNTRACKED)
    assert gradguard("check", "venv/c.py").codes == ["GRD101"]
    result = gradguard("check", "venv/c.py", "--force-exclude")
    assert (result.code, result.codes) == (0, [])
    assert "No files to check." in result.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--select", "GDR101"], "unknown rule `GDR101`; did you mean `GRD101`?"),
        (["--ignore", "backward-untraked"], "did you mean `backward-untracked`?"),
        (["--per-file-ignores", "a.py:GRD9"], "unknown rule `GRD9`"),
        (["--per-file-ignores", "a.py"], "not of the form PATTERN:RULE"),
        (["--config", "selekt=['GRD1']"], "unknown key `selekt` in `--config`; did you mean `select`?"),
        (["--min-confidence", "sure"], "sure"),
        (["--select", ","], "names nothing"),
        (["--sellect", "GRD1"], "--select"),
        (["--output-format", "yaml"], "yaml"),
    ],
)
def test_a_wrong_call_is_told(gradguard: Command, folder: Path, arguments: list[str], said: str) -> None:
    result = gradguard("check", *arguments)
    assert result.code == 2
    assert said in result.err
    assert result.out == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('select = ["GDR101"]', "unknown rule `GDR101`; did you mean `GRD101`?"),
        ("slect = []", "unknown key `slect` in `gradguard.toml`; did you mean `select`?"),
        ("select", "`gradguard.toml` is not valid TOML"),
    ],
)
def test_a_wrong_configuration_is_told(gradguard: Command, two: Path, text: str, said: str) -> None:
    (two / "gradguard.toml").write_text(text)
    for paths in (["."], ["tests/b.py"], ["--show-settings"]):
        result = gradguard("check", *paths)
        assert result.code == 2
        assert said in result.err


GUARDED_ENCODER = """\
import torch
from torch import nn

encoder, head = nn.Linear(3, 2), nn.Linear(2, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
with torch.no_grad():
    hidden = encoder(torch.ones(4, 3))
head(hidden).mean().backward()
optimizer.step()
"""


def test_preview(gradguard: Command, folder: Path) -> None:
    (folder / "young.py").write_text(GUARDED_ENCODER)
    assert gradguard("check", "young.py").codes == []
    assert gradguard("check", "young.py", "--preview").codes == ["GRD308"]
    assert gradguard("check", "young.py", "--preview", "--select", "GRD1").codes == []
    asked = gradguard("check", "young.py", "--select", "GRD308")
    assert asked.codes == []
    assert "warning: `GRD308` is in preview and does not run without `--preview`" in asked.err
    (folder / "gradguard.toml").write_text("preview = true\n")
    assert gradguard("check", "young.py").codes == ["GRD308"]
    assert gradguard("check", "young.py", "--no-preview").codes == []


def test_show_files(gradguard: Command, two: Path) -> None:
    result = gradguard("check", "--show-files", "--exclude", "a.py")
    assert (result.code, result.out) == (0, "tests/b.py\n")
    result = gradguard("check", "--show-files", "a.py", "gone.py")
    assert (result.code, result.out) == (2, "a.py\n")
    assert "gone.py" in result.err


def test_show_settings(gradguard: Command, two: Path) -> None:
    (two / "gradguard.toml").write_text('ignore = ["GRD101"]\n[per-file-ignores]\n"x.py" = ["GRD2"]\n')
    result = gradguard("check", "--show-settings", "--min-confidence", "certain")
    assert result.code == 0
    assert 'min-confidence = "certain"\n' in result.out
    assert 'per-file-ignores = { "x.py" = ["GRD2"] }\n' in result.out
    assert "# from `gradguard.toml`" in result.out
    on, off = (line for line in result.out.splitlines() if line.startswith("# rules that "))
    assert ("GRD101" in on, "GRD201" in on) == (False, True)
    assert "GRD101" in off


def test_shown_settings_can_be_read_again(gradguard: Command, two: Path) -> None:
    shown = gradguard("check", "--show-settings", "tests/b.py").out
    (two / "again.toml").write_text(shown)
    again = gradguard("check", "--show-settings", "tests/b.py", "--config", "again.toml").out
    assert again.splitlines()[1:] == shown.splitlines()[1:]


def test_a_framework_of_the_user(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(
        UNTRACKED.replace("torch.no_grad", "mine.quiet").replace("import", "import mine\nimport")
    )
    assert gradguard("check").codes == []
    (folder / "pyproject.toml").write_text('[tool.gradguard.frameworks.mine.guards]\n"mine.quiet" = "off"\n')
    assert gradguard("check").codes == ["GRD101"]


def test_subclasses_of_optimizers(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(OPTIMIZER)
    assert gradguard("check").codes == []
    (folder / "gradguard.toml").write_text('optimizer-subclasses = "check"\n')
    assert gradguard("check").codes == ["GRD201"]
