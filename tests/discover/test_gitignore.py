from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gradguard.discover.walk import find_targets
from gradguard.settings.model import Settings

Tree = Callable[[dict[str, str]], None]


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    def write(files: dict[str, str]) -> None:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def names(folder: Path, *paths: str, **values: object) -> list[str]:
    settings = Settings(str(folder), exclude=(".git",), **values)  # type: ignore[arg-type]
    return [
        target.filename for target in find_targets(paths or (".",), lambda _: settings, str(folder)).files
    ]


REPOSITORY = {
    ".gitignore": "# made\n*.gen.py\n/top.py\nout/\nlogs/*\n!logs/keep.py\ndeep/**/x.py\n\\!odd.py\nbroken[\n",
    "a.gen.py": "",
    "a.py": "",
    "top.py": "",
    "sub/top.py": "",
    "sub/.gitignore": "!b.gen.py\nsecret.py\n",
    "sub/b.gen.py": "",
    "sub/c.gen.py": "",
    "sub/secret.py": "",
    "sub/deeper/secret.py": "",
    "sub/out/x.py": "",
    "out/y.py": "",
    "logs/keep.py": "",
    "logs/drop.py": "",
    "deep/one/two/x.py": "",
    "deep/one/y.py": "",
    "!odd.py": "",
    "excluded.py": "",
    "secret.py": "",
}


def test_the_same_files_as_git(tmp_path: Path, tree: Tree) -> None:
    tree(REPOSITORY)
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / ".git" / "info" / "exclude").write_text("excluded.py\n")
    listed = subprocess.run(
        ["git", "-C", str(tmp_path), "ls-files", "--others", "--exclude-standard", "*.py"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert set(names(tmp_path)) == set(listed.stdout.split())
    assert set(names(tmp_path, respect_gitignore=False)) == {
        name for name in REPOSITORY if name.endswith(".py")
    }


def test_without_a_repository_the_files_still_count(tmp_path: Path, tree: Tree) -> None:
    tree({".gitignore": "x.py\n", "x.py": "", "y.py": "", "sub/x.py": "", "sub/y.py": ""})
    assert names(tmp_path) == ["sub/y.py", "y.py"]
    assert names(tmp_path, "sub") == ["sub/y.py"]


def test_the_rules_of_the_repository_hold_in_its_folders(tmp_path: Path, tree: Tree) -> None:
    tree({"repo/.git/HEAD": "", "repo/.gitignore": "x.py\n", "repo/sub/x.py": "", "repo/sub/y.py": ""})
    assert names(tmp_path / "repo" / "sub") == ["y.py"]


def test_a_repository_inside_does_not_heed_the_one_around(tmp_path: Path, tree: Tree) -> None:
    tree({".git/HEAD": "", ".gitignore": "x.py\n", "x.py": "", "inner/.git/HEAD": "", "inner/x.py": ""})
    assert names(tmp_path) == ["inner/x.py"]


def test_a_named_file_or_folder_is_taken_although_git_ignores_it(tmp_path: Path, tree: Tree) -> None:
    tree({".git/HEAD": "", ".gitignore": "env/\nx.py\n", "env/a/b.py": "", "x.py": ""})
    assert names(tmp_path) == []
    assert names(tmp_path, "x.py") == ["x.py"]
    assert names(tmp_path, "env") == ["env/a/b.py"]
    assert names(tmp_path, "env/a") == ["env/a/b.py"]


def test_a_glob_does_not_name_what_git_ignores(tmp_path: Path, tree: Tree) -> None:
    tree(
        {
            ".git/HEAD": "",
            ".gitignore": "env/\nx.py\n",
            "env/a/b.py": "",
            "x.py": "",
            "y.py": "",
            "z/x.py": "",
        }
    )
    assert names(tmp_path, "**/*.py") == ["y.py"]
    assert names(tmp_path, "**/*.py", respect_gitignore=False) == ["env/a/b.py", "x.py", "y.py", "z/x.py"]
