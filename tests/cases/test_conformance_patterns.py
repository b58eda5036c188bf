"""Short patterns that were run on torch, labelled as misuse or as right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).resolve().parents[1] / "runtime" / "conformance" / "programs.jsonl"

# Misuses that no rule speaks of. One that begins to be found must leave this table.
OUTSIDE = {
    "patterns/forgotten_zero_grad": "gradients that add up are what accumulation wants",
    "patterns/zero_grad_before_step": "the order of an optimizer's calls is no rule's matter",
    "patterns/gan_discriminator_without_detach": "too much graph, not too little",
    "patterns/clamp_param_outside_no_grad": "a leaf changed in place raises at once, without a backward",
    "patterns/param_assignment_instead_of_copy": "two parameters that share their memory",
    "patterns/numpy_shares_memory": "a write that the version counter does not see",
    "patterns/round_in_loss_zero_gradient": "the graph is there, its gradient is zero everywhere",
    "patterns/torch_tensor_of_list_of_losses": "nothing asks the cut value for a gradient",
}


def patterns(label: str) -> list[Any]:
    with PROGRAMS.open(encoding="utf-8") as lines:
        programs = [json.loads(line) for line in lines]
    chosen = [one for one in programs if one["topic"] == "patterns" and one["label"] == label]
    return [pytest.param(one["source"], id=one["id"]) for one in chosen]


MISUSES, RIGHT = patterns("misuse"), patterns("ok")


def codes(source: str) -> list[str]:
    import gradguard

    found = gradguard.check_text(source, "pattern.py", select=["ALL"], preview=True, isolated=True)
    return [finding.code for finding in found]


def test_the_patterns_are_there() -> None:
    assert len(MISUSES) >= 15 and len(RIGHT) >= 10
    assert OUTSIDE.keys() <= {one.id for one in MISUSES}


@pytest.mark.parametrize("source", [one for one in MISUSES if one.id not in OUTSIDE])
def test_a_misuse_is_reported(source: str) -> None:
    assert codes(source)


@pytest.mark.parametrize("source", [one for one in MISUSES if one.id in OUTSIDE])
def test_a_misuse_that_no_rule_speaks_of(source: str) -> None:
    assert codes(source) == []


@pytest.mark.parametrize("source", RIGHT)
def test_nothing_is_reported_where_all_is_right(source: str) -> None:
    assert codes(source) == []
