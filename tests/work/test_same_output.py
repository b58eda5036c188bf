"""The output is the same, byte for byte, however a run goes about its work."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from worked_projects import FORMATS, PROJECT, Answer, call, write_project

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
SOME = ("kinds", "rust", "seed")


def copied(source: Path, folder: Path) -> None:
    for path in sorted(source.rglob("*")):
        if path.suffix in (".py", ".rs", ".ipynb"):
            target = folder / path.relative_to(source)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


@pytest.fixture(params=["project", "fixtures"])
def tree(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    if request.param == "fixtures":
        for name in SOME:
            copied(FIXTURES / name, folder / name)
        return folder
    return write_project(folder, PROJECT)


def answer(folder: Path, format: str, *arguments: str) -> Answer:
    return call(folder, "check", *arguments, "--isolated", "--output-format", format)


def answers(folder: Path, *arguments: str) -> dict[str, Answer]:
    return {format: answer(folder, format, *arguments) for format in FORMATS}


def test_any_number_of_processes_with_and_without_a_cache(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(tree, "--no-cache", "--jobs", "1")
    assert len(expected["concise"].out.splitlines()) > 6
    monkeypatch.setattr("gradguard.work.split.WORTH_A_PROCESS", 1)
    for jobs in ("1", "2", "3"):
        assert answer(tree, "json", "--no-cache", "--jobs", jobs) == expected["json"], f"{jobs} processes"
        cache = ("--cache-dir", f"../cache{jobs}", "--jobs", jobs)
        # The first of these formats fills the cache, the others are told from it.
        assert answers(tree, *cache) == expected, f"{jobs} processes, cold cache"
        assert answers(tree, *cache) == expected, f"{jobs} processes, warm cache"


def test_processes_are_in_fact_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradguard.work.pool import Pool

    started: list[int] = []
    run = Pool.run

    def noted(self: Pool, pieces: object) -> None:
        run(self, pieces)  # type: ignore[arg-type]
        started.append(self._started)

    monkeypatch.setattr("gradguard.work.split.WORTH_A_PROCESS", 1)
    monkeypatch.setattr(Pool, "run", noted)
    folder = write_project(tmp_path)
    for jobs in ("1", "2", "3"):
        call(folder, "check", "--no-cache", "--jobs", jobs)
    assert started == [2, 3]


def test_results_that_one_number_of_processes_left_serve_another(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gradguard.work.split.WORTH_A_PROCESS", 1)
    expected = answers(tree, "--no-cache", "--jobs", "1")
    call(tree, "check", "--cache-dir", "../cache", "--isolated", "--jobs", "3")
    changed = sorted(tree.rglob("*.py"))[::3]
    for path in changed:
        path.write_bytes(path.read_bytes() + b"\n")
    assert answers(tree, "--cache-dir", "../cache", "--jobs", "2") == expected


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_order_of_sets_does_not_show(tree: Path, seed: str) -> None:
    command = [
        sys.executable,
        "-m",
        "gradguard",
        "check",
        "--no-cache",
        "--isolated",
        "--output-format",
        "json",
    ]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    result = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)
    here = call(tree, "check", "--no-cache", "--isolated", "--output-format", "json")
    assert (result.returncode, result.stdout, result.stderr) == (here.code, here.out, here.err)
