"""Findings in functions that nothing calls: their arguments are made up."""

from __future__ import annotations

import pytest
from replay_harness import Tree

from gradguard.replay.backend import embedded

PROGRAMS = {
    "a training loop under a guard": (
        "GRD101",
        "raises",
        """
import torch
def train(model, loader, optimizer, criterion, device, args):
    model.train()
    total = 0.0
    for i, (x, y) in enumerate(loader):
        x, y = x.to(device), y.to(device)
        with torch.no_grad():
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        if args.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        total += loss.item()
        if i % 100 == 0:
            print(f"{i} {total / (i + 1)}")
""",
    ),
    "a method that a decorator guards": (
        "GRD101",
        "raises",
        """
import torch
from torch import nn
class Trainer:
    def __init__(self, model, cfg):
        self.model, self.cfg, self.ce = model, cfg, nn.CrossEntropyLoss()
        self.opt = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
    @torch.no_grad()
    def compute(self, batch):
        return self.ce(self.model(batch["x"]), batch["y"])
    def fit(self, loader, epochs):
        for _ in range(epochs):
            for batch in loader:
                loss = self.compute(batch)
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
""",
    ),
    "shapes that are far too large": (
        "GRD102",
        "raises",
        """
import torch
from torch.utils.data import DataLoader
from elsewhere import build
def main(args):
    loader = DataLoader(build(args), batch_size=512)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4096, 7), torch.nn.Flatten(), torch.nn.Linear(100352, 100000))
    for batch in loader:
        pred = net(batch["image"].cuda()).argmax(dim=1).float()
        loss = torch.nn.functional.mse_loss(pred, batch["label"].float())
        loss.backward()
""",
    ),
    "a forced flag on a mixin's loss": (
        "GRD103",
        "silent",
        """
from torch.autograd import Variable
class Mixin:
    def step(self, x, y):
        loss = Variable(self.compute(x, y), requires_grad=True)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
""",
    ),
    "an update that skips": (
        "GRD201",
        "silent",
        """
import torch
@torch.no_grad()
def update(params, lr):
    for p in params:
        if p.grad is None:
            continue
        p -= lr * p.grad
""",
    ),
    "a generator": (
        "GRD303",
        "silent",
        """
import torch
def features(model, loader):
    with torch.no_grad():
        for x, y in loader:
            yield model(x.cuda()), y
""",
    ),
    "a way out that does not restore": (
        "GRD305",
        "silent",
        """
import torch
def predict(model, x, verbose=False):
    torch.set_grad_enabled(False)
    out = model(x)
    if verbose:
        return out
    torch.set_grad_enabled(True)
    return out
""",
    ),
    "an error between off and on": (
        "GRD305",
        "silent",
        """
import torch
def predict(model, path):
    torch.set_grad_enabled(False)
    x = load(path)
    if x is None:
        raise ValueError(path)
    out = model(x)
    torch.set_grad_enabled(True)
    return out
""",
    ),
    "threads of a pool": (
        "GRD306",
        "silent",
        """
import torch
from concurrent.futures import ThreadPoolExecutor
class Server:
    def __init__(self):
        self.net = torch.nn.Linear(3, 1)
    def one(self, x):
        return self.net(x)
    def serve(self, xs):
        with torch.no_grad():
            with ThreadPoolExecutor(4) as pool:
                return list(pool.map(self.one, xs))
""",
    ),
    "an unknown closure": (
        "GRD310",
        "raises",
        """
import torch
class Lite(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3):
        super().__init__(params, dict(lr=lr))
    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            loss = closure()
        return loss
""",
    ),
    "a hook of a trainer": (
        "GRD105",
        "raises",
        """
import torch
import pytorch_lightning as pl
class Lit(pl.LightningModule):
    def __init__(self, backbone, lr=1e-3):
        super().__init__()
        self.save_hyperparameters()
        self.backbone, self.head = backbone, torch.nn.Linear(10, 2)
    def training_step(self, batch, batch_idx):
        x, y = batch
        with torch.no_grad():
            logits = self.head(self.backbone(x))
        loss = torch.nn.functional.cross_entropy(logits, y)
        self.log("loss", loss)
        return {"loss": loss, "n": len(x)}
""",
    ),
    "a gradient of an unrecorded output": (
        "GRD104",
        "raises",
        """
import torch
def normals(sdf, pts):
    with torch.no_grad():
        y = sdf(pts)
    return torch.autograd.grad(y.sum(), pts, create_graph=True)[0]
""",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_run_alone_shows_its_fault(name: str) -> None:
    code, outcome, text = PROGRAMS[name]
    tree = Tree()
    tree.add("alone.py", text)
    found = [one for one in tree.judged() if one.finding.code == code]
    assert found
    replays = [tree.replay(one, embedded()) for one in found]
    assert [replay.outcome for replay in replays] == [outcome] * len(found), replays
