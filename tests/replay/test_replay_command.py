"""`gradguard replay`, and what `gradguard check` tells of replays."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gradguard.cli import run

SEED = Path(__file__).resolve().parents[2] / "fixtures" / "seed"
REFUTABLE = "import torch\nw = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()\n"
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def gradguard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """The command line in an empty folder: exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def lines_with(text: str, part: str) -> list[str]:
    return [line for line in text.splitlines() if part in line]


def test_the_seed_raises_under_torch(gradguard: Command) -> None:
    code, out, _ = gradguard("replay", str(SEED / "seed.py"), "--profile", "torch")
    message = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"
    assert code == 0
    assert any("14.0, requires_grad false" in line for line in lines_with(out, "loss = (x * x).sum()"))
    assert message in lines_with(out, "loss.backward()")[0]
    assert out.splitlines()[-1] == f"  raises: {message}"


def test_the_seed_is_silent_under_tenferro(gradguard: Command) -> None:
    _, out, _ = gradguard("replay", str(SEED / "seed.py"), "--profile", "tenferro")
    assert any("14.0, tracks_grad false" in line for line in lines_with(out, "loss = (x * x).sum()"))
    assert "Ok with 0 gradients, no gradient on x" in lines_with(out, "loss.backward()")[0]
    assert out.splitlines()[-1] == "  silent: backward gives Ok with 0 gradients, and no gradient reaches `x`"


@pytest.mark.parametrize("profile", ["torch", "tenferro"])
def test_the_mended_seed_has_one_gradient(gradguard: Command, profile: str) -> None:
    code, out, _ = gradguard("replay", str(SEED / "seed_mended.py"), "--profile", profile)
    assert code == 0
    assert "no finding" in out.splitlines()[0]
    assert "Ok with 1 gradient, x.grad = [2.0, 4.0, 6.0]" in lines_with(out, "loss.backward()")[0]
    assert out.splitlines()[-1] == "  ended without an error"


def test_a_line_chooses_its_findings(gradguard: Command) -> None:
    assert gradguard("replay", f"{SEED / 'seed.py'}:13")[0] == 0
    code, out, err = gradguard("replay", f"{SEED / 'seed.py'}:3")
    assert (code, out) == (2, "")
    assert "no finding on line 3" in err


def test_a_file_that_is_not_there_is_a_wrong_call(gradguard: Command) -> None:
    code, _, err = gradguard("replay", "nowhere.py")
    assert code == 2
    assert "nowhere.py" in err


def test_a_file_that_cannot_be_parsed_is_told(gradguard: Command, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (:\n")
    code, _, err = gradguard("replay", "broken.py")
    assert code == 2
    assert "cannot be parsed" in err


def test_check_tells_what_happens(gradguard: Command) -> None:
    _, out, _ = gradguard("check", str(SEED / "seed.py"), "--output-format", "json")
    (finding,) = json.loads(out)
    assert finding["replay"]["profile"] == "torch"
    assert finding["replay"]["outcome"] == "raises"
    assert "element 0 of tensors does not require grad" in finding["replay"]["detail"]


def test_check_can_leave_the_replay_out(gradguard: Command) -> None:
    _, out, _ = gradguard("check", str(SEED / "seed.py"), "--output-format", "json", "--no-replay")
    (finding,) = json.loads(out)
    assert finding["replay"] is None


ASSUMING = """\
import torch


def train(model, batch):
    with torch.no_grad():
        loss = model(batch)
    loss.backward()
"""


def refute_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradguard.findings import Replay
    from gradguard.replay import replaying

    refuted = Replay("torch", "fine", "nothing of the kind happens")
    monkeypatch.setattr(replaying, "replay_case", lambda *arguments: refuted)


def test_a_refuted_finding_is_shown_only_when_asked_for(
    gradguard: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refute_everything(monkeypatch)
    program = tmp_path / "assuming.py"
    program.write_text(ASSUMING)
    assert json.loads(gradguard("check", str(program), "--output-format", "json")[1]) == []
    shown = gradguard("check", str(program), "--output-format", "json", "--show-refuted")[1]
    assert [finding["replay"]["outcome"] for finding in json.loads(shown)] == ["fine"]


def test_a_finding_that_assumes_nothing_is_only_doubted(
    gradguard: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    refute_everything(monkeypatch)
    shown = gradguard("check", str(SEED / "seed.py"), "--output-format", "json")[1]
    assert [finding["replay"]["outcome"] for finding in json.loads(shown)] == ["inconclusive"]


def test_an_error_in_the_replay_breaks_nothing(gradguard: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    from gradguard.replay import replaying

    def fail(*arguments: object) -> None:
        raise KeyError("internal")

    monkeypatch.setattr(replaying, "run_root", fail)
    code, out, _ = gradguard("check", str(SEED / "seed.py"), "--output-format", "json")
    (finding,) = json.loads(out)
    assert code == 1
    assert finding["replay"]["outcome"] == "inconclusive"
    assert "KeyError" in finding["replay"]["detail"]


def test_a_paddle_file_is_run_under_its_profile(gradguard: Command, tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(
        "import paddle\n"
        "net = paddle.nn.Linear(3, 2)\n"
        "with paddle.no_grad():\n"
        "    loss = net(paddle.randn([4, 3])).mean()\n"
        "loss.backward()\n"
    )
    _, out, _ = gradguard("check", "p.py", "--output-format", "json")
    (finding,) = json.loads(out)
    assert finding["replay"]["profile"] == "paddle"
    assert finding["replay"]["outcome"] == "silent"
    assert "`net.weight`" in finding["replay"]["detail"]


@pytest.mark.torch
def test_the_seed_runs_on_torch_itself(gradguard: Command) -> None:
    pytest.importorskip("torch")
    _, out, _ = gradguard("replay", str(SEED / "seed.py"), "--replay-on", "torch")
    assert "on torch" in out.splitlines()[0]
    assert out.splitlines()[-1].startswith("  raises: RuntimeError: element 0 of tensors")
