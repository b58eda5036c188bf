"""Findings that no rule has made, at places of good programs: the replay must confirm none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from replay_harness import Tree

from gradguard.infer.sites import Root
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.replay.backend import embedded

GOOD = Path(__file__).resolve().parents[2] / "fixtures" / "cases" / "good"
GUARDS = frozenset(("no_grad", "inference_mode", "enable_grad", "set_grad_enabled"))
CONFIRMED = ("raises", "silent")


def plants(node: object) -> Iterator[tuple[str, int]]:
    """The codes of rules that might speak of a node, had they been wrong."""
    match node:
        case ir.Call(func=ir.Attr(name="backward"), at=at):
            yield from (("GRD101", at), ("GRD102", at))
        case ir.Call(func=ir.Attr(name="grad"), at=at):
            yield "GRD104", at
        case ir.Call(func=ir.Attr(name="requires_grad_"), at=at):
            yield "GRD103", at
        case ir.Call(func=ir.Attr(name=name) | ir.Name(id=name), at=at) if name in GUARDS:
            yield from ((code, at) for code in ("GRD301", "GRD302", "GRD305"))
        case ir.Attr(name="grad", at=at):
            yield "GRD104", at
        case ir.Op(at=at):
            yield "GRD106", at
        case ir.Assign(targets=(ir.Name(),), at=at):
            yield "GRD202", at
        case ir.If(test=test):
            yield "GRD201", test.at
        case ir.Yield(at=at):
            yield "GRD303", at


def confirmed(tree: Tree, key: str, outcomes: Counter[str]) -> list[tuple[str, int, str]]:
    """The planted findings of a file that its replay confirms, told by code, row and detail."""
    found = []
    for node in list(tree.nodes(key)):
        for code, at in plants(node):
            replay = tree.replay(tree.planted(key, code, at), embedded())
            outcomes[replay.outcome] += 1
            if replay.outcome in CONFIRMED:
                found.append((code, tree.program.modules[key].span(at).start.row, replay.detail))
    return found


def test_no_planted_finding_of_the_good_cases_is_confirmed() -> None:
    outcomes: Counter[str] = Counter()
    wrong = []
    for path in sorted(GOOD.rglob("*.py")):
        wrong += [(path.name, *entry) for entry in confirmed(Tree([path]), str(path), outcomes)]
    print(dict(outcomes))
    assert wrong == []
    assert outcomes["fine"] >= 300


def functions_of(tree: Tree, key: str) -> Iterator[tuple[Root, ir.Function]]:
    """The functions and methods of a file, as roots."""
    lowered = tree.program.modules[key]
    for chunk in lowered.chunks:
        for statement in lowered.body(chunk.index):
            match statement:
                case ir.FunctionDef(function=function):
                    yield Root("function", key, function.at), function
                case ir.ClassDef(body=body, at=at):
                    for member in body:
                        if isinstance(member, ir.FunctionDef):
                            yield Root("method", key, member.function.at, at), member.function


def test_no_backward_of_a_good_function_run_alone_is_confirmed() -> None:
    seen: Counter[str] = Counter()
    wrong = []
    for path in sorted(GOOD.rglob("*.py")):
        tree, key = Tree([path]), str(path)
        for root, function in functions_of(tree, key):
            for node in walk(function.body):
                for code, at in plants(node):
                    if code not in ("GRD101", "GRD102", "GRD104", "GRD106", "GRD305"):
                        continue
                    replay = tree.replay(tree.planted(key, code, at, root), embedded())
                    seen[replay.outcome] += 1
                    if replay.outcome in CONFIRMED:
                        wrong.append((path.name, code, root.kind, replay.detail))
    assert wrong == []
    assert seen["fine"] >= 50


@pytest.mark.parametrize(
    "guard", ["if loss.requires_grad:", "if torch.is_grad_enabled():", "if loss.grad_fn is not None:"]
)
def test_a_backward_behind_a_check_is_not_forced(guard: str) -> None:
    tree = Tree()
    text = f"import torch\nw = torch.ones(2, requires_grad=True)\nwith torch.no_grad():\n    loss = (w * 2).sum()\n    {guard}\n        loss.backward()\n"
    tree.add("checked.py", text)
    call = next(
        node
        for node in tree.nodes("checked.py")
        if isinstance(node, ir.Call) and not node.args and "backward" in str(node.func)
    )
    replay = tree.replay(tree.planted("checked.py", "GRD101", call.at), embedded())
    assert replay.outcome == "inconclusive"
