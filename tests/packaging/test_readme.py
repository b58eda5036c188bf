"""What the README says is so."""

from __future__ import annotations

import configparser
import re
import sys
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parents[2]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
PROJECT_FILE = (PROJECT / "pyproject.toml").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """The fenced blocks in a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def toml(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return dict(tomllib.loads(text))


def test_the_first_program_gives_the_output_that_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gradguard.cli import run

    monkeypatch.chdir(tmp_path)
    # A parallel run sets the width of its terminal; the README shows what a pipe gets.
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "train.py").write_text(blocks("python")[0])
    assert run(["check", "--isolated", "--output-format", "full", "--color", "never", "train.py"]) == 1
    assert capsys.readouterr().out.strip() == blocks("text")[0].strip()


def test_the_program_that_calls_the_library_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "train.py").write_text(blocks("python")[0])
    names: dict[str, Any] = {}
    exec(blocks("python")[1], names)
    assert [finding.code for finding in names["report"].findings] == ["GRD101"]
    assert names["findings"] == ()


def test_the_table_holds_every_rule_and_no_other() -> None:
    from gradguard.rules import RULES

    shown = re.findall(r"^\| (GRD\d{3}) \| ([\w-]+) \| (.+) \|$", README, re.MULTILINE)
    assert shown == [
        (rule.code, rule.name, rule.summary + (" (preview)" if rule.preview else "")) for rule in RULES
    ]


def test_the_configurations_are_valid() -> None:
    from gradguard.settings.keys import read_table

    tables = [toml(block) for block in blocks("toml")]
    ours = [table["tool"]["gradguard"] for table in tables if "gradguard" in table["tool"]]
    values = [read_table(table, "README.md") for table in ours]
    assert {"select", "ignore", "per_file_ignores", "frameworks"} <= {
        key for table in values for key in table
    }
    (flake8,) = blocks("ini")
    parser = configparser.ConfigParser()
    parser.read_string(flake8)
    assert dict(parser["flake8"])["extend-select"] == "GRD"


def test_the_framework_that_is_shown_works() -> None:
    import gradguard

    table = next(
        t for block in blocks("toml") if "frameworks" in (t := toml(block)["tool"].get("gradguard", {}))
    )
    text = "import mylib\nwith mylib.frozen():\n    loss = mylib.loss(w)\nloss.backward()\n"
    assert gradguard.check_text(text, isolated=True) == ()
    found = gradguard.check_text(text, isolated=True, frameworks=table["frameworks"])
    assert {finding.code for finding in found} == {"GRD101"}


def test_the_commands_stand_where_they_are_run() -> None:
    install, test = blocks("sh")
    assert install.strip() == "pip install . && gradguard check PATH"
    assert test.strip() in (PROJECT / ".ci" / "run").read_text(encoding="utf-8")
    assert "- id: gradguard\n" in (PROJECT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    assert any("- id: gradguard" in block for block in blocks("yaml"))


def test_the_versions_of_python_are_those_declared_and_tested() -> None:
    declared = re.findall(r'"Programming Language :: Python :: (3\.\d+)"', PROJECT_FILE)
    tested = re.findall(r"step test_without_torch (3\.\d+)", (PROJECT / ".ci" / "run").read_text("utf-8"))
    assert f"Python {declared[0]} to {declared[-1]};" in README
    assert tested == [declared[0], declared[-1]]
