"""Optimizer steps replaced by loops that pass over a missing gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import cycle

from planting.plants import Edit, Plant, indentation
from planting.sites import Lines, last_name, lines_of

# `{source}` is the parameters, `{rate}` a number.
LOOPS = {
    "skip by continue": (
        "with torch.no_grad():",
        "    for param in {source}:",
        "        if param.grad is None:",
        "            continue",
        "        param -= {rate} * param.grad",
    ),
    "skip by if": (
        "for param in {source}:",
        "    if param.grad is not None:",
        "        param.data -= {rate} * param.grad",
    ),
    "skip by truth": (
        "for param in {source}:",
        "    if not hasattr(param, 'grad') or param.grad is None:",
        "        continue",
        "    param.data.add_(param.grad, alpha=-{rate})",
    ),
    "skip by getattr": (
        "for param in {source}:",
        "    gradient = getattr(param, 'grad', None)",
        "    if gradient is not None:",
        "        param.data = param.data - {rate} * gradient",
    ),
    "skip by filter": (
        "with torch.no_grad():",
        "    for param in filter(lambda one: one.grad is not None, {source}):",
        "        param.sub_({rate} * param.grad)",
    ),
    "skip by comprehension": (
        "with torch.no_grad():",
        "    for param in [one for one in {source} if one.grad is not None]:",
        "        param.add_(param.grad, alpha=-{rate})",
    ),
    "skip by walrus": (
        "for param in {source}:",
        "    if (gradient := param.grad) is not None:",
        "        param.data.copy_(param.data - {rate} * gradient)",
    ),
    "skip by try": (
        "for param in {source}:",
        "    try:",
        "        param.data.sub_({rate} * param.grad)",
        "    except TypeError:",
        "        pass",
    ),
}
_OPTIMIZER_BASES = ("Optimizer", "SGD", "Adam", "AdamW", "Optim")


def optimizer_steps(tree: ast.Module) -> tuple[tuple[Lines, str], ...]:
    """The statements `optimizer.step()` outside optimizer classes, and the parameters of the optimizer."""
    sources = _known_sources(tree)
    found = []
    for node in _outside_optimizers(tree):
        match node:
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=receiver, attr="step"), args=[], keywords=[])
            ):
                name = last_name(receiver).lower()
                if "opt" in name and "sched" not in name and "diff" not in name:
                    text = ast.unparse(receiver)
                    groups = f"[one for group in {text}.param_groups for one in group['params']]"
                    found.append((lines_of(node), sources.get(text, groups)))
    return tuple(sorted(found, key=lambda one: one[0].first))


def skipping(tree: ast.Module, lines: list[str], first: int) -> Iterator[Plant]:
    """One fault for each step, its form in turn from the `first`-th on."""
    forms = cycle(LOOPS.items())
    for _ in range(first % len(LOOPS)):
        next(forms)
    for step, source in optimizer_steps(tree):
        kind, texts = next(forms)
        indent = indentation(lines, step.first)
        written = tuple(f"{indent}{text.format(source=source, rate='0.01')}" for text in texts)
        yield Plant(
            kind, step.first, (Edit(step.first, written, dropped=step),), frozenset({"GRD201"}), (step,)
        )


def _known_sources(tree: ast.Module) -> dict[str, str]:
    """`model.parameters()` for each name that is bound once, to an optimizer made from it."""
    sources: dict[str, str] = {}
    bound: dict[str, int] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Attribute() as target], value=value):
                text = ast.unparse(target)
                bound[text] = bound.get(text, 0) + 1
                match value:
                    case ast.Call(
                        args=[ast.Call(func=ast.Attribute(attr="parameters"), args=[]) as given, *_]
                    ):
                        sources[text] = ast.unparse(given)
    return {text: source for text, source in sources.items() if bound[text] == 1}


def _outside_optimizers(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and any(
            last_name(b).endswith(_OPTIMIZER_BASES) for b in child.bases
        ):
            continue
        if isinstance(child, ast.ClassDef) and child.name.endswith(_OPTIMIZER_BASES):
            continue
        yield child
        yield from _outside_optimizers(child)
