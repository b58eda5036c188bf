"""No program with a marked fault is sifted out."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradguard.sift.tokens import sift, sift_rust

FIXTURES = Path(__file__).parents[2] / "fixtures"


def named(path: Path) -> str:
    return str(path.relative_to(FIXTURES))


def marked(suffix: str) -> list[Path]:
    found = sorted(FIXTURES.rglob(f"*{suffix}"))
    return [path for path in found if "expect: GRD" in path.read_text(encoding="utf-8")]


def test_there_are_programs() -> None:
    assert len(marked(".py")) > 40
    assert len(marked(".rs")) > 4


@pytest.mark.parametrize("path", marked(".py"), ids=named)
def test_python(path: Path) -> None:
    assert sift(path.read_bytes())


@pytest.mark.parametrize("path", marked(".rs"), ids=named)
def test_rust(path: Path) -> None:
    assert sift_rust(path.read_bytes())


def test_seed() -> None:
    assert sift((FIXTURES / "seed" / "seed.py").read_bytes())
    assert sift_rust((FIXTURES / "seed" / "p13_no_grad_backward.rs").read_bytes())
