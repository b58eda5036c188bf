"""What the sift lets through of a large library, most of which can hold no finding."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from gradguard.sift.tokens import sift

TORCH = importlib.util.find_spec("torch")


@pytest.mark.torch
@pytest.mark.skipif(TORCH is None, reason="torch is not installed")
def test_few_files_of_torch_pass() -> None:
    assert TORCH is not None
    assert TORCH.origin is not None
    files = sorted(Path(TORCH.origin).parent.rglob("*.py"))
    passed = [path for path in files if sift(path.read_bytes())]
    assert 0.05 < len(passed) / len(files) < 0.15
