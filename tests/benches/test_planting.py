"""What the bench plants: where, what the text becomes, and that it counts what is found."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest
from planting.callers import callers_of
from planting.guards import Rotation, at_site
from planting.plants import apply
from planting.sites import Lines, Site, find_sites
from planting.skips import LOOPS, skipping

TRAINING = dedent(
    """
    import torch


    def train(model, criterion, optimizer, loader):
        for x, y in loader:
            optimizer.zero_grad()
            out = model(x)
            loss = criterion(out, y)
            loss.backward()
            optimizer.step()


    def main(model, criterion, optimizer, loader):
        for _ in range(3):
            train(model, criterion, optimizer, loader)
    """
).lstrip()


def only_site(text: str, rekindling: frozenset[str] = frozenset()) -> Site:
    (site,) = find_sites(ast.parse(text), rekindling)
    return site


def body(*lines: str) -> str:
    return "def f(model, x, y, extra):\n" + "".join(f"    {line}\n" for line in lines)


def test_site_of_a_training_loop() -> None:
    site = only_site(TRAINING)
    assert (site.loss, site.sink, site.making, site.forward) == (
        "loss",
        Lines(9, 9),
        Lines(8, 8),
        Lines(7, 8),
    )


@pytest.mark.parametrize(
    "lines",
    [
        ("loss = extra", "loss.backward()"),
        ("loss = extra.loss", "loss.backward()"),
        ("loss = extra.view(1)", "loss.backward()"),
        ("loss = torch.rand(2, requires_grad=True)", "loss.backward()"),
        ("loss = extra.pop()", "loss.backward()"),
        ("loss = model(x)", "loss.backward()", "loss = model(x)", "loss = extra", "loss.backward()"),
        ("loss = switching(x)", "loss.backward()"),
        ("for loss in model(x):", "    loss.backward()"),
        ("loss = model(x)", "if loss.requires_grad:", "    loss.backward()"),
        ("def same(one):", "    return one", "loss = same(x)", "loss.backward()"),
    ],
)
def test_no_guard_where_the_loss_may_come_from_elsewhere(lines: tuple[str, ...]) -> None:
    last = find_sites(ast.parse(body(*lines)), frozenset({"switching"}))[-1]
    assert last.making is None and last.forward is None


@pytest.mark.parametrize(
    ("lines", "making"),
    [
        (("loss = model(x).loss", "loss.backward()"), Lines(2, 2)),
        (("loss = 0", "for one in x:", "    loss += model(one)", "loss.backward()"), Lines(2, 4)),
        (("loss = model(x) / 2", "loss = loss * extra", "loss.backward()"), Lines(2, 3)),
        (("with extra:", "    loss = model(x)", "(loss / 4).backward()"), Lines(2, 3)),
        (("loss = model(x)", "if y:", "    scaler.scale(loss).backward()"), Lines(2, 2)),
        (("loss = model(x)", "self.accelerator.backward(loss)"), Lines(2, 2)),
    ],
)
def test_the_guard_covers_all_that_is_bound_to_the_loss(lines: tuple[str, ...], making: Lines) -> None:
    assert only_site(body(*lines)).making == making


def test_output_attributes_need_the_forward() -> None:
    site = only_site(body("out = model(x)", "loss = out.loss", "loss.backward()"))
    assert site.making is None and site.forward == Lines(2, 3)


def planted(kind: str) -> str:
    tree = ast.parse(TRAINING)
    plants = at_site(only_site(TRAINING), TRAINING.splitlines(), Rotation())
    result = apply(TRAINING, tree, next(plant for plant in plants if plant.kind == kind))
    assert result is not None
    return result.text


def test_guard_around_forward_and_loss() -> None:
    assert planted("guard around forward and loss").splitlines()[5:10] == [
        "        optimizer.zero_grad()",
        "        with torch.inference_mode():",
        "            out = model(x)",
        "            loss = criterion(out, y)",
        "        loss.backward()",
    ]


def test_strings_over_several_lines_keep_their_text() -> None:
    text = body('loss = model(x, """a', '  b""")', "loss.backward()")
    site = only_site(text)
    plant = next(at_site(site, text.splitlines(), Rotation()))
    result = apply(text, ast.parse(text), plant)
    assert result is not None
    before, after = (
        [
            node.value
            for node in ast.walk(ast.parse(one))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        for one in (text, result.text)
    )
    assert before == after
    assert result.origin[:4] == (1, 0, 2, 3)


def test_callers_in_the_same_file() -> None:
    tree = ast.parse(TRAINING)
    (caller,) = callers_of(tree, tree.body[1], None)  # type: ignore[arg-type]
    assert caller.lines == Lines(15, 15)


def test_every_form_of_skip_takes_the_place_of_a_step() -> None:
    tree = ast.parse(TRAINING)
    seen = set()
    for first in range(len(LOOPS)):
        (plant,) = skipping(tree, TRAINING.splitlines(), first)
        result = apply(TRAINING, tree, plant)
        assert result is not None
        assert "optimizer.step()" not in result.text and "param_groups" in result.text
        seen.add(plant.kind)
    assert seen == set(LOOPS)


def test_the_bench_counts_finds_and_misses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import recall

    package = tmp_path / "package"
    package.mkdir()
    (package / "train.py").write_text(TRAINING)
    (package / "switching.py").write_text(TRAINING + "\n\ntorch.set_grad_enabled(True)\n")
    assert recall.main(["--source", str(tmp_path), "--misses", "--kind", "guard around loss"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["all", "1", "1", "1", "100.0"] in rows


def test_a_kind_that_nothing_finds_is_a_miss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import recall

    (tmp_path / "train.py").write_text(TRAINING)
    monkeypatch.setattr(recall, "check_text", lambda *_, **__: ())
    recall.main(["--source", str(tmp_path), "--misses", "--kind", "guard around loss"])
    out = capsys.readouterr().out
    assert ["all", "1", "1", "0", "0.0"] in [line.split() for line in out.splitlines()]
    assert "train.py:8: guard around loss" in out
