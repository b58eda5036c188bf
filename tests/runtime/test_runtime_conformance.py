"""The recorded programs: what torch 2.13 did, the engine does."""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent / "conformance"


def _read(name: str) -> list[dict[str, Any]]:
    path = HERE / name
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if name.endswith(".gz") else raw).decode()
    return [json.loads(line) for line in text.splitlines()]


def _speaks_of_this_python(program: dict[str, Any]) -> bool:
    # Before 3.11 Python itself raised AttributeError for ``with`` on a non-context-manager.
    told = json.dumps(program["observations"]) + json.dumps(program["raises"])
    return sys.version_info >= (3, 11) or "context manager protocol" not in told


PROGRAMS = [p for p in _read("programs.jsonl") + _read("random.jsonl.gz") if _speaks_of_this_python(p)]
TOPICS = sorted({p["topic"] for p in PROGRAMS})


@pytest.mark.parametrize("topic", TOPICS)
def test_topic_agrees(topic: str, run_program: Callable[..., Any]) -> None:
    failures = []
    for program in (p for p in PROGRAMS if p["topic"] == topic):
        got = run_program(program["source"])
        want = type(got)(
            program["observations"],
            program["raises"] and (program["raises"]["type"], program["raises"]["message"]),
            (program["end"]["grad_enabled"], program["end"]["inference_mode"]),
        )
        different = want.differences(got)
        if different:
            failures.append((program["id"], different[:3]))
    assert not failures, failures[:5]


def test_count_by_topic(capsys: pytest.CaptureFixture[str]) -> None:
    counts = Counter(p["topic"] for p in PROGRAMS)
    with capsys.disabled():
        print()
        for topic, count in sorted(counts.items()):
            print(f"  conformance {topic:22} {count:5}")
        print(f"  conformance {'total':22} {sum(counts.values()):5}")
    assert sum(counts.values()) >= 1700
    assert len(counts) == 28


def test_a_wrong_truth_is_noticed(run_program: Callable[..., Any]) -> None:
    program = next(p for p in PROGRAMS if p["id"] == "backward/scalar")
    got = run_program(program["source"])
    wrong = type(got)({**program["observations"], "x.grad": [2.0, 5.0]})
    assert wrong.differences(got) == ["x.grad: [2.0, 5.0] / [2.0, 4.0]"]
