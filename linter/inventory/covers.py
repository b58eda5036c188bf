"""What a guard covers: values made, calls, backward, updates, yields and awaits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gradguard.inventory.found import Found
from gradguard.inventory.resolve import Resolver, dotted
from gradguard.inventory.senses import Optimizer, Path, Scope, Weight
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk

_OPTIMIZING = re.compile(r"optim|scaler|(?:^|_)opt(?:$|_|\d)", re.IGNORECASE)
_IN_PLACE = re.compile(r"[a-z]\w*[a-z0-9]_")
# Methods that end in an underscore and leave the numbers as they are.
_FLAGGING = ("requires_grad_", "detach_", "share_memory_", "rename_")
_STEPPING = ("step", "optimizer_step")

Covered = tuple[str, int, str]


def covered(found: Found, resolver: Resolver, guards: frozenset[int]) -> Iterator[Covered]:
    """(kind, handle, text) of all that runs under a guard; the text is "" where the source says it best.

    `guards` are the calls that make guards, which have entries of their own. A function that is defined
    under the guard does not run there.
    """
    for node in walk(found.reach.region, into_functions=False):
        match node:
            case ir.Assign(targets=targets):
                for target in targets:
                    yield from _assigned(target, resolver, found.scope)
            case ir.Let(target=target):
                yield from _assigned(target, resolver, found.scope)
            case ir.Update(target=target, value=value, at=at):
                if _changes_weight(target, value, resolver, found.scope):
                    yield "update", at, ""
                else:
                    yield from _assigned(target, resolver, found.scope)
            case ir.Walrus(target=name, at=at):
                yield "value", at, name
            case ir.Call(at=at) if at not in guards:
                yield _kind_of(node, resolver, found.scope), at, ""
            case ir.Yield(at=at):
                yield "yield", at, ""
            case ir.Await(at=at):
                yield "await", at, ""
            case ir.With(is_async=True, at=at) | ir.For(is_async=True, at=at):
                yield "await", at, ""


def _assigned(target: ir.Expr, resolver: Resolver, scope: Scope) -> Iterator[Covered]:
    match target:
        case ir.Sequence(items=items):
            for item in items:
                yield from _assigned(item, resolver, scope)
        case ir.Star(value=value):
            yield from _assigned(value, resolver, scope)
        case ir.Attr(name="data", at=at):
            yield "update", at, ""
        case ir.Item(base=base, at=at) if _is_weight(base, resolver, scope):
            yield "update", at, ""
        case _:
            yield "value", target.at, ""


def _changes_weight(target: ir.Expr, value: ir.Expr, resolver: Resolver, scope: Scope) -> bool:
    """Whether `target op= value` steps a parameter: it is known to be one, or its gradient is spent on it."""
    return _is_weight(target, resolver, scope) or any(
        isinstance(node, ir.Attr) and node.name == "grad" for node in walk((value,), into_functions=False)
    )


def _is_weight(expr: ir.Expr, resolver: Resolver, scope: Scope) -> bool:
    while isinstance(expr, ir.Item):
        expr = expr.base
    if isinstance(expr, ir.Attr) and expr.name in ("data", "weight", "bias"):
        return True
    return any(isinstance(sense, Weight) for sense in resolver.senses(expr, scope))


def _kind_of(call: ir.Call, resolver: Resolver, scope: Scope) -> str:
    """The kind of a call: backward, update, or call."""
    name = call.func.name if isinstance(call.func, ir.Attr) else ""
    paths = [sense.name for sense in resolver.senses(call.func, scope) if isinstance(sense, Path)]
    facts = resolver.facts
    if facts.has("backward.methods", name) or facts.has("backward.takers", name):
        return "backward"
    if any(facts.has("backward.functions", path) or facts.has("backward.gradient", path) for path in paths):
        return "backward"
    if any(_in_place(path.rpartition(".")[2]) for path in paths) or _changes_in_place(call.func):
        return "update"
    return "update" if name in _STEPPING and _optimizes(name, call, resolver, scope) else "call"


def _in_place(name: str) -> bool:
    return _IN_PLACE.fullmatch(name) is not None and name not in _FLAGGING


def _changes_in_place(func: ir.Expr) -> bool:
    """Whether a method changes its tensor in place; of a gradient that is no update."""
    if not isinstance(func, ir.Attr) or not _in_place(func.name):
        return False
    base: Any = func.base
    while isinstance(base, ir.Attr) and base.name == "data":
        base = base.base
    return not (isinstance(base, ir.Attr) and base.name == "grad")


def _optimizes(name: str, call: ir.Call, resolver: Resolver, scope: Scope) -> bool:
    if name == "optimizer_step":
        return True
    assert isinstance(call.func, ir.Attr)
    parties = (call.func.base, *(arg.value for arg in call.args))
    return any(_is_optimizer(party, resolver, scope) for party in parties)


def _is_optimizer(expr: ir.Expr, resolver: Resolver, scope: Scope) -> bool:
    if any(isinstance(sense, Optimizer) for sense in resolver.senses(expr, scope)):
        return True
    while isinstance(expr, ir.Item | ir.Call):
        expr = expr.base if isinstance(expr, ir.Item) else expr.func
    return _OPTIMIZING.search(dotted(expr).rpartition(".")[2]) is not None
