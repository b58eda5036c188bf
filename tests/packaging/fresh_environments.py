"""Environments made for a test, in which this project is not installed yet."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
_SOURCES = ("pyproject.toml", "README.md", "linter", "rules")
_OURS = ("gradguard", "__editable__", "_gradguard")


def copy_sources(folder: Path) -> Path:
    """What the project is built from, without what earlier builds left behind."""
    folder.mkdir()
    for name in _SOURCES:
        if (PROJECT / name).is_dir():
            shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(PROJECT / name, folder / name)
    return folder


def pip(*arguments: str | Path) -> None:
    """Run pip; raises CalledProcessError, having shown what it said."""
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    print(done.stdout, done.stderr)
    done.check_returncode()


@dataclass(frozen=True)
class Environment:
    """A virtual environment, and an empty folder to run its programs in."""

    folder: Path
    work: Path

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Run one of its programs."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        program = str(self.folder / "bin" / command[0])
        return subprocess.run(
            [program, *command[1:]], capture_output=True, text=True, timeout=120, cwd=self.work, env=kept
        )

    def install(self, *arguments: str | Path) -> None:
        """Install into it, and nothing that the arguments do not name."""
        pip("--python", self.folder / "bin" / "python", "install", "--no-deps", *arguments)


def make_environment(folder: Path) -> Environment:
    """An environment that sees the packages installed here, apart from this project's own."""
    home = folder / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)}))
    borrowed = folder / "borrowed"
    borrowed.mkdir()
    for entry in Path(sysconfig.get_path("purelib")).iterdir():
        if not entry.name.startswith(_OURS) and entry.suffix != ".pth":
            (borrowed / entry.name).symlink_to(entry)
    (site / "borrowed.pth").write_text(f"{borrowed}\n")
    work = folder / "work"
    work.mkdir()
    return Environment(home, work)
