"""The founding case, as Python and as Rust: what is found in it, and what torch does with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from page_programs import read_marks

SEED = Path(__file__).resolve().parents[2] / "fixtures" / "seed"
PROGRAMS = ("seed.py", "seed_mended.py", "p13_no_grad_backward.rs", "p13_no_grad_backward_mended.rs")


@pytest.mark.parametrize("name", PROGRAMS)
def test_linter_finds_what_is_marked(name: str) -> None:
    import gradguard

    text = (SEED / name).read_text(encoding="utf-8")
    expected = read_marks(text, "expect")
    assert bool(expected) == ("mended" not in name)
    findings = gradguard.check_text(text, filename=name, preview=True, isolated=True)
    assert sorted((finding.span.start.row, finding.code) for finding in findings) == sorted(expected)


@pytest.mark.torch
@pytest.mark.parametrize(
    ("name", "status", "told"),
    [
        (
            "seed.py",
            1,
            "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
        ),
        ("seed_mended.py", 0, "x.grad = [2.0, 4.0, 6.0]"),
    ],
)
def test_seed_on_torch(name: str, status: int, told: str) -> None:
    pytest.importorskip("torch")
    done = subprocess.run([sys.executable, str(SEED / name)], capture_output=True, text=True, timeout=120)
    assert done.returncode == status
    assert told in (done.stderr if status else done.stdout)
