"""The cache folder: who may write into it, how large it grows, and how it is removed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cached_runs import Answer, Runs, call, runs, write_project

from gradguard.cache import folder as cache_folder

__all__ = ["runs"]

COMMAND = (sys.executable, "-m", "gradguard")


def name(number: int) -> str:
    return f"{number:024x}.runs"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def clean(runs: Runs, *arguments: str) -> Answer:
    return call(runs.folder, "clean", *arguments)


def age(path: Path, seconds: int) -> None:
    os.utime(path, (1_000_000_000 - seconds,) * 2)


def test_the_oldest_go_when_there_are_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folder, "MOST_FILES", 3)
    for number in range(6):
        cache_folder.write(str(tmp_path / "c"), name(number), b"x")
        age(tmp_path / "c" / name(number), 100 - number)
    assert [one for one in names_in(tmp_path / "c") if ".runs" in one] == [name(3), name(4), name(5)]


def test_the_oldest_go_when_they_are_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache_folder, "MOST_BYTES", 250)
    for number in range(6):
        cache_folder.write(str(tmp_path / "c"), name(number), bytes(100))
        age(tmp_path / "c" / name(number), number)
    # The newest by time are the first; the one just written always stays.
    assert [one for one in names_in(tmp_path / "c") if ".runs" in one] == [name(0), name(1), name(5)]


def test_what_a_killed_run_left_half_written_counts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_folder, "MOST_FILES", 2)
    cache_folder.write(str(tmp_path / "c"), name(1), b"x")
    half = tmp_path / "c" / f"{name(2)}.123.0123abcd"
    half.write_bytes(b"x")
    age(half, 10)
    cache_folder.write(str(tmp_path / "c"), name(3), b"x")
    assert not half.exists()


def test_a_manifest_that_grows_too_large_keeps_what_the_run_used(
    runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs.check()
    [manifest] = runs.manifests
    (runs.folder / "lone.py").write_text("import torch\n\nwith torch.no_grad():\n    pass\n")
    monkeypatch.setattr("gradguard.cache.memory.MOST_BYTES", manifest.stat().st_size // 2)
    runs.check("lone.py")
    assert manifest.stat().st_size < 20_000
    runs.check("lone.py")
    assert runs.analysed == []
    assert runs.check() == runs.fresh()


def test_the_folder_keeps_out_of_the_way(runs: Runs) -> None:
    runs.check()
    assert (runs.cache / ".gitignore").read_text() == "*\n"
    assert (
        (runs.cache / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    )


def test_another_folder(runs: Runs) -> None:
    good = runs.check("--cache-dir", "../elsewhere/cache")
    assert not runs.cache.exists()
    assert (runs.check("--cache-dir", "../elsewhere/cache"), runs.analysed) == (good, [])
    assert (runs.check("--cache-dir", "../another"), runs.analysed != []) == (good, True)
    assert clean(runs, "--cache-dir", "../elsewhere/cache").code == 0
    assert not (runs.folder / "../elsewhere/cache").exists()


def test_no_cache_leaves_nothing(runs: Runs) -> None:
    runs.check("--no-cache")
    assert not runs.cache.exists()


def test_a_folder_of_others_is_not_written_into(runs: Runs) -> None:
    (runs.folder / "mine").mkdir()
    (runs.folder / "mine/notes.txt").write_text("mine\n")
    expected = runs.fresh()
    answer = runs.check("--cache-dir", "mine")
    assert (answer.code, answer.out) == (expected.code, expected.out)
    assert "is no cache of gradguard's" in answer.err
    assert names_in(runs.folder / "mine") == ["notes.txt"]
    cleaned = clean(runs, "--cache-dir", "mine")
    assert cleaned.code == 2
    assert "is no cache of gradguard's" in cleaned.err
    assert names_in(runs.folder / "mine") == ["notes.txt"]


def test_an_empty_folder_becomes_a_cache(runs: Runs) -> None:
    (runs.folder / "mine").mkdir()
    good = runs.check("--cache-dir", "mine")
    assert (runs.check("--cache-dir", "mine"), runs.analysed) == (good, [])


@pytest.mark.parametrize("place", ["plain.py", "plain.py/cache", "/proc/gradguard/cache", "no\0folder"])
def test_a_place_where_no_folder_can_be_made(runs: Runs, place: str) -> None:
    expected = runs.fresh()
    for _ in range(2):
        answer = runs.check("--cache-dir", place)
        assert (answer.code, answer.out) == (expected.code, expected.out)
    assert (runs.folder / "plain.py").read_text() == "x = 1\n"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_folder_that_may_only_be_read(runs: Runs) -> None:
    good = runs.check()
    runs.cache.chmod(0o555)
    try:
        assert (runs.check(), runs.analysed) == (good, [])
        (runs.folder / "lone.py").write_text("x = 1\n")
        assert runs.check() == runs.fresh()
    finally:
        runs.cache.chmod(0o755)


def test_a_folder_in_which_nothing_can_be_written(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    good = runs.check()
    [manifest] = runs.manifests
    before = manifest.read_bytes()

    def refuse(*arguments: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("gradguard.cache.folder.os.replace", refuse)
    assert (runs.check(), runs.analysed) == (good, [])
    (runs.folder / "lone.py").write_text("x = 1\n")
    assert runs.check() == runs.fresh()
    assert manifest.read_bytes() == before
    assert runs.manifests == [manifest]


def test_clean_says_what_it_removed(runs: Runs) -> None:
    runs.check()
    answer = clean(runs)
    assert answer.code == 0
    assert f"removed `{runs.cache}` (3 files, " in answer.err
    assert not runs.cache.exists()
    again = clean(runs)
    assert (again.code, again.err) == (0, f"no cache at `{runs.cache}`\n")


def test_clean_removes_nothing_but_its_own(runs: Runs) -> None:
    runs.check()
    strangers = ["notes.txt", "my.runs", f"{name(1)}.bak", f"x{name(1)}"]
    for stranger in strangers:
        (runs.cache / stranger).write_text("mine\n")
    (runs.cache / ".gitignore").write_text("*.log\n")
    (runs.cache / name(7)).mkdir()
    answer = clean(runs)
    assert answer.code == 0
    assert "the folder stays" in answer.err
    assert names_in(runs.cache) == sorted([*strangers, ".gitignore", name(7)])


def test_clean_follows_no_link(runs: Runs, tmp_path: Path) -> None:
    runs.check()
    target = tmp_path / "kept"
    target.write_text("mine\n")
    (runs.cache / name(3)).symlink_to(target)
    assert clean(runs).code == 0
    assert target.read_text() == "mine\n"
    assert not runs.cache.exists()


def test_runs_at_the_same_time(tmp_path: Path) -> None:
    folder = write_project(tmp_path / "project")
    alone = call(folder, "check", "--no-cache")
    for _ in range(2):
        running = [
            subprocess.Popen([*COMMAND, "check"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for _ in range(4)
        ]
        for one in running:
            out, err = one.communicate(timeout=120)
            assert (one.returncode, out.decode(), err.decode()) == (alone.code, alone.out, alone.err)
        # The cache is clean, whoever was the last.
        cached = names_in(folder / ".gradguard_cache")
        assert len(cached) == 3
        (folder / "lone.py").write_text((folder / "lone.py").read_text() + "\n")


def test_a_clean_in_the_middle_of_a_run(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradguard.work.analysis import Analysis

    good = runs.check()
    (runs.folder / "lone.py").write_text((runs.folder / "lone.py").read_text() + "\n")
    of = Analysis.of

    def cleaning(self: Analysis, source: object) -> object:
        cache_folder.remove(str(runs.cache))
        return of(self, source)  # type: ignore[arg-type]

    monkeypatch.setattr(Analysis, "of", cleaning)
    assert runs.check() == good
    assert runs.analysed == ["lone.py"]
    assert (runs.check(), runs.analysed) == (good, [])
