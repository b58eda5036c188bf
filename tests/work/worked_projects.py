"""Projects whose findings lead through several files, and calls of the command line in this process."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from gradguard.cli import run

FORMATS = ("concise", "json", "sarif", "full")

TRAIN = """\
import torch
from pkg.guards import quiet
from pkg.losses import mean_loss
from pkg.steps import step

model = torch.nn.Linear(2, 1)
x = torch.randn(4, 2)
with quiet():
    loss = mean_loss(model, x)
loss.backward()
with quiet():
    step(model, x)
"""
"""GRD101 at 10:1, through two files, and at 12:5, through two others."""

LONE = """\
import torch

model = torch.nn.Linear(2, 1)
x = torch.randn(4, 2)
with torch.no_grad():
    loss = model(x).sum()
loss.backward()
"""
"""GRD101 at 7:1."""

PROJECT = {
    "pkg/__init__.py": "",
    "pkg/losses.py": "def mean_loss(model, x):\n    return model(x).mean()\n",
    "pkg/guards.py": "import torch\n\n\ndef quiet():\n    return torch.no_grad()\n",
    "pkg/steps.py": "def step(model, x):\n    loss = model(x).mean()\n    loss.backward()\n",
    "pkg/cuts.py": "def cut_loss(model, x):\n    return model(x).detach().mean()\n",
    "train.py": TRAIN,
    "again.py": TRAIN.replace("Linear(2, 1)", "Linear(2, 3)"),
    "cutting.py": "import torch\nfrom pkg.cuts import cut_loss\n\nmodel = torch.nn.Linear(2, 1)\n"
    "cut_loss(model, torch.randn(4, 2)).backward()\n",
    "lone.py": LONE,
    "silenced.py": LONE.replace("loss.backward()", "loss.backward()  # noqa: GRD101"),
    "idle.py": "x = 1  # noqa: GRD101\n",
    "plain.py": "x = 1\n",
    "torn.py": "import torch\n\nwith torch.no_grad(:\n    pass\n",
}


@dataclass(frozen=True)
class Answer:
    """What a call said, and its exit code."""

    code: int
    out: str
    err: str


def write_project(folder: Path, files: dict[str, str] = PROJECT) -> Path:
    """Write the files, by their paths in `folder`, which is returned."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def call(folder: Path, *arguments: str) -> Answer:
    """Run `gradguard` with `folder` as its working folder; nobody looks at a terminal."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="") for _ in range(2))
    with within(folder), redirect_stdout(out), redirect_stderr(err):
        code = run(arguments)
        sys.stdout.flush()
        sys.stderr.flush()
    return Answer(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


@contextmanager
def within(folder: Path) -> Iterator[None]:
    """Make `folder` the working folder of the scope."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
