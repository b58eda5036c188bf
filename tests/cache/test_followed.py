"""A change in a followed file costs the results that saw it, and no others; none is told that would differ."""

from __future__ import annotations

import inspect
import random
import shutil
from dataclasses import fields
from pathlib import Path

import pytest
from cached_runs import Runs, runs, write_project

from gradguard.infer.reach import Reach

__all__ = ["runs"]

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
LIBRARY = """\
import torch


def quiet():
    return torch.no_grad()


def loss_of(model, x):
    return model(x).mean()


def unrelated(values):
    return sorted(values)


def step(model, x):
    loss_of(model, x).backward()
"""
USER = """\
import torch
from library import loss_of, quiet, step

model = torch.nn.Linear(2, 1)
x = torch.randn(4, 2)
with quiet():
    loss = loss_of(model, x)
loss.backward()
"""


@pytest.fixture
def pair(runs: Runs, tmp_path: Path) -> Runs:
    runs.folder = write_project(tmp_path / "pair", {"library.py": LIBRARY, "user.py": USER})
    assert runs.check().code == 1
    return runs


@pytest.mark.parametrize(
    ("old", "new", "again"),
    [
        (
            "    loss_of(model, x).backward()\n",
            "    loss_of(model, x).backward()\n\n\ndef more(y):\n    return y\n",
            True,
        ),
        ("    return sorted(values)\n", "    return list(sorted(values))\n", True),
        ("    return sorted(values)\n", "    return sorted(values)  # as told\n", False),
        ("    return sorted(values)\n", "    values = sorted(values)\n    return values\n", False),
        ("    loss_of(model, x).backward()\n", "    loss_of(x, model).backward()\n", False),
        ("    return torch.no_grad()\n", "    return (torch.no_grad())\n", True),
        ("    return model(x).mean()\n", "    return model(x).sum()\n", True),
        ("import torch\n", "import torch\n\n", True),
        ("import torch\n", "import torch as t\n", True),
    ],
    ids=[
        "another function",
        "another call",
        "a comment",
        "a row more, behind all that is spoken of",
        "a function that is not called",
        "the guard",
        "the loss",
        "rows that move what is spoken of",
        "an import",
    ],
)
def test_who_is_analysed_again(pair: Runs, old: str, new: str, again: bool) -> None:
    library = pair.folder / "library.py"
    assert old in LIBRARY
    library.write_text(LIBRARY.replace(old, new))
    changed = pair.check()
    assert ("user.py" in pair.analysed) is again
    assert "library.py" in pair.analysed
    assert changed == pair.fresh()
    assert (pair.check(), pair.analysed) == (changed, [])


def test_rows_move_in_a_piece_that_only_the_witness_names(pair: Runs) -> None:
    library = pair.folder / "library.py"
    before = pair.check()
    library.write_text(f"# A remark.\n{LIBRARY}")
    after = pair.check()
    assert after == pair.fresh()
    assert after.out != before.out


def test_what_is_left_holds_for_later_runs_too(pair: Runs) -> None:
    """A result that outlives a change of a followed file is still made again at the next that it sees."""
    library = pair.folder / "library.py"
    library.write_text(LIBRARY.replace("sorted(values)\n", "sorted(values)  # as told\n"))
    pair.check()
    assert pair.analysed == ["library.py"]
    library.write_text(LIBRARY.replace("sorted(values)\n", "sorted(values)  # again\n"))
    pair.check("library.py")
    library.write_text(LIBRARY.replace("torch.no_grad()", "torch.enable_grad()"))
    after = pair.check()
    assert "user.py" in pair.analysed
    assert after == pair.fresh()
    assert after.code == 0


def edited(text: str, chance: random.Random) -> str:
    """The text after an edit as people make them, more or less."""
    lines = text.splitlines(keepends=True)
    if not lines:
        return "x = 1\n"
    at = chance.randrange(len(lines))
    match chance.randrange(7):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[chance.randrange(len(lines))])
        case 2:
            lines[at] = lines[at].replace("no_grad", "enable_grad").replace("detach", "clone")
        case 3:
            lines.insert(at, "\n" if chance.random() < 0.5 else "# a remark\n")
        case 4:
            lines[at] = f"{lines[at].rstrip()}  # a remark\n"
        case 5:
            lines.append("\n\ndef added(model, x):\n    model(x).sum().backward()\n")
        case _:
            other = chance.randrange(len(lines))
            lines[at], lines[other] = lines[other], lines[at]
    return "".join(lines)


@pytest.mark.parametrize("seed", range(3))
def test_edits_at_random(runs: Runs, tmp_path: Path, seed: int) -> None:
    write_project(runs.folder, {"library.py": LIBRARY, "user.py": USER})
    shutil.copytree(FIXTURES / "seed", runs.folder / "seed")
    shutil.copyfile(FIXTURES / "kinds/cut_in_shared_helper.py", runs.folder / "helper.py")
    chance = random.Random(seed)
    runs.check()
    saved = 0
    for _ in range(25):
        files = sorted(path for path in runs.folder.rglob("*.py") if path.stat().st_size)
        path = chance.choice(files)
        path.write_text(edited(path.read_text(), chance))
        asked = (".",) if chance.random() < 0.7 else (str(chance.choice(files).relative_to(runs.folder)),)
        answer = runs.check(*asked)
        saved += len(runs.analysed)
        assert answer == runs.fresh(*asked), path
    assert saved < 25 * len(list(runs.folder.rglob("*.py"))) // 2


def test_all_that_reach_takes_from_texts_is_told() -> None:
    """`gradguard.work.facets` tells by name what `Reach` keeps of texts: what is added there belongs in both."""
    assert {field.name for field in fields(Reach)} == {
        *("imports", "read", "names", "origins"),
        *("own", "held", "statements"),
        *("within", "shaping", "guarding", "glanced"),
    }
    assert inspect.getsource(Reach).count("self.read(") == 5


def test_a_followed_file_that_changes_between_two_looks(pair: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two results of one run saw it differently: neither is told from the cache."""
    from gradguard.work.analysis import Analysis

    library = pair.folder / "library.py"
    write_project(pair.folder, {"another.py": USER, "user.py": USER + "\n"})
    of = Analysis.of

    def changing(self: Analysis, source: object) -> object:
        result = of(self, source)  # type: ignore[arg-type]
        library.write_text(LIBRARY.replace("no_grad", "enable_grad"))
        # As another process would, whose first look this is.
        self._start_anew()
        return result

    monkeypatch.setattr(Analysis, "of", changing)
    pair.check("another.py", "user.py")
    monkeypatch.setattr(Analysis, "of", of)
    for text in (None, LIBRARY, LIBRARY.replace("no_grad", "enable_grad")):
        if text is not None:
            library.write_text(text)
        assert pair.check("another.py", "user.py") == pair.fresh("another.py", "user.py")
