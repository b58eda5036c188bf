"""The plugin in the real flake8, beside the command."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from flake8.main.cli import main as flake8_here

from gradguard import check_paths
from gradguard.flake8_plugin import Plugin

FAULTY = """\
import torch

x = torch.ones(3, requires_grad=True)
with torch.no_grad():
    loss = (x * x).sum()
loss.backward()
"""
HEAD = FAULTY.rpartition("loss.")[0]
FIXTURES = Path(__file__).parents[2] / "fixtures"
IDLE = "import torch\n\ntorch.no_grad()\n"


def run(*command: str, at: Path, stdin: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", *command], cwd=at, input=stdin, capture_output=True, timeout=120, check=False
    )


def flake8(*arguments: str, at: Path, stdin: bytes | None = None) -> list[str]:
    """What flake8 prints when it is asked for our rules, or for what its configuration asks."""
    ran = run("flake8", *arguments, at=at, stdin=stdin)
    assert ran.stderr == b"", ran.stderr.decode()
    return ran.stdout.decode().splitlines()


def command(*arguments: str, at: Path, stdin: bytes | None = None) -> list[str]:
    ran = run("gradguard", "check", "--quiet", "--output-format", "concise", *arguments, at=at, stdin=stdin)
    assert (ran.returncode, ran.stderr) == (1, b""), ran.stderr.decode()
    return ran.stdout.decode().splitlines()


def codes(lines: list[str]) -> list[str]:
    return [line.split(": ", 1)[1].split(" ", 1)[0] for line in lines]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(FAULTY, encoding="utf-8")
    return tmp_path


WRITTEN = {
    "plain": FAULTY.encode(),
    "two on a line": (HEAD + "loss.backward(); torch.no_grad()\n").encode(),
    "wide characters": (HEAD + "損失 = '損失'; loss.backward()\n").encode(),
    "tabs": (HEAD + "if True:\n\tloss.backward()\n").encode(),
    "crlf": FAULTY.replace("\n", "\r\n").encode(),
    "bom": b"\xef\xbb\xbf" + FAULTY.encode(),
    "latin-1": ("# coding: latin-1\n" + HEAD + "é = 'é'; loss.backward()\n").encode("latin-1"),
    "no newline at the end": FAULTY.rstrip().encode(),
    "form feed": FAULTY.replace("with", "\x0c\nwith").encode(),
}


@pytest.mark.parametrize("data", WRITTEN.values(), ids=WRITTEN.keys())
def test_the_same_lines_as_the_command(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "train.py").write_bytes(data)
    told = command("train.py", at=tmp_path)
    assert "GRD101" in codes(told)
    assert flake8("--select=GRD", "train.py", at=tmp_path) == told


def test_the_same_findings_in_every_program_of_the_fixtures() -> None:
    programs = [str(path) for path in sorted(FIXTURES.rglob("*.py"))]
    # Of what cannot be parsed flake8 tells itself, and asks no plugin.
    expected = [
        f"{program}:{finding.span.start.row}:{finding.span.start.column}: "
        f"{finding.code} [{finding.name}] {finding.message}"
        for program in programs
        for finding in check_paths([program]).findings
        if finding.code != "GRD000"
    ]
    assert expected
    told = flake8("--isolated", "--select=GRD", *programs, at=FIXTURES)
    assert sorted(told) == sorted(expected)


def test_the_same_lines_from_standard_input(folder: Path) -> None:
    told = command("--stdin-filename", "train.py", "-", at=folder, stdin=FAULTY.encode())
    assert (
        flake8("--select=GRD", "--stdin-display-name=train.py", "-", at=folder, stdin=FAULTY.encode()) == told
    )
    assert codes(flake8("--select=GRD", "-", at=folder, stdin=FAULTY.encode())) == codes(told)


def test_it_speaks_without_being_asked_and_beside_others(folder: Path) -> None:
    (folder / "train.py").write_text(FAULTY + "import os\n", encoding="utf-8")
    assert codes(flake8("train.py", at=folder)) == ["GRD101", "F401", "E402"]


def test_flake8_knows_it_by_name(folder: Path) -> None:
    assert f"gradguard: {Plugin.version}" in run("flake8", "--version", at=folder).stdout.decode()


def test_selection_is_that_of_flake8(folder: Path) -> None:
    (folder / "train.py").write_text(FAULTY + "torch.no_grad()\n", encoding="utf-8")
    assert codes(flake8("train.py", at=folder)) == ["GRD101", "GRD301"]
    (folder / "setup.cfg").write_text("[flake8]\nextend-ignore = GRD301\n", encoding="utf-8")
    assert codes(flake8("train.py", at=folder)) == ["GRD101"]
    (folder / "setup.cfg").write_text("[flake8]\nper-file-ignores = train.py: GRD1\n", encoding="utf-8")
    assert codes(flake8("train.py", at=folder)) == ["GRD301"]
    (folder / "setup.cfg").write_text("[flake8]\nselect = E,GRD301\n", encoding="utf-8")
    assert codes(flake8("train.py", at=folder)) == ["GRD301"]


@pytest.mark.parametrize(
    "comment", ["# noqa", "# noqa: GRD101", "# noqa: E501,GRD1", "# gradguard: ignore[GRD101]"]
)
def test_comments_silence(folder: Path, comment: str) -> None:
    (folder / "train.py").write_text(FAULTY.rstrip() + f"  {comment}\n", encoding="utf-8")
    assert flake8("--select=GRD", "train.py", at=folder) == []


def test_with_noqa_disabled_only_the_own_comment_silences(folder: Path) -> None:
    (folder / "train.py").write_text(FAULTY.rstrip() + "  # noqa: GRD101\n", encoding="utf-8")
    assert codes(flake8("--select=GRD", "--disable-noqa", "train.py", at=folder)) == ["GRD101"]
    (folder / "train.py").write_text(FAULTY.rstrip() + "  # gradguard: ignore\n", encoding="utf-8")
    assert flake8("--select=GRD", "--disable-noqa", "train.py", at=folder) == []


def test_an_idle_suppression_is_told_as_by_the_command(folder: Path) -> None:
    (folder / "train.py").write_text("import torch  # noqa: GRD101\n" + FAULTY, encoding="utf-8")
    told = command("train.py", at=folder)
    assert codes(told) == ["GRD001", "GRD101"]
    assert flake8("--select=GRD", "train.py", at=folder) == told


def test_what_the_project_says_of_the_file_holds_here_too(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.gradguard]\nignore = ["GRD101"]\n', encoding="utf-8")
    assert flake8("--select=GRD", "train.py", at=folder) == []


@pytest.mark.parametrize(
    ("configuration", "arguments", "options"),
    [
        ("", [], {}),
        ("gradguard-min-confidence = certain", [], {"min_confidence": "certain"}),
        ("gradguard-preview = true", [], {"preview": True}),
        ("gradguard-preview = false", [], {"preview": False}),
        (
            "gradguard-min-confidence = certain",
            ["--gradguard-min-confidence=likely", "--gradguard-preview"],
            {"min_confidence": "likely", "preview": True},
        ),
    ],
)
def test_options_come_from_the_configuration_of_flake8(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    configuration: str,
    arguments: list[str],
    options: dict[str, object],
) -> None:
    asked: list[dict[str, object]] = []

    def check_text(text: str, filename: str, **options: object) -> tuple[()]:
        asked.append(options)
        return ()

    monkeypatch.chdir(folder)
    monkeypatch.setattr("gradguard.api.check_text", check_text)
    (folder / "setup.cfg").write_text(f"[flake8]\n{configuration}\n", encoding="utf-8")
    assert flake8_here(["--select=GRD", "-j1", *arguments, "train.py"]) == 0
    assert asked == [options]


def test_workers_are_given_the_options(folder: Path) -> None:
    for number in range(6):
        (folder / f"also{number}.py").write_text(IDLE, encoding="utf-8")
    lines = flake8("--select=GRD", "-j2", ".", at=folder)
    assert sorted(codes(lines)) == ["GRD101"] + ["GRD301"] * 6


def test_a_file_without_suspects_costs_no_parser(tmp_path: Path) -> None:
    program = (
        "import ast, json, sys\n"
        "from gradguard.flake8_plugin import Plugin\n"
        "text = 'import os\\nprint(os.sep)\\n'\n"
        "found = list(Plugin(ast.parse(text), 'quiet.py', text.splitlines(True)).run())\n"
        "heavy = {'libcst', 'numpy', 'rich', 'click', 'tree_sitter'} & set(sys.modules)\n"
        "print(json.dumps([len(found), sorted(heavy)]))\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, check=True)
    assert json.loads(ran.stdout) == [0, []]


def test_columns_are_handed_over_from_0() -> None:
    row, column, text, kind = next(Plugin(ast.parse(FAULTY), "train.py", FAULTY.splitlines(True)).run())
    assert (row, column, kind) == (6, 0, Plugin)
    assert text.startswith("GRD101 [backward-untracked] ")
