"""The program as a process: entry points, help, pipes, signals, and what it imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_programs import CLEAN, UNTRACKED
from conftest import Command

import gradguard as package

MODULE = [sys.executable, "-m", "gradguard"]


def process(folder: Path, *arguments: str, **more: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*MODULE, *arguments], cwd=folder, capture_output=True, text=True, **more)  # type: ignore[call-overload,no-any-return]


def test_as_a_module(folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    result = process(folder, "check", "a.py")
    assert result.returncode == 1
    assert result.stdout.startswith("a.py:7:1: GRD101")
    assert process(folder, "check", "b.py").returncode == 2
    (folder / "a.py").write_text(CLEAN)
    assert process(folder, "check").returncode == 0


def test_version(gradguard: Command) -> None:
    assert gradguard("--version").out == f"gradguard {package.__version__}\n"


def test_help_names_the_commands(gradguard: Command) -> None:
    result = gradguard("--help")
    assert result.code == 0
    assert {"check", "guards", "rule"} <= set(result.out.split())
    assert "--min-confidence" in gradguard("check", "-h").out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["chekc"], "did you mean `check`?"),
        (["a.py"], "did you mean `gradguard check a.py`?"),
        (["--nope"], "--nope"),
    ],
)
def test_a_wrong_command_is_told(gradguard: Command, folder: Path, arguments: list[str], said: str) -> None:
    (folder / "a.py").write_text("")
    result = gradguard(*arguments)
    assert result.code == 2
    assert said in result.err


def test_a_fault_of_our_own_is_not_taken_for_findings(
    gradguard: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise RuntimeError("the reason")

    (folder / "a.py").write_text(UNTRACKED)
    monkeypatch.setattr("gradguard.work.spread.analyse_all", fail)
    result = gradguard("check")
    assert result.code == 2
    assert "the reason" in result.err
    assert "please report" in result.err


def imported(folder: Path, *arguments: str) -> set[str]:
    code = "import sys; from gradguard.cli import run; run(sys.argv[1:]); print(*sorted(sys.modules), file=sys.stderr)"
    result = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    return set(result.stderr.splitlines()[-1].split())


HEAVY = {"libcst", "rich", "numpy", "pathspec", "tree_sitter", "json.decoder", "gradguard.pipeline"}


def test_a_file_without_suspects_costs_no_heavy_import(folder: Path) -> None:
    (folder / "a.py").write_text("x = 1\n")
    assert imported(folder, "check", "a.py") & (HEAVY - {"json.decoder"}) == set()
    (folder / ".gitignore").write_text("*.txt\n")
    assert "pathspec" in imported(folder, "check")


def test_a_file_with_suspects_is_not_drawn_on_a_terminal_that_is_none(folder: Path) -> None:
    (folder / "a.py").write_text(UNTRACKED)
    assert "rich" not in imported(folder, "check", "a.py")


def test_a_reader_that_leaves(folder: Path) -> None:
    for number in range(300):
        (folder / f"a{number}.py").write_text(UNTRACKED)
    with subprocess.Popen(
        [*MODULE, "check", "--output-format", "json"],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        running.stdout.read(10)
        running.stdout.close()
        told = running.stderr.read().decode()
    assert "Traceback" not in told
    assert "BrokenPipe" not in told
    assert running.returncode == 1


@pytest.mark.skipif(sys.platform == "win32", reason="no such signal")
def test_an_interrupt_ends_the_run_without_a_word(folder: Path) -> None:
    with subprocess.Popen(
        [*MODULE, "check", "-"],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        time.sleep(1)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=20)
    assert running.returncode == 130
    assert told.strip() == b""


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
def test_on_a_terminal_there_are_frames_colours_and_a_bar(folder: Path) -> None:
    import pty

    for number in range(60):
        (folder / f"a{number}.py").write_text(UNTRACKED)
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    with subprocess.Popen(
        [*MODULE, "check"], cwd=folder, stdout=follower, stderr=follower, env=environment
    ) as running:
        os.close(follower)
        seen = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
    os.close(leader)
    text = seen.decode()
    assert running.returncode == 1
    assert "error[GRD101]" in text
    assert "\x1b[" in text
    assert "checking" in text
    assert "60" in text


def test_guards(gradguard: Command, folder: Path) -> None:
    (folder / "a.py").write_text(CLEAN)
    (folder / "b.py").write_text("x = 1\n")
    table = gradguard("guards")
    assert table.code == 0
    assert "a.py" in table.out
    assert "no_grad" in table.out
    assert "b.py" not in table.out
    (entry,) = json.loads(gradguard("guards", "--output-format", "json").out)
    assert entry["guard"] == "torch.no_grad"
    assert gradguard("guards", "--extend-exclude", "a.py", "--output-format", "json").out.strip() == "[]"
    gradguard("guards", "-o", "guards.txt")
    assert (folder / "guards.txt").read_text() == table.out


def test_guards_tells_what_it_could_not_read(gradguard: Command, folder: Path) -> None:
    (folder / "bad.py").write_bytes(b"no_grad()\xff")
    result = gradguard("guards", ".", "gone.py")
    assert result.code == 2
    assert "`bad.py`" in result.err
    assert "`gone.py`" in result.err


def test_rule(gradguard: Command) -> None:
    text = gradguard("rule", "GRD101").out
    assert "backward-untracked" in text
    assert gradguard("rule", "backward-untracked").out == text
    assert gradguard("rule", "grd101").out == text
    assert json.loads(gradguard("rule", "GRD101", "--output-format", "json").out)["code"] == "GRD101"
    assert gradguard("rule", "GRD101", "--output-format", "markdown").out.startswith("# ")


def test_all_rules(gradguard: Command) -> None:
    index = gradguard("rule").out.splitlines()
    codes = {line.split()[0] for line in index if line.startswith("GRD")}
    assert {"GRD000", "GRD101", "GRD201"} <= codes
    pages = json.loads(gradguard("rule", "--all", "--output-format", "json").out)
    assert {page["code"] for page in pages} == codes
    assert len(gradguard("rule", "--all").out) > len("\n".join(index))


def test_a_wrong_rule_is_told(gradguard: Command) -> None:
    result = gradguard("rule", "GDR101")
    assert result.code == 2
    assert "no rule `GDR101`; did you mean `GRD101`?" in result.err
    assert gradguard("rule", "GRD101", "--all").code == 2
