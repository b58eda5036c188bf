"""`requires_grad`: the flag on tensors, parameters and modules."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer import bases
from gradguard.infer.events import FlagForced, FlagMisplaced
from gradguard.infer.frames import Frame
from gradguard.infer.joins import leaves_of
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import Instance, Literal, Tensor, Track, Unknown
from gradguard.ir import nodes as ir


def flag_assigned(
    frame: Frame, state: State, base: Any, value: Any, subject: str, site: Site, target: ir.Attr
) -> None:
    """`base.requires_grad = value`."""

    flag = state.resolve(value)
    wanted = bool(flag.value) if isinstance(flag, Literal) else None
    if isinstance(base, Instance):
        is_self = isinstance(target.base, ir.Name) and target.base.id == "self"
        if bases.is_module(frame, base) and not is_self and isinstance(flag, Literal):
            frame.run.emit(FlagMisplaced("requires_grad", subject, "module", site))
        else:
            state.write(base.id, "requires_grad", value)
        return
    if isinstance(base, Unknown):
        if base.role == "model" and wanted is False:
            frame.run.emit(FlagMisplaced("requires_grad", subject, "module", site))
        if wanted:
            frame.run.forced[base.origin] = (site, f".requires_grad = {flag.value}", subject)
        return
    tensor_options = [one for one in map(state.resolve, leaves_of(base)) if isinstance(one, Tensor)]
    if not tensor_options:
        return
    if wanted:
        tracked = [t for t in tensor_options if t.track is Track.TRACKED and t.made]
        if tracked and len(tensor_options) == len(leaves_of(base)):
            frame.run.emit(FlagForced(tracked[0], subject, ".requires_grad = True", site, True, None))
    for tensor in tensor_options:
        if not (wanted and tensor.track is Track.TRACKED):
            set_flag(frame, state, tensor, wanted, site, ".requires_grad = True")


def set_flag(
    frame: Frame, state: State, tensor: Tensor, wanted: bool | None, site: Site, form: str
) -> Tensor:
    """The flag of a tensor set to `wanted` (None: unknown); tells the tensor's present form."""
    owner = frame.run.owners.get(tensor.origin)
    if owner is not None:
        freeze(frame, state, owner, wanted)
    if wanted is None:
        changed = replace(tensor, track=Track.CONDITIONAL, when=None, opaque=True)
    elif not wanted:
        if tensor.track is not Track.LEAF:
            return tensor
        changed = replace(tensor, track=Track.DATA)
    elif tensor.track in (Track.TRACKED, Track.LEAF, Track.FORCED, Track.VIEW):
        return tensor
    elif tensor.track is Track.DATA and (not tensor.made or not tensor.lossy or not tensor.assumed):
        changed = replace(tensor, track=Track.LEAF, opaque=False)
    elif tensor.rebound:
        changed = replace(tensor, track=Track.LEAF, cause=None, rebound=(), opaque=False)
    elif tensor.track is Track.UNTRACKED and tensor.cause is not None and _is_computed(tensor):
        changed = replace(tensor, track=Track.FORCED, forced=(site, form), opaque=False)
    else:
        changed = replace(tensor, track=Track.LEAF, cause=None, opaque=False)
    state.change(tensor, changed)
    return changed


def _is_computed(tensor: Tensor) -> bool:
    """Whether the value is more than a detached copy: a copy that asks for gradients is a fresh leaf on purpose."""
    cause = tensor.cause
    if cause is None:
        return False
    return cause.kind == "guard" or tensor.lossy or cause.integer or tensor.number or cause.site.at != NOWHERE


NOWHERE = -1


def freeze(frame: Frame, state: State, owner: Any, wanted: bool | None) -> None:
    """Switch the trainability of a module and of everything in it."""
    from gradguard.infer import classes

    owner = state.resolve(owner)
    if not isinstance(owner, Instance):
        return
    value: Any = Literal(wanted) if wanted is not None else frame.run.unknown()
    seen: set[int] = set()
    pending = [owner]
    while pending:
        module = pending.pop()
        if module.id in seen:
            continue
        seen.add(module.id)
        state.write(module.id, "#trainable", value)
        pending.extend(classes.submodules(state, module))
        for field in list(state.fields(module.id).values()):
            if isinstance(field, Tensor) and state.resolve(field).track in (Track.LEAF, Track.DATA):
                leaf = state.resolve(field)
                if leaf.track is Track.LEAF and wanted is False:
                    state.change(leaf, replace(leaf, track=Track.DATA))
                elif leaf.origin in state.changed and wanted:
                    state.change(leaf, replace(leaf, track=Track.LEAF))
