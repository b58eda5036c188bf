from __future__ import annotations

import pytest

from gradguard.settings.patterns import PathPatterns


def within(pattern: str, path: str, root: str = "/project") -> bool:
    return PathPatterns((pattern,), root).match_within(path)


@pytest.mark.parametrize(
    ("pattern", "path", "meant"),
    [
        ("tests", "/project/tests/a.py", True),
        ("tests", "/project/src/tests/deep/a.py", True),
        ("tests/*", "/project/tests/deep/a.py", True),
        ("tests/*", "/project/src/tests/a.py", False),
        ("tests/*.py", "/project/tests/deep/a.py", False),
        ("tests/**/*.py", "/project/tests/deep/a.py", True),
        ("tests/**/*.py", "/project/tests/a.py", True),
        ("**/a.py", "/project/b/a.py", True),
        ("a.py", "/project/b/a.py", True),
        ("a.p?", "/project/b/a.py", True),
        ("*.py", "/project/b.pyi", False),
        ("project", "/project/a.py", False),
        ("/elsewhere/*", "/elsewhere/a.py", True),
        ("/elsewhere/*", "/project/a.py", False),
        ("a+b.(py)", "/project/a+b.(py)", True),
    ],
)
def test_patterns(pattern: str, path: str, meant: bool) -> None:
    assert within(pattern, path) is meant


def test_an_entry_is_judged_without_the_folders_above_it() -> None:
    patterns = PathPatterns(("venv", "src/gen"), "/project")
    assert patterns.match_entry("/project/venv")
    assert patterns.match_entry("/project/src/gen")
    assert not patterns.match_entry("/project/venv/a.py")


def test_letters_of_the_root_are_no_pattern() -> None:
    assert within("a/*", "/pro[j]*/a/b.py", root="/pro[j]*")
    assert not within("a/*", "/proj/a/b.py", root="/pro[j]*")
