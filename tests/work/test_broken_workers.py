"""A process that dies, hangs or fails costs the file it had in hand: that is told, and nothing else is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from worked_projects import LONE, call, write_project

from gradguard.settings.model import Settings
from gradguard.source import Source
from gradguard.work.analysis import group_of
from gradguard.work.messages import Job, Start
from gradguard.work.pool import Pool
from gradguard.work.result import Result

ENDS = {
    "killed": "os.kill(os.getpid(), signal.SIGKILL)",
    "exited": "os._exit(3)",
    "out of memory": "raise MemoryError('no room')",
    "failed": "raise RuntimeError('the reason')",
    "garbage": "os.write(3, b'x' * 100); os.write(4, b'x' * 100); os._exit(0)",
}
STARTING = """\
import importlib.machinery, os, signal, sys

def spoil(module):
    of = module.Analysis._findings
    def findings(self, source):
        if "SPOILT" in source.text:
            {end}
        return of(self, source)
    module.Analysis._findings = findings

class Finder:
    @staticmethod
    def find_spec(name, path, target=None):
        if name != "gradguard.work.analysis":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        run = spec.loader.exec_module
        spec.loader.exec_module = lambda module: (run(module), spoil(module))
        return spec

sys.meta_path.insert(0, Finder)
"""
"""Runs at the start of every Python process, and lets the analysis of some files end badly."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    files = {f"file{number}.py": LONE for number in range(8)}
    for name in ("file2.py", "file5.py"):
        files[name] = f"{LONE}# SPOILT\n"
    return write_project(tmp_path / "tree", files)


PROGRAM = """\
import sys
import gradguard.work.split as split
from gradguard.cli import run

split.WORTH_A_PROCESS = 1
sys.exit(run(sys.argv[1:]))
"""


def environment_with(start: Path) -> dict[str, str]:
    """The environment in which Python looks for modules in `start` first."""
    path = os.pathsep.join(filter(None, [str(start), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path}


def run(folder: Path, start: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = environment_with(start)
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, "check", "--output-format", "json", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("jobs", ["2", "3"])
def test_the_file_is_told_and_the_others_are_checked(tree: Path, tmp_path: Path, end: str, jobs: str) -> None:
    start = write_project(tmp_path / "start", {"sitecustomize.py": STARTING.format(end=ENDS[end])})
    result = run(tree, start, "--jobs", jobs)
    assert result.returncode == 2
    told = [(one["filename"], one["code"]) for one in json.loads(result.stdout)]
    codes = {number: "GRD000" if number in (2, 5) else "GRD101" for number in range(8)}
    assert sorted(told) == [(f"file{number}.py", code) for number, code in codes.items()]
    errors = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert [line.split("`")[1] for line in errors] == ["file2.py", "file5.py"]
    assert "6 checked" in result.stderr
    # What failed is not remembered; the rest is.
    (tmp_path / "start/sitecustomize.py").unlink()
    mended = run(tree, start, "--jobs", jobs)
    assert (mended.returncode, len(json.loads(mended.stdout))) == (1, 8)
    assert mended.stdout == call(tree, "check", "--no-cache", "--output-format", "json").out


def test_a_process_that_falls_silent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start = write_project(
        tmp_path / "start", {"sitecustomize.py": STARTING.format(end="import time; time.sleep(60)")}
    )
    monkeypatch.setenv("PYTHONPATH", str(start))
    sources = [
        Source("good.py", "", LONE),
        Source("bad.py", "", f"{LONE}# SPOILT\n"),
        Source("fine.py", "", LONE),
    ]
    results: dict[int, Result] = {}
    pool = Pool(
        1,
        Start((group_of(Settings(str(tmp_path)), sources),), 60.0),
        lambda number, process, result, sights: results.update({number: result}),
        silence=5.0,
    )
    pool.run([[Job(number, 0, source) for number, source in enumerate(sources)]])
    assert [len(results[number].findings) for number in range(3)] == [1, 0, 1]
    broken = results[1].broken
    assert broken is not None
    assert broken.filename == "bad.py"
    assert "gave no answer in 5 seconds" in broken.reason


def test_no_process_outlives_the_run(tree: Path, tmp_path: Path) -> None:
    """The run ends while its workers sleep: they end with it, as their input does."""
    start = write_project(
        tmp_path / "start", {"sitecustomize.py": STARTING.format(end="import time; time.sleep(2)")}
    )
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "check", "--jobs", "2"],
        cwd=tree,
        env=environment_with(start),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as running:
        assert running.stdout is not None
        workers = waiting_for_children(running.pid, 2)
        running.kill()
        # Whoever still holds the pipe keeps this from ending.
        running.communicate(timeout=60)
    assert workers
    assert [worker for worker in workers if is_running(worker)] == []


def waiting_for_children(parent: int, count: int) -> list[int]:
    if not Path(f"/proc/{parent}").exists():
        pytest.skip("processes cannot be listed here")
    end = time.monotonic() + 30
    found: list[int] = []
    while len(found) < count and time.monotonic() < end:
        found = children(parent)
        time.sleep(0.02)
    return found


def children(parent: int) -> list[int]:
    found: list[int] = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(stat.parent.name))
    return found


def is_running(process: int) -> bool:
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except OSError:
            return False
        time.sleep(0.05)
    return True
