"""Which modules own the parameters that an optimizer is given."""

from __future__ import annotations

from typing import Any

from gradguard.infer import classes, iteration
from gradguard.infer.frames import Frame
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import (
    Instance,
    Lazy,
    Parameters,
    Tensor,
)


def note_optimized(frame: Frame, state: State, params: Any, site: Site) -> None:
    """Remember which modules' parameters an optimizer was given."""
    for value in optimized_owners(frame, state, params, 0):
        frame.run.optimized.setdefault(value, site)


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
