"""Programs with known findings."""

from __future__ import annotations

UNTRACKED = """\
import torch

model = torch.nn.Linear(2, 1)
x = torch.randn(4, 2)
with torch.no_grad():
    loss = model(x).sum()
loss.backward()
"""
"""GRD101, certain, at 7:1."""

SKIPPING = """\
import torch


def update(params, lr):
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad
"""
"""GRD201 at row 7."""

ASSUMED = """\
import torch


def step(model, criterion, x, y):
    pred = model(x).detach()
    loss = criterion(pred, y)
    loss.backward()
"""
"""GRD102, likely: that the criterion has no parameters is assumed."""

CLEAN = """\
import torch

model = torch.nn.Linear(2, 1)
loss = model(torch.randn(4, 2)).sum()
loss.backward()
with torch.no_grad():
    print(model(torch.randn(4, 2)))
"""

OPTIMIZER = """\
import torch


class Plain(torch.optim.Optimizer):
    def __init__(self, params, lr=0.1):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.add_(p.grad, alpha=-group["lr"])
"""
"""GRD201, where subclasses of optimizers are checked."""
