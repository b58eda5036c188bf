"""Another process may read some of the files first; what comes out is the same."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest

from gradguard.cli import opening, run
from gradguard.discover.walk import Target
from gradguard.run import suspects
from gradguard.settings.model import Settings
from gradguard.work import skim as skimming
from gradguard.work.skim import AT_ONCE, Asked, Skim, skim

SUSPECT = "import torch\nwith torch.no_grad():\n    y = torch.ones(3).sum()\ny.backward()\n"


def written(folder: Path, number: int) -> list[tuple[Target, Settings]]:
    settings = Settings(str(folder))
    files = []
    for index in range(number):
        path = folder / f"m{index:03}.py"
        path.write_text(SUSPECT if index % 3 == 0 else "x = 1\n")
        files.append((Target(str(path), path.name), settings))
    return files


def until(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not holds() and time.monotonic() < end:
        time.sleep(0.01)
    return holds()


def test_it_tells_which_files_hold_nothing(tmp_path: Path) -> None:
    files = written(tmp_path, 2 * AT_ONCE + 1)
    numbered = tuple((target, 0) for target, _ in files)
    answers = BytesIO()
    skim(BytesIO(pickle.dumps(Asked(numbered, (files[0][1],), suspects))), answers)
    answers.seek(0)
    told = [pickle.load(answers) for _ in range(3)]
    assert [len(some) for some in told] == [AT_ONCE, AT_ONCE, 1]
    clean = {path for some in told for path, is_clean in some.items() if is_clean}
    assert clean == {target.path for index, (target, _) in enumerate(files) if index % 3}


def test_the_last_files_are_told_of_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skimming, "processors", lambda: 2)
    files = written(tmp_path, AT_ONCE + 5)
    elsewhere = Skim(files, suspects)
    assert until(lambda: len(elsewhere.told) == len(files))
    assert next(iter(elsewhere.told)) == files[-1][0].path
    elsewhere.end()


def test_what_cannot_be_asked_tells_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skimming, "processors", lambda: 2)
    elsewhere = Skim(written(tmp_path, 3), lambda settings: lambda data, language: True)
    elsewhere.end()
    assert elsewhere.told == {}


@pytest.mark.parametrize("is_told", [False, True])
def test_a_run_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], is_told: bool
) -> None:
    files = written(tmp_path, 30)
    (tmp_path / "broken.py").write_bytes(b"# torch.no_grad \xff\xfe\xfa\n")
    arguments = ["check", "--isolated", "--no-cache", "--output-format", "json", str(tmp_path)]
    expected = run(arguments), capsys.readouterr()

    class Told(Skim):
        def __init__(self, *given: object) -> None:
            self.told = {target.path: bool(i % 3) for i, (target, _) in enumerate(files) if is_told}
            self._process = None

    monkeypatch.setattr(opening, "MANY", 1)
    monkeypatch.setattr(skimming, "Skim", Told)
    assert (run(arguments), capsys.readouterr()) == expected
    assert expected[1].out.count('"GRD101"') == 10
