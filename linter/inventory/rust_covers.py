"""What a guard of a Rust file covers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradguard.facts.crates import Crate
from gradguard.inventory.covers import Covered
from gradguard.inventory.found import Found
from gradguard.ir import nodes as ir
from gradguard.ir.walk import children

# A closure that is handed to these runs in a thread of its own.
_SPAWNING = ("spawn", "spawn_blocking")
_STEPPING = ("step", "backward_step")


def covered_in_rust(found: Found, crates: tuple[Crate, ...], guards: set[int]) -> Iterator[Covered]:
    """(kind, handle, text) of all that runs while a guard lives."""
    for node in _running(found.reach.region):
        match node:
            case ir.Let(target=target):
                yield from _names(target)
            case ir.Assign(targets=targets, value=value):
                if _makes_leaf(value, crates):
                    yield "update", node.at, ""
                else:
                    for target in targets:
                        yield from _names(target)
            case ir.Update(target=target, at=at):
                written = isinstance(target, ir.Op | ir.Item)
                yield "update" if written else "value", at if written else target.at, ""
            case ir.Call(at=at) if at not in guards and at != ir.NOWHERE:
                yield _kind_of(node, crates), at, ""
            case ir.Await(at=at):
                yield "await", at, ""
            case ir.Yield(at=at):
                yield "yield", at, ""


def _running(region: tuple[Any, ...]) -> Iterator[Any]:
    """The nodes that run there: a closure does where it is handed to a call, not where it is only made."""
    pending = list(region)
    while pending:
        node = pending.pop()
        yield node
        match node:
            case ir.FunctionDef() | ir.ClassDef() | ir.Lambda():
                continue
            case ir.Call(func=func, args=args):
                spawns = _last(func) in _SPAWNING
                for arg in args:
                    if isinstance(arg.value, ir.Lambda) and not spawns:
                        pending.extend(arg.value.function.body)
        pending.extend(children(node))


def _names(target: ir.Expr) -> Iterator[Covered]:
    match target:
        case ir.Name(id="_") | ir.Name(at=ir.NOWHERE):
            return
        case ir.Sequence(items=items):
            for item in items:
                yield from _names(item)
        case ir.Call(args=args):
            for arg in args:
                yield from _names(arg.value)
        case ir.Name() | ir.Attr() | ir.Item():
            yield "value", target.at, ""


def _makes_leaf(value: ir.Expr, crates: tuple[Crate, ...]) -> bool:
    while isinstance(value, ir.Propagate):
        value = value.value
    return (
        isinstance(value, ir.Call)
        and isinstance(value.func, ir.Attr)
        and any(crate.has("leaves.methods", value.func.name) for crate in crates)
    )


def _kind_of(call: ir.Call, crates: tuple[Crate, ...]) -> str:
    if not isinstance(call.func, ir.Attr):
        return "call"
    name = call.func.name
    if any(crate.has("backward.methods", name) or crate.has("backward.takers", name) for crate in crates):
        return "backward"
    return "update" if name in _STEPPING else "call"


def _last(func: ir.Expr) -> str:
    match func:
        case ir.Name(id=path):
            return path.rpartition("::")[2]
        case ir.Attr(name=name):
            return name
        case _:
            return ""
