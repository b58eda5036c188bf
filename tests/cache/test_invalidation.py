"""A result is told from the cache as long as an analysis would give the same, and no longer."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from cached_runs import Runs, runs, write_project

__all__ = ["runs"]

FOLLOWING = ["again.py", "train.py"]
"""The files that follow others of the package's, other than `cutting.py`."""


def test_nothing_is_analysed_where_nothing_has_changed(runs: Runs) -> None:
    first = runs.check()
    assert "train.py" in runs.analysed
    assert runs.check() == first
    assert runs.analysed == []


def test_nor_where_files_were_only_touched(runs: Runs) -> None:
    first = runs.check()
    for path in runs.folder.rglob("*.py"):
        path.write_bytes(path.read_bytes())
    assert runs.check() == first
    assert runs.analysed == []


def rewrite(name: str, old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = (folder / name).read_text()
        assert old in text
        (folder / name).write_text(text.replace(old, new))

    return change


def add(name: str, text: str) -> Callable[[Path], None]:
    return lambda folder: void(write_project(folder, {name: text}))


def void(_: object) -> None:
    return None


def keep_times(folder: Path) -> None:
    """The same size and the same time of change, other bytes."""
    path = folder / "pkg/guards.py"
    status = path.stat()
    path.write_text(path.read_text().replace("no_grad", "no_gard"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert (path.stat().st_mtime_ns, path.stat().st_size) == (status.st_mtime_ns, status.st_size)


STEP = "def step(model, x):\n    return model(x).mean()\n"

CHANGES: dict[str, tuple[Callable[[Path], None], list[str]]] = {
    "the file itself": (rewrite("lone.py", "torch.no_grad", "torch.enable_grad"), ["lone.py"]),
    "a file that others follow": (rewrite("pkg/guards.py", "no_grad", "enable_grad"), FOLLOWING),
    "a file without suspects that others follow": (rewrite("pkg/losses.py", ":\n", ":\n\n"), FOLLOWING),
    "a package that shadows a module": (add("pkg/steps/__init__.py", STEP), FOLLOWING),
    "a followed file deleted": (lambda folder: (folder / "pkg/steps.py").unlink(), FOLLOWING),
    "a followed file moved": (
        lambda folder: void((folder / "pkg/steps.py").rename(folder / "steps.py")),
        FOLLOWING,
    ),
    "a followed folder deleted": (lambda folder: shutil.rmtree(folder / "pkg"), FOLLOWING),
    "a followed file that cannot be parsed": (rewrite("pkg/steps.py", "def step", "def (step"), FOLLOWING),
    "a file deleted": (lambda folder: (folder / "lone.py").unlink(), []),
    "a file renamed": (lambda folder: void((folder / "lone.py").rename(folder / "alone.py")), ["alone.py"]),
    "a file copied": (
        lambda folder: void(shutil.copy(folder / "lone.py", folder / "zlone.py")),
        ["zlone.py"],
    ),
    "a comment that silences": (
        rewrite("lone.py", "loss.backward()", "loss.backward()  # noqa"),
        ["lone.py"],
    ),
    "a file swapped, times kept": (keep_times, FOLLOWING),
    "a folder in place of a file": (
        lambda folder: ((folder / "lone.py").unlink(), (folder / "lone.py").mkdir(), None)[-1],
        [],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_has_changed_is_analysed_again(runs: Runs, name: str) -> None:
    change, expected = CHANGES[name]
    before = runs.check()
    change(runs.folder)
    after = runs.check()
    assert set(expected) <= set(runs.analysed)
    assert "silenced.py" not in runs.analysed
    assert after == runs.fresh()
    assert after.out != before.out
    assert runs.check() == after
    assert runs.analysed == []


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_taken_back(runs: Runs, name: str, tmp_path: Path) -> None:
    before = runs.check()
    shutil.copytree(runs.folder, tmp_path / "kept", ignore=shutil.ignore_patterns(".gradguard_cache"))
    CHANGES[name][0](runs.folder)
    runs.check()
    for path in [path for path in runs.folder.iterdir() if path.name != ".gradguard_cache"]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(tmp_path / "kept", runs.folder, dirs_exist_ok=True)
    assert runs.check() == before


def test_a_change_in_the_tick_of_the_clock_in_which_the_file_was_read(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a clock so coarse that the time of the file does not tell."""
    runs.set_clock(0)
    for module in ("gradguard.discover.disk", "gradguard.cache.validity"):
        monkeypatch.setattr(f"{module}.time_of", lambda status: status.st_ctime_ns // 10**12 * 10**12)
    started = (runs.folder / "pkg/guards.py").stat().st_ctime_ns // 10**12 * 10**12
    monkeypatch.setattr("gradguard.cache.memory.time_ns", lambda: started)
    before = runs.check()
    keep_times(runs.folder)
    after = runs.check()
    assert set(FOLLOWING) <= set(runs.analysed)
    assert after == runs.fresh() != before


def test_a_file_that_changes_while_it_is_analysed(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradguard.work.analysis import Analysis

    of = Analysis.of

    def changing(self: Analysis, source: object) -> object:
        result = of(self, source)  # type: ignore[arg-type]
        keep_times(runs.folder) if "no_grad" in (runs.folder / "pkg/guards.py").read_text() else None
        return result

    monkeypatch.setattr(Analysis, "of", changing)
    runs.check()
    monkeypatch.setattr(Analysis, "of", of)
    assert runs.check() == runs.fresh()


FILTERS = {
    "ignore": 'ignore = ["GRD101"]\n',
    "select": 'select = ["GRD102"]\n',
    "min-confidence": 'min-confidence = "certain"\nselect = ["GRD102"]\n',
    "per-file-ignores": '[per-file-ignores]\n"train.py" = ["GRD1"]\n',
}


def test_a_configuration_that_the_analysis_depends_on(runs: Runs) -> None:
    runs.check()
    everything = runs.analysed
    for text in ("replay = false\n", 'profiles = ["tenferro"]\n', "show-refuted = true\n"):
        (runs.folder / "gradguard.toml").write_text(text)
        after = runs.check()
        assert runs.analysed == everything
        assert after == runs.fresh()
        assert (runs.check(), runs.analysed) == (after, [])


@pytest.mark.parametrize("text", FILTERS.values(), ids=FILTERS)
def test_a_configuration_that_decides_what_is_shown(runs: Runs, text: str) -> None:
    (runs.folder / "gradguard.toml").write_text("")
    before = runs.check()
    (runs.folder / "gradguard.toml").write_text(text)
    after = runs.check()
    assert runs.analysed == []
    assert after == runs.fresh()
    assert after.out != before.out


def test_another_version(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    first = runs.check()
    everything = runs.analysed
    monkeypatch.setattr("gradguard.__version__", "99.0")
    assert runs.check() == first
    assert runs.analysed == everything
    assert len(runs.manifests) == 2


def test_the_program_is_told_by_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradguard.cache.identity import program_key

    own = write_project(tmp_path, {"a.py": "x = 1\n", "inner/facts.toml": "", "notes.txt": ""})
    monkeypatch.setattr("gradguard.__path__", [str(own)])
    keys = [program_key()]
    for name, text in (("a.py", "x = 2\n"), ("inner/facts.toml", "[x]\n"), ("inner/b.py", "")):
        write_project(own, {name: text})
        keys.append(program_key())
    assert len(set(keys)) == 4
    write_project(own, {"notes.txt": "not ours\n"})
    assert program_key() == keys[-1]


def test_another_version_of_a_package_below(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradguard.cache import identity

    before = identity.program_key()
    monkeypatch.setattr(identity, "_BASES", ())
    assert identity.program_key() != before
    monkeypatch.syspath_prepend(str(write_project(tmp_path, {"below_of_test/__init__.py": ""})))
    monkeypatch.setattr(identity, "_BASES", ("below_of_test",))
    installed = identity.program_key()
    write_project(tmp_path, {"below_of_test/__init__.py": "__version__ = '2'\n"})
    assert identity.program_key() != installed


def test_parts_of_the_tree_and_all_of_it(runs: Runs) -> None:
    for paths in (["."], ["train.py"], ["pkg"], ["train.py", "pkg"], ["again.py", "pkg/losses.py"], ["."]):
        assert runs.check(*paths) == runs.fresh(*paths), paths
    assert (runs.check("."), runs.analysed) == (runs.fresh("."), [])


def test_names_under_which_files_are_shown(runs: Runs) -> None:
    (runs.folder / "elsewhere").mkdir()
    told = {runs.check(*paths, within="elsewhere").out for paths in NAMINGS}
    assert len(told) == len(NAMINGS)
    for paths in (*NAMINGS, *NAMINGS[::-1]):
        again = runs.check(*paths, within="elsewhere")
        assert again == runs.fresh(*paths, within="elsewhere"), paths


NAMINGS = [["../train.py"], ["../train.py", "../pkg"], ["../train.py", "../pkg/losses.py"]]


def test_folders_with_settings_of_their_own_share_what_they_follow(tmp_path: Path, runs: Runs) -> None:
    shared = {"common.py": "import torch\n\n\ndef quiet():\n    return torch.no_grad()\n"}
    user = "import torch\nfrom common import quiet\n\nm = torch.nn.Linear(2, 1)\nwith quiet():\n"
    user += "    loss = m(torch.ones(4, 2)).sum()\nloss.backward()\n"
    one, two = {"one/gradguard.toml": "replay = true\n"}, {"two/gradguard.toml": "replay = false\n"}
    runs.folder = write_project(
        tmp_path / "two", {**shared, **one, **two, "one/a.py": user, "two/b.py": user}
    )
    before = runs.check()
    assert {"one/a.py", "two/b.py"} <= set(runs.analysed)
    assert (runs.check(), runs.analysed) == (before, [])
    rewrite("common.py", "no_grad", "enable_grad")(runs.folder)
    after = runs.check()
    assert {"one/a.py", "two/b.py"} <= set(runs.analysed)
    assert after == runs.fresh() != before


def test_a_file_that_failed_is_tried_again(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradguard.work.analysis import Analysis

    runs.check()
    rewrite("lone.py", "Linear(2, 1)", "Linear(2, 5)")(runs.folder)
    findings = Analysis._findings

    def failing(self: Analysis, source: object) -> object:
        raise RuntimeError("the reason")

    monkeypatch.setattr(Analysis, "_findings", failing)
    broken = runs.check()
    assert (broken.code, runs.analysed) == (2, ["lone.py"])
    assert "the reason" in broken.err
    monkeypatch.setattr(Analysis, "_findings", findings)
    assert runs.check() == runs.fresh()


def test_a_file_that_was_only_searched(tmp_path: Path, runs: Runs) -> None:
    """An imported file that is not followed is asked whether it switches gradients off."""
    user = "import torch\nimport lib\n\nm = torch.nn.Linear(2, 1)\nm(torch.ones(4, 2)).sum().backward()\n"
    runs.folder = write_project(tmp_path / "searched", {"user.py": user, "lib/__init__.py": "x = 1\n"})
    before = runs.check()
    for text in ("import torch\n\ntorch.set_grad_enabled(False)\n", "x = 2\n"):
        write_project(runs.folder, {"lib/__init__.py": text})
        after = runs.check()
        assert "user.py" in runs.analysed
        assert after == runs.fresh()
        assert after.out != before.out
        before = after


def test_what_is_sent_lies_in_no_cache(runs: Runs) -> None:
    import io
    import sys

    runs.check()
    sent = io.TextIOWrapper(io.BytesIO(b"x = 1\n"))
    before, sys.stdin = sys.stdin, sent
    try:
        answer = runs.check("-", "train.py", "--stdin-filename", "pkg/steps.py")
    finally:
        sys.stdin = before
    assert "train.py" in runs.analysed
    assert answer.code == 1
