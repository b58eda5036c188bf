"""What findings call the things that they speak of."""

from __future__ import annotations

import gradguard

SETTING = """
from torch import nn

net = nn.Linear(2, 2)
setattr(net, "requires_grad", False)
"""


def test_a_freeze_by_setattr_names_the_module() -> None:
    (finding,) = gradguard.check_text(SETTING, filename="freeze.py")
    assert finding.code == "GRD401"
    assert finding.message.startswith("`net.requires_grad` is an attribute that nobody reads")
    assert finding.help == "call `net.requires_grad_(False)`"
