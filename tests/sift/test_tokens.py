from __future__ import annotations

import json

import pytest

from gradguard.sift.tokens import GUARDS, MISSPELT, aliases, sift, sift_rust, sift_text


@pytest.mark.parametrize("word", [*GUARDS, *MISSPELT])
def test_each_word_passes_by_itself_and_not_within_another(word: str) -> None:
    assert sift(f"with x.{word}():\n    pass\n".encode())
    assert sift(f"from x import {word}".encode())
    assert not sift(f"x.my_{word}y()".encode())


@pytest.mark.parametrize(
    "text",
    [
        "loss.backward()",
        "scaler.scale(loss).backward (retain_graph=True)",
        "torch.autograd.backward([a])",
        "self.manual_backward(loss)",
        "g, = torch.autograd.grad(loss, x)",
        "from torch.autograd import Function, grad",
        "from torch.autograd import (\n    Function,\n    grad,\n)",
        "optim_wrapper.update_params(loss)",
        "elbo.loss_and_grads(model, guide)",
        "layer.requires_grad = False",
        "loss.requires_grad=True",
        "setattr(layer, 'requires_grad', False)",
        "layer.requires_grad_",
        "p.require_grad = False",
        "with torch.inference():\n    pass",
        "grads = paddle.grad(loss, w)",
        "loss = Variable(loss, requires_grad=True)",
        "loss = torch.tensor(loss.item(), requires_grad = True)",
        "if p.grad is None: continue",
        "if p.grad is not None: p.data -= lr * p.grad",
        "if p.grad:\n    pass",
        "if p.grad == None: pass",
        "g = p.grad\nif g is None:\n    continue",
        "getattr(p, 'grad', None)",
        'hasattr(p, "grad")',
        "x = 1  # noqa: GRD101",
        "x = 1  # gradguard: ignore[GRD101]",
        "#gradguard:ignore-file",
        "w = torch.ones(2, requires_grad=True)\nw.clamp_(-1, 1)",
        "import paddle\nopt.minimize(loss)",
        "def training_step(self, batch):\n    return loss.detach()",
    ],
)
def test_suspect(text: str) -> None:
    assert sift(text.encode())
    assert sift_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "import torch\nx = torch.ones(3)",
        "def backward(ctx, grad_output):\n    return grad_output * 2",
        "class F(torch.autograd.Function): pass",
        "from torch.autograd import Function",
        "upgrade = gradient = degrade(x)",
        "w = torch.tensor([1.0, 2.0], requires_grad=True)",
        "if x.requires_grad: pass",
        "def f(need_grad): return need_grad",
        "torch.inference.run(model)",
        "assert x.requires_grad == True",
        "layer.requires_grad_(False)",
        "torch.func.grad(f)(x)",
        "p.grad = None",
        "def training_step(self, batch):\n    return loss",
        "scipy.optimize.minimize(f, x0)",
        "x.clamp_(0, 1)",
        "# noqa: F401",
    ],
)
def test_not_suspect(text: str) -> None:
    assert not sift(text.encode())
    assert not sift_text(text)


def test_a_notebook_is_read_as_its_json() -> None:
    cell = {"cell_type": "code", "source": ['if getattr(p, "grad", None) is None:\n', "    pass\n"]}
    assert sift(json.dumps({"cells": [cell]}).encode())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "euc-jp", "gb18030"])
def test_any_encoding_that_keeps_ascii(encoding: str) -> None:
    assert sift("# £\nwith torch.no_grad():\n".encode(encoding, "ignore"))


def test_bytes_that_are_no_text() -> None:
    assert not sift(bytes(range(256)))
    assert sift(bytes(range(256)) + b" no_grad ")


def test_extra_words() -> None:
    text = "with frozen_forward():\n    pass"
    assert not sift_text(text)
    assert sift_text(text, {"frozen_forward"})
    assert sift(text.encode(), ["frozen_forward"])
    assert not sift_text(text, {"forward"})
    assert sift_text("x.step(loss)", {"x.step"})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("from torch import no_grad as ng, ones as o", {"ng"}),
        ("import torch.autograd as ag", {"ag"}),
        ("from torch.autograd import grad", {"grad"}),
        ("from torch.autograd import grad as g", {"g", "grad"}),
        ("off = torch.inference_mode", {"off"}),
        ("    guard = th.no_grad()", {"guard"}),
        ("derive = torch.autograd.grad", {"derive"}),
        ("g = torch.autograd.grad(loss, x)", set()),
        ("f(flag=no_grad)", set()),
    ],
)
def test_aliases(text: str, names: set[str]) -> None:
    assert aliases(text) == names


@pytest.mark.parametrize(
    ("text", "suspect"),
    [
        ("use tenferro::prelude::*;\nlet g = rt.no_grad();", True),
        ("use tch::nn;\nloss.backward();", True),
        ("use candle_core::Tensor;\nlet grads = loss.backward()?;", True),
        ("use burn::tensor::Tensor;\nw.grad(&grads)", True),
        ("use tenferro::prelude::*;\nlet x = 1;", False),
        ("fn backward(x: f32) -> f32 { x }", False),
        ("let stretch = 1; let g = grad;", False),
    ],
)
def test_rust(text: str, suspect: bool) -> None:
    assert sift_rust(text.encode()) is suspect
