"""What a run does not import: that is most of what the shortest runs would take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from worked_projects import LONE, write_project

PROGRAM = "import sys; from gradguard.cli import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
HEAVY = {
    *("libcst", "numpy", "rich", "tree_sitter", "pathspec"),
    *("gradguard.rules", "gradguard.infer", "gradguard.lower", "gradguard.replay", "gradguard.work.analysis"),
}


def imported(folder: Path, *arguments: str) -> set[str]:
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM, "check", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return set(result.stderr.splitlines()[-1].split()) & HEAVY


def test_a_file_without_suspects(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.py": "import torch\n\nx = torch.ones(3)\n"})
    assert imported(tmp_path, "a.py") == set()
    assert not (tmp_path / ".gradguard_cache").exists()


def test_files_without_suspects_beside_a_large_cache(tmp_path: Path) -> None:
    write_project(tmp_path, {f"a{number}.py": LONE for number in range(20)} | {"b.py": "x = 1\n"})
    assert {"libcst", "gradguard.infer"} <= imported(tmp_path)
    assert imported(tmp_path, "b.py") == set()


def test_findings_that_an_earlier_run_left(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.py": LONE, "b.py": "x = 1\n"})
    for arguments in (["."], ["--select", "GRD1", "."], ["--output-format", "json", "."]):
        imported(tmp_path, *arguments)
        assert imported(tmp_path, *arguments) == set(), arguments
