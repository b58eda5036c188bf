"""Findings made by hand, for the renderings to be tried on."""

from __future__ import annotations

from collections.abc import Sequence

from gradguard.findings import Edit, Failure, Finding, Fix, Position, Replay, Report, Span, WitnessStep
from gradguard.source import Cell, Source

TRAIN = """\
import torch


def train(model, criterion, x, y, opt):
    with torch.no_grad():
        loss = criterion(model(x), y)

    loss.backward()
    opt.step()
"""
HEADLINE = "`loss` was computed under `no_grad`, so `backward()` has no graph"


def span(
    row: int,
    column: int,
    end_column: int,
    *,
    file: str = "train.py",
    end_row: int = 0,
    cell: int | None = None,
) -> Span:
    return Span(file, Position(row, column), Position(end_row or row, end_column), cell)


def step(message: str, at: Span) -> WitnessStep:
    return WitnessStep(at, message)


def source(text: str, file: str = "train.py", cells: tuple[Cell, ...] = ()) -> dict[str, Source]:
    return {file: Source(file, "", text, cells=cells)}


def finding(
    message: str = HEADLINE,
    at: Span | None = None,
    *,
    code: str = "GRD101",
    name: str = "backward-untracked",
    severity: str = "error",
    witness: Sequence[WitnessStep] = (),
    notes: tuple[str, ...] = (),
) -> Finding:
    return Finding(code, name, message, at or span(8, 5, 20), severity, witness=tuple(witness), notes=notes)


LOSS = Finding(
    "GRD101",
    "backward-untracked",
    HEADLINE,
    span(8, 5, 20),
    confidence="likely",
    witness=(
        step("guard opens here", span(5, 10, 25)),
        step("`loss` is made inside it", span(6, 9, 13)),
        step("needs the graph that 1 discarded", span(8, 5, 20)),
    ),
    notes=("assuming that `criterion` has no parameters",),
    help="move line 6 out of the `with` block",
    replays=(
        Replay("torch", "raises", "RuntimeError: element 0 does not require grad"),
        Replay("tenferro", "silent", "the gradient table is empty"),
    ),
    fix=Fix("enter the guard later", (Edit(span(5, 5, 26), "if True:"),), safe=False),
)
SKIP = Finding(
    "GRD201",
    "update-skips-missing-grad",
    "`p` is passed over in silence when it has no gradient",
    span(3, 9, 17, file="src/opt.py"),
    severity="warning",
)
HINT = Finding(
    "GRD312",
    "redundant-guard",
    "`no_grad` stands inside a guard of the same effect",
    span(2, 6, 21, file="nb.ipynb", cell=3),
    severity="hint",
    witness=(step("the outer guard", span(1, 6, 21, file="nb.ipynb", cell=3)),),
)
BROKEN = Finding("GRD000", "unreadable", "invalid syntax", span(4, 7, 8, file="broken.py"))
LOST = Failure("lost.py", "permission denied")

NOTEBOOK = Source(
    "nb.ipynb",
    "",
    "import torch\nx = 1\nwith torch.no_grad():\n    with torch.no_grad():\n        pass\n",
    cells=(Cell(1, 1, 1), Cell(2, 2, 1), Cell(3, 3, 3)),
)
SOURCES = {"train.py": Source("train.py", "", TRAIN), "nb.ipynb": NOTEBOOK}

MIXED = Report((BROKEN, HINT, SKIP, LOSS), (Failure("broken.py", "invalid syntax"), LOST), checked=3)
CLEAN = Report((), (), checked=3)
