"""Which modules own the parameters that an optimizer is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradguard.infer import classes, iteration
from gradguard.infer.frames import Frame
from gradguard.infer.lineage import ancestors, lineage_of
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import (
    Dict,
    Instance,
    Lazy,
    Parameters,
    Tensor,
    Track,
)
from gradguard.ir import nodes as ir


@dataclass(frozen=True, slots=True)
class Holding:
    """The modules and leaves that an optimizer moves; `whole`: there are no others."""

    ids: frozenset[int]
    whole: bool


def note_optimized(frame: Frame, state: State, params: Any, site: Site, optimizer: int) -> None:
    """Remember which modules' parameters an optimizer was given."""
    for value in optimized_owners(frame, state, params, 0):
        frame.run.optimized.setdefault(value, site)
    if optimizer not in frame.run.holdings:
        frame.run.holdings[optimizer] = held(frame, state, params)


def held(frame: Frame, state: State, params: Any) -> Holding:
    """What parameters these are."""
    ids: set[int] = set()
    whole = True
    pending = [params]
    while pending:
        value = state.resolve(pending.pop())
        items = iteration.known_items(frame, state, value)
        if isinstance(value, Dict) and ("key", "params") in state.fields(value.id):
            pending.append(state.read(value.id, ("key", "params")))
        elif isinstance(value, Parameters) and isinstance(state.resolve(value.owner), Instance):
            ids |= parameters_within(state, state.resolve(value.owner))
        elif isinstance(value, Tensor):
            for root in [one.root for one in ancestors([lineage_of(value)]).values() if one.root]:
                owner = frame.run.owners.get(root)
                owner = state.resolve(owner) if owner is not None else None
                whole = whole and (owner is None or isinstance(owner, Instance))
                ids |= parameters_within(state, owner) if isinstance(owner, Instance) else {root}
        elif items is not None:
            pending.extend(items)
        elif found := _lazy_sources(state, value):
            pending.extend(found)
        elif isinstance(value, Lazy) and value.kind == "generator expression":
            pending.append(_tried(frame, state, value))
        else:
            whole = False
    return Holding(frozenset(ids), whole)


def _tried(frame: Frame, state: State, value: Lazy) -> Any:
    """What a generator expression gives, without consuming it."""
    frame.run.quiet += 1
    try:
        return iteration.element(frame, state.fork(), value, ir.NOWHERE)
    finally:
        frame.run.quiet -= 1


def parameters_within(state: State, module: Instance) -> set[int]:
    """The ids of a module, of those in it, and of their leaves."""
    found = set(_with_children(state, module))
    for identity in tuple(found):
        for field in state.fields(identity).values():
            if isinstance(field, Tensor) and state.resolve(field).track is Track.LEAF:
                found.add(field.origin)
    return found


def optimized_owners(frame: Frame, state: State, params: Any, depth: int) -> list[int]:
    """The ids of the modules whose parameters these are."""
    params = state.resolve(params)
    if depth > 4:
        return []
    if isinstance(params, Parameters):
        return _with_children(state, params.owner)
    if isinstance(params, Tensor):
        owner = frame.run.owners.get(params.origin)
        return _with_children(state, owner) if owner is not None else []
    items = iteration.known_items(frame, state, params)
    if items is None:
        items = _lazy_sources(state, params)
    found: list[int] = []
    for item in items:
        item = state.resolve(item)
        if hasattr(item, "id") and ("key", "params") in state.fields(item.id):
            item = state.read(item.id, ("key", "params"))
        found.extend(optimized_owners(frame, state, item, depth + 1))
    return found


def _lazy_sources(state: State, params: Any) -> list[Any]:
    from gradguard.infer.values import List

    if isinstance(params, Lazy) and params.kind == "filter":
        return [params.payload[1]]
    if isinstance(params, List):
        items = state.read(params.id, "#items")
        rest = state.read(params.id, "#rest")
        return [*(items.items if items else ()), *([rest] if rest is not None else [])]
    return []


def _with_children(state: State, owner: Any) -> list[int]:
    owner = state.resolve(owner)
    if not isinstance(owner, Instance):
        return []
    found, pending = [], [owner]
    while pending:
        module = pending.pop()
        if module.id not in found:
            found.append(module.id)
            pending.extend(classes.submodules(state, module))
    return found
