"""The hook as the real pre-commit installs and runs it, in a git repository made for it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
INSTALLED = ("pyproject.toml", "README.md", ".pre-commit-hooks.yaml", "linter", "rules")
FAULTY = """\
import torch

x = torch.ones(3, requires_grad=True)
with torch.no_grad():
    loss = (x * x).sum()
loss.backward()
"""
MENDED = """\
import torch

x = torch.ones(3, requires_grad=True)
loss = (x * x).sum()
loss.backward()
"""


class Repository:
    """A user's repository with gradguard among its hooks."""

    def __init__(self, folder: Path, hooks: Path, home: Path) -> None:
        self.folder = folder
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))
        }
        who = {
            f"GIT_{role}_{part}": "a@b.example"
            for role in ("AUTHOR", "COMMITTER")
            for part in ("NAME", "EMAIL")
        }
        self.environment = {**kept, **who, "PRE_COMMIT_HOME": str(home), "GIT_CONFIG_GLOBAL": os.devnull}
        folder.mkdir()
        self.git("init", "-q")
        self.write(
            ".pre-commit-config.yaml",
            f"repos:\n- repo: {hooks}\n  rev: {head_of(hooks)}\n  hooks:\n  - id: gradguard\n",
        )

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def git(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run("git", *arguments)

    def pre_commit(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self._run(sys.executable, "-m", "pre_commit", *arguments)

    def run_hook(self) -> tuple[int, str]:
        """The exit code and the output of the hook over all files that git knows."""
        self.git("add", "--all")
        ran = self.pre_commit("run", "--all-files", "--color=never")
        return ran.returncode, ran.stdout + ran.stderr

    def _run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600
        )


def head_of(repository: Path) -> str:
    ran = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True
    )
    return ran.stdout.strip()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pre-commit keeps the environment that it installs once for all tests."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This project as a repository of its own, as it lies here, committed or not."""
    folder = tmp_path_factory.mktemp("hooks")
    for name in INSTALLED:
        if (PROJECT / name).is_dir():
            shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(PROJECT / name, folder / name)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example"]
    for command in (["init", "-q"], ["add", "--all"], ["commit", "-qm", "all of it"]):
        subprocess.run([*git, *command], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def repository(tmp_path: Path, hooks: Path, home: Path) -> Repository:
    return Repository(tmp_path / "user", hooks, home)


def notebook(*cells: str) -> str:
    made: list[dict[str, object]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell}
        for cell in cells
    ]
    kernel = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"cells": made, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5})


def test_faults_in_modules_stubs_and_notebooks_fail_the_hook(repository: Repository) -> None:
    head, tail = FAULTY.split("with", 1)
    repository.write("train.py", FAULTY)
    repository.write("train.ipynb", notebook(head, f"with{tail}"))
    repository.write("clean.py", MENDED)
    repository.write("notes.txt", FAULTY)
    code, output = repository.run_hook()
    assert code == 1, output
    assert "train.py:6:1: " in output
    assert "train.ipynb:cell 2:3:1: " in output
    assert output.count("GRD101") >= 2
    assert "clean.py" not in output
    assert "notes.txt" not in output


def test_a_mended_repository_passes(repository: Repository) -> None:
    repository.write("train.py", MENDED)
    repository.write("train.ipynb", notebook(MENDED))
    code, output = repository.run_hook()
    assert (code, "Passed" in output) == (0, True), output


def test_without_a_file_of_ours_there_is_nothing_to_do(repository: Repository) -> None:
    repository.write("notes.md", "with torch.no_grad():\n")
    code, output = repository.run_hook()
    assert (code, "Skipped" in output) == (0, True), output


def test_excluded_files_are_left_out_although_pre_commit_names_them(repository: Repository) -> None:
    repository.write("vendored/train.py", FAULTY)
    assert repository.run_hook()[0] == 1
    repository.write("pyproject.toml", '[tool.gradguard]\nextend-exclude = ["vendored"]\n')
    code, output = repository.run_hook()
    assert code == 0, output


def test_a_faulty_file_is_not_committed(repository: Repository) -> None:
    assert repository.pre_commit("install").returncode == 0
    repository.write("train.py", FAULTY)
    repository.git("add", "--all")
    refused = repository.git("commit", "-m", "train")
    assert refused.returncode == 1
    assert "train.py:6:1: " in refused.stdout + refused.stderr
    assert repository.git("rev-parse", "--verify", "-q", "HEAD").returncode == 1
    repository.write("train.py", MENDED)
    repository.git("add", "--all")
    taken = repository.git("commit", "-m", "train")
    assert taken.returncode == 0, taken.stdout + taken.stderr
