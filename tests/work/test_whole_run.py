"""What a run says of files beside those that hold a suspect themselves."""

from __future__ import annotations

from pathlib import Path

from worked_projects import call, write_project

CUTTING = {
    "losses.py": "def cut_loss(model, x):\n    return model(x).detach().mean()\n",
    "train.py": "import torch\nfrom losses import cut_loss\n\nmodel = torch.nn.Linear(2, 1)\n"
    "cut_loss(model, torch.randn(4, 2)).backward()\n",
}


def test_a_finding_in_a_file_that_holds_no_suspect(tmp_path: Path) -> None:
    write_project(tmp_path, CUTTING)
    for _ in range(2):
        assert call(tmp_path, "check").out.startswith("losses.py:2:12: GRD102 ")
    write_project(tmp_path, {"losses.py": CUTTING["losses.py"].replace("mean()", "mean()  # noqa: GRD102")})
    for _ in range(2):
        assert call(tmp_path, "check").code == 0
    assert call(tmp_path, "check", "--per-file-ignores", "train.py:GRD102").code == 0


def test_settings_of_the_file_that_holds_the_finding_decide(tmp_path: Path) -> None:
    write_project(tmp_path, CUTTING)
    assert call(tmp_path, "check", "--per-file-ignores", "losses.py:GRD102").out == ""
    assert call(tmp_path, "check", "--per-file-ignores", "train.py:GRD102").out != ""


def test_the_witness_shows_the_text_of_every_file(tmp_path: Path) -> None:
    files = {
        "losses.py": "def loss_of(model, x):\n    return model(x).mean()\n",
        "train.py": "import torch\nfrom losses import loss_of\n\nmodel = torch.nn.Linear(2, 1)\nwith torch.no_grad():\n"
        "    loss = loss_of(model, torch.randn(4, 2))\nloss.backward()\n",
    }
    write_project(tmp_path, files)
    for paths in (["."], ["train.py"], ["."], ["train.py"]):
        assert (
            "2 |     return model(x).mean()\n"
            in call(tmp_path, "check", "--output-format", "full", *paths).out
        )
