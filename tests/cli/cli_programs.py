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
