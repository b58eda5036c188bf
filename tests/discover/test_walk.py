from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from gradguard.discover.walk import Targets, find_targets
from gradguard.settings.model import Settings

Find = Callable[..., Targets]


@pytest.fixture
def find(tmp_path: Path) -> Find:
    def run(*paths: str, **values: object) -> Targets:
        settings = Settings(str(tmp_path), **values)  # type: ignore[arg-type]
        return find_targets(paths or (".",), lambda folder: settings, str(tmp_path))

    return run


def grow(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def names(targets: Targets) -> list[str]:
    return [target.filename for target in targets.files]


def test_folders_are_walked_for_known_suffixes_in_a_steady_order(tmp_path: Path, find: Find) -> None:
    grow(tmp_path, "b.py", "a/z.pyi", "a/n.ipynb", "a/l.rs", "a/x.txt", "a/py", "c.py/d.py")
    assert names(find()) == ["a/l.rs", "a/n.ipynb", "a/z.pyi", "b.py", "c.py/d.py"]


def test_a_named_file_is_taken_whatever_it_is_called(tmp_path: Path, find: Find) -> None:
    grow(tmp_path, "script", "venv/x.py")
    assert names(find("script", "venv/x.py")) == ["script", "venv/x.py"]


def test_a_file_named_twice_is_checked_once(tmp_path: Path, find: Find) -> None:
    grow(tmp_path, "a/x.py")
    assert names(find(".", "a", "a/x.py", str(tmp_path / "a"), "a/../a/x.py")) == ["a/x.py"]


def test_names_outside_of_the_working_folder(tmp_path: Path) -> None:
    grow(tmp_path, "here/x.py", "there/y.py")
    settings = Settings(str(tmp_path))
    found = find_targets(
        ["../there", str(tmp_path / "there" / "y.py")], lambda _: settings, str(tmp_path / "here")
    )
    assert names(found) == ["../there/y.py"]
    found = find_targets([str(tmp_path)], lambda _: settings, str(tmp_path / "here"))
    assert names(found) == ["x.py", str(tmp_path / "there" / "y.py")]


def test_a_missing_path_is_told(find: Find) -> None:
    found = find("nope.py", "nope/*.py", "a\0b")
    assert [(failure.filename, bool(failure.reason)) for failure in found.failures] == [
        ("nope.py", True),
        ("nope/*.py", True),
        ("a\0b", True),
    ]


def test_usual_folders_are_left_out_unless_they_are_named(tmp_path: Path, find: Find) -> None:
    grow(tmp_path, "x.py", "venv/lib/site-packages/p/m.py", "node_modules/a.py", ".git/hook.py", "build/b.py")
    assert names(find()) == ["x.py"]
    assert names(find("venv/lib/site-packages")) == ["venv/lib/site-packages/p/m.py"]
    assert names(find("build")) == ["build/b.py"]
    assert "build/b.py" in names(find(exclude=("venv",)))


def test_exclude_patterns(tmp_path: Path, find: Find) -> None:
    grow(tmp_path, "x.py", "x_test.py", "docs/conf.py", "src/docs/a.py", "src/gen/a.py", "src/gen/deep/b.py")
    everything = names(find(exclude=()))
    assert len(everything) == 6

    def without(*patterns: str) -> set[str]:
        return set(everything) - set(names(find(extend_exclude=patterns)))

    assert without("docs") == {"docs/conf.py", "src/docs/a.py"}
    assert without("./docs/") == {"docs/conf.py", "src/docs/a.py"}
    assert without("src/docs") == {"src/docs/a.py"}
    assert without("*_test.py") == {"x_test.py"}
    assert without("src/*/a.py") == {"src/docs/a.py", "src/gen/a.py"}
    assert without("src/**/*.py") == {"src/docs/a.py", "src/gen/a.py", "src/gen/deep/b.py"}
    assert without("**/gen") == {"src/gen/a.py", "src/gen/deep/b.py"}
    assert without("[xy].py") == {"x.py"}
    assert without("[!x]*.py") == {"docs/conf.py", "src/docs/a.py", "src/gen/a.py", "src/gen/deep/b.py"}
    assert without(str(tmp_path / "docs")) == {"docs/conf.py"}
    assert without("[", "a[b", "[z-a].py") == set()


def test_force_exclude_speaks_of_named_paths_and_the_folders_above_them(tmp_path: Path, find: Find) -> None:
    grow(tmp_path, "x.py", "docs/deep/conf.py")
    assert names(find("docs/deep/conf.py", extend_exclude=("docs",))) == ["docs/deep/conf.py"]
    assert names(find("docs/deep/conf.py", "x.py", extend_exclude=("docs",), force_exclude=True)) == ["x.py"]
    assert names(find("docs/deep", extend_exclude=("docs",), force_exclude=True)) == []


def test_globs(tmp_path: Path, find: Find) -> None:
    grow(tmp_path, "a/x.py", "a/y.py", "a/b/z.py", "a/b/read.md", "venv/v.py", "odd[1].py")
    assert names(find("a/*.py")) == ["a/x.py", "a/y.py"]
    assert names(find("**/*.py")) == ["a/b/z.py", "a/x.py", "a/y.py", "odd[1].py"]
    assert names(find("a/*")) == ["a/b/z.py", "a/x.py", "a/y.py"]
    assert names(find("odd[1].py")) == ["odd[1].py"]


def test_links(tmp_path: Path, find: Find) -> None:
    grow(tmp_path, "real/x.py", "other/y.py")
    os.symlink(tmp_path / "real", tmp_path / "real" / "loop")
    os.symlink(tmp_path / "other", tmp_path / "real" / "away")
    os.symlink(tmp_path / "real" / "x.py", tmp_path / "real" / "alias.py")
    os.symlink(tmp_path / "other" / "y.py", tmp_path / "real" / "linked.py")
    os.symlink("self.py", tmp_path / "real" / "self.py")
    os.symlink("gone.py", tmp_path / "real" / "dangling.py")
    found = find("real")
    assert names(found) == ["real/linked.py", "real/x.py"]
    assert [failure.filename for failure in found.failures] == ["real/self.py"]
    assert names(find("real/away")) == ["real/away/y.py"]
    told = find("real/self.py", "real/dangling.py")
    assert [failure.filename for failure in told.failures] == ["real/self.py", "real/dangling.py"]


def test_a_pipe_is_neither_waited_for_nor_passed_over(tmp_path: Path, find: Find) -> None:
    os.mkfifo(tmp_path / "pipe.py")
    assert names(find()) == []
    assert [failure.filename for failure in find("pipe.py").failures] == ["pipe.py"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path, find: Find) -> None:
    grow(tmp_path, "shut/x.py", "y.py")
    (tmp_path / "shut").chmod(0)
    try:
        found = find()
    finally:
        (tmp_path / "shut").chmod(0o700)
    assert names(found) == ["y.py"]
    assert [failure.filename for failure in found.failures] == ["shut"]


def test_a_folder_that_vanishes_is_told(tmp_path: Path, find: Find, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(tmp_path, "a/x.py", "b/y.py")
    scandir = os.scandir

    def broken(path: str) -> object:
        if path.endswith("a"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    monkeypatch.setattr(os, "scandir", broken)
    found = find()
    assert names(found) == ["b/y.py"]
    assert [(failure.filename, failure.reason) for failure in found.failures] == [("a", "permission denied")]
