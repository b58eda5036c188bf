"""Guards of files: notebooks, what cannot be read, and what is far too deep."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
from guard_listing import rows

from gradguard.cli import run
from gradguard.findings import Position
from gradguard.pipeline import inventory
from gradguard.source import Cell, Source

SETTINGS = SimpleNamespace(frameworks={})


def test_a_notebook_tells_cells_and_their_rows() -> None:
    text = "import torch\nwith torch.no_grad():\n    a = f(x)\ntorch.set_grad_enabled(False)\nb = f(x)\n"
    source = Source("n.ipynb", "", text, cells=(Cell(1, 1, 1), Cell(3, 2, 3), Cell(4, 5, 1)))
    (block, call), failures = inventory([source], SETTINGS)
    assert failures == ()
    assert (block.span.cell, block.span.start, block.ends) == (3, Position(1, 6), Position(2, 13))
    assert [(span.cell, span.start.row, text) for _, span, text in block.covers] == [
        (3, 2, "a"),
        (3, 2, "f(x)"),
    ]
    assert (call.span.cell, call.ends) == (3, None)
    assert [(span.cell, span.start.row) for _, span, _ in call.covers] == [(4, 1), (4, 1)]


def test_an_end_in_another_cell_is_not_told() -> None:
    text = "import torch\ntorch.set_grad_enabled(False)\nb = f(x)\ntorch.set_grad_enabled(True)\n"
    source = Source("n.ipynb", "", text, cells=(Cell(1, 1, 2), Cell(2, 3, 2)))
    ((call,), _) = inventory([source], SETTINGS)
    assert call.ends is None
    assert [text for _, _, text in call.covers] == ["b", "f(x)"]


def test_what_cannot_be_parsed_is_named_and_the_rest_is_told() -> None:
    good = Source("good.py", "", "import torch\nwith torch.no_grad():\n    pass\n")
    bad = Source("bad.py", "", "with no_grad(:\n")
    deep = Source("deep.py", "", f"{good.text}x = {'-' * 600}1\n")
    found, failures = inventory([bad, good, deep], SETTINGS)
    assert [one.span.filename for one in found] == ["good.py", "deep.py"]
    assert [one.filename for one in failures] == ["bad.py", "deep.py"]


def test_long_rows_of_branches_and_chains_are_no_harm() -> None:
    branches = "".join(f"elif x == {n}:\n    y = {n}\n" for n in range(250))
    chain = "x" + ".a()" * 60
    text = f"import torch\nif x:\n    pass\n{branches}else:\n    with torch.no_grad():\n        y = {chain}\n"
    assert rows(text) == ["505-506 with torch.no_grad"]


@pytest.mark.parametrize("form", ["table", "json"])
def test_the_command(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text("from torch import no_grad as ng\nwith ng():\n    loss = f(x)\n")
    (tmp_path / "b.py").write_text("x = 1\n")
    assert run(["guards", "--output-format", form]) == 0
    out = capsys.readouterr().out
    if form == "json":
        (record,) = json.loads(out)
        assert (record["guard"], record["location"]["row"], record["ends"]["row"]) == ("torch.no_grad", 2, 3)
    else:
        assert "  2-3    torch.no_grad  with  (module)  values loss; calls f(x)\n" in out


def test_a_missing_or_broken_file_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.py").write_text("with no_grad(:\n")
    assert run(["guards", "broken.py", "gone.py"]) == 2
    told = capsys.readouterr()
    assert "gone.py" in told.err and "broken.py" in told.err
