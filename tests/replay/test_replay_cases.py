"""The findings of the bad cases, replayed on the embedded runtime and on torch."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest
from replay_harness import Tree

from gradguard.findings import Replay
from gradguard.judge.judging import Judged
from gradguard.replay.backend import embedded, real

BAD = Path(__file__).resolve().parents[2] / "fixtures" / "cases" / "bad"
# What these rules report happens at once; of the others some show only later what they lead to.
AT_ONCE = frozenset(
    ("GRD101", "GRD102", "GRD103", "GRD104", "GRD106", "GRD108", "GRD109", "GRD202", "GRD310")
)


@lru_cache(maxsize=1)
def bad_tree() -> tuple[Tree, tuple[Judged, ...]]:
    tree = Tree(sorted(BAD.rglob("*.py")))
    return tree, tuple(tree.judged())


@lru_cache(maxsize=1)
def embedded_outcomes() -> tuple[Replay, ...]:
    tree, judged = bad_tree()
    return tuple(tree.replay(one, embedded()) for one in judged)


def claimed(one: Judged) -> str:
    """The outcome that the case's own first lines tell, "" where the file tells none."""
    text = Path(one.draft.site.module).read_text("utf-8")
    head = text.split('"""', 2)[1] if text.startswith('"""') else ""
    return "raises" if "Outcome: raises" in head else "silent" if "Outcome: silent" in head else ""


def test_at_least_95_of_100_findings_are_confirmed_and_none_is_refuted() -> None:
    outcomes = Counter(replay.outcome for replay in embedded_outcomes())
    print(dict(outcomes))
    total = sum(outcomes.values())
    assert total >= 50
    assert outcomes["fine"] == 0
    assert outcomes["raises"] + outcomes["silent"] >= 0.95 * total
    assert outcomes["raises"] and outcomes["silent"]


def test_every_outcome_says_what_was_seen() -> None:
    assert all(replay.detail and not replay.detail.endswith(".") for replay in embedded_outcomes())


def test_what_happens_at_once_is_what_the_case_tells() -> None:
    _, judged = bad_tree()
    compared = [
        (one.draft.site, replay.outcome, claimed(one))
        for one, replay in zip(judged, embedded_outcomes(), strict=True)
        if one.finding.code in AT_ONCE and claimed(one) and replay.outcome != "inconclusive"
    ]
    assert len(compared) >= 25
    assert [entry for entry in compared if entry[1] != entry[2]] == []


@pytest.mark.torch
def test_torch_itself_shows_the_same() -> None:
    pytest.importorskip("torch")
    tree, judged = bad_tree()
    different = []
    for one, on_runtime in zip(judged, embedded_outcomes(), strict=True):
        on_torch = tree.replay(one, real())
        if on_torch.outcome != on_runtime.outcome:
            different.append((one.finding.code, one.draft.site, on_runtime, on_torch))
    assert different == []
