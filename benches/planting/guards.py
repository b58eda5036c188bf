"""Faults planted at a backward: guards, switches, cuts and forced flags."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import cycle, islice

from planting.callers import Caller
from planting.plants import UNTRACKED, Edit, Plant, indentation
from planting.sites import Lines, Site, lines_of, own_nodes

GUARDS = ("torch.no_grad()", "torch.inference_mode()", "torch.set_grad_enabled(False)")
DECORATORS = ("torch.no_grad()", "torch.inference_mode()")
CUTS = {
    "cut by detach": ("{loss} = {loss}.detach()",),
    "cut by data": ("{loss} = {loss}.data",),
    "cut by item": ("{loss} = torch.tensor({loss}.item())",),
}
FORCED = {
    "forced by flag": ("{loss} = {loss}.detach()", "{loss}.requires_grad = True"),
    "forced by Variable": ("{loss} = torch.autograd.Variable({loss}, requires_grad=True)",),
}
_WRAPPING = frozenset({"contextmanager", "fixture", "property", "setter", "overload", "jit", "script"})


class Rotation:
    """Takes the forms of a guard in turn, so that each is planted as often as the others."""

    def __init__(self, first: int = 0) -> None:
        self._guards = islice(cycle(GUARDS), first % len(GUARDS), None)
        self._decorators = islice(cycle(DECORATORS), first % len(DECORATORS), None)

        self._cuts = islice(cycle(CUTS.items()), first % len(CUTS), None)
        self._forced = islice(cycle(FORCED.items()), first % len(FORCED), None)

    def cut(self) -> tuple[str, tuple[str, ...]]:
        return next(self._cuts)

    def forced(self) -> tuple[str, tuple[str, ...]]:
        return next(self._forced)

    def guard(self) -> str:
        return next(self._guards)

    def decorator(self) -> str:
        return next(self._decorators)


def at_site(site: Site, lines: list[str], rotation: Rotation) -> Iterator[Plant]:
    """The faults of all kinds that a site has room for, in a fixed order."""
    heard = [site.sink, *(r for r in (site.forward, site.making) if r is not None)]
    if site.making is not None:
        yield _guarded("guard around loss", site, site.making, lines, rotation.guard(), heard)
    if site.forward is not None:
        yield _guarded("guard around forward and loss", site, site.forward, lines, rotation.guard(), heard)
    covered = site.forward or site.making
    if covered is not None:
        yield _switched_off(site, covered, lines, heard)
        if site.function is not None and _takes_decorator(site.function):
            yield _decorated(site, site.function, lines, rotation.decorator())
    yield _before_sink(site, lines, *rotation.cut(), frozenset({"GRD102"}))
    yield _before_sink(site, lines, *rotation.forced(), frozenset({"GRD103"}))


def at_caller(site: Site, caller: Caller, lines: list[str], rotation: Rotation) -> Plant | None:
    """A guard around a statement of the same file that calls the function of the site."""
    if site.function is None:
        return None
    indent = indentation(lines, caller.lines.first)
    edit = Edit(caller.lines.first, (f"{indent}with {rotation.guard()}:",), deeper=caller.lines)
    heard = (lines_of(site.function), caller.lines)
    return Plant("guard around caller", caller.lines.first, (edit,), UNTRACKED, heard)


def from_another_file(site: Site, module: str, rotation: Rotation) -> Plant | None:
    """A file that calls the site's function, one of a module's top level, under a guard."""
    function = site.function
    if function is None or site.owner is not None:
        return None
    spec = function.args
    names = [a.arg for a in (*spec.posonlyargs, *spec.args)]
    named = [a.arg for a in spec.kwonlyargs]
    given = ", ".join([*names, *(f"{name}={name}" for name in named)])
    driver = (
        "import torch\n"
        f"from {module} import {function.name}\n\n\n"
        f"def drive({', '.join([*names, *named])}):\n"
        f"    with {rotation.guard()}:\n"
        f"        {function.name}({given})\n"
    )
    return Plant("guard in another file", function.lineno, (), UNTRACKED, (lines_of(function),), driver)


def _guarded(
    kind: str, site: Site, covered: Lines, lines: list[str], guard: str, heard: list[Lines]
) -> Plant:
    indent = indentation(lines, covered.first)
    edit = Edit(covered.first, (f"{indent}with {guard}:",), deeper=covered)
    return Plant(kind, covered.first, (edit,), UNTRACKED, tuple(heard))


def _before_sink(
    site: Site, lines: list[str], kind: str, texts: tuple[str, ...], codes: frozenset[str]
) -> Plant:
    indent = indentation(lines, site.sink.first)
    edit = Edit(site.sink.first, tuple(indent + text.format(loss=site.loss) for text in texts))
    heard = [site.sink, *(r for r in (site.forward, site.making) if r is not None)]
    return Plant(kind, site.sink.first, (edit,), codes, tuple(heard))


def _switched_off(site: Site, covered: Lines, lines: list[str], heard: list[Lines]) -> Plant:
    indent = indentation(lines, covered.first)
    edit = Edit(covered.first, (f"{indent}torch.set_grad_enabled(False)",))
    return Plant("mode switched off", covered.first, (edit,), UNTRACKED, tuple(heard))


def _decorated(site: Site, function: ast.FunctionDef, lines: list[str], guard: str) -> Plant:
    indent = indentation(lines, function.lineno)
    edit = Edit(function.lineno, (f"{indent}@{guard}",))
    return Plant("guard decorator", function.lineno, (edit,), UNTRACKED, (lines_of(function),))


def _takes_decorator(function: ast.FunctionDef) -> bool:
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in own_nodes(function)):
        return False
    names = {
        name
        for decorator in function.decorator_list
        for node in ast.walk(decorator)
        if isinstance(node, ast.Name | ast.Attribute)
        and (name := getattr(node, "attr", getattr(node, "id", "")))
    }
    return not names & _WRAPPING
