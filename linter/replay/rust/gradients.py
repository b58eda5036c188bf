"""Backward, and the gradients that it leaves or does not leave."""

from __future__ import annotations

from gradguard.facts.crates import Crate
from gradguard.infer.sites import Site
from gradguard.replay.rust import tensors
from gradguard.replay.rust.session import Frame, RustSession
from gradguard.replay.rust.values import NONE, Panic, Plain, Table, Variant, ok, some
from gradguard.replay.value import Value
from gradguard.runtime import profiles
from gradguard.runtime.backward import grad as differentiate
from gradguard.runtime.modes import grad_mode
from gradguard.runtime.ops import arithmetic, reduction
from gradguard.runtime.tenferro import EagerTensor, NonScalarGrad, _reachable_leaves
from gradguard.runtime.tensor import Tensor

UNTRACKED = "element 0 of tensors does not require grad and does not have a grad_fn"
NO_NODE = "the root of backward has no node in the graph"


def backward(frame: Frame, crate: Crate, value: EagerTensor, site: Site, name: str) -> Value:
    """Differentiate a value: what the crate answers, an `Err`, or a panic."""
    session = frame.session
    session.backwards.add(site)
    session.asked = True
    tensor = value._inner
    if crate.profile == "torch":
        return _loud(session, tensor, name)
    if crate.profile == "burn" and not tensor.requires_grad and getattr(value, "is_root", False):
        raise Panic(NO_NODE)
    if tensor._array.ndim:
        if crate.profile == "tenferro" and session.trace.exact:
            return Variant("Err", (str(NonScalarGrad(tensor._array.shape)),))
        with grad_mode(tensor.requires_grad):
            tensor = reduction.sum_(tensor)
    found = _differentiated(tensor, accumulates=crate.profile == "tenferro")
    return ok(Table({key: one for key, one in found.items() if not _is_taken_away(session, key)}))


def _loud(session: RustSession, tensor: Tensor, name: str) -> Value:
    """torch's own backward, behind `backward` or `f_backward`."""
    if not tensor.requires_grad:
        if name.startswith("f_"):
            return Variant("Err", (UNTRACKED,))
        raise Panic(UNTRACKED)
    if tensor._array.ndim:
        with grad_mode(True):
            tensor = reduction.sum_(tensor)
    _differentiated(tensor, accumulates=True)
    return ok(None)


def _differentiated(tensor: Tensor, *, accumulates: bool) -> dict[int, Value]:
    """The gradients of the leaves that a value depends on, by the leaves' identities."""
    leaves = [tensor] if tensor.is_leaf and tensor.requires_grad else _reachable_leaves(tensor)
    if not leaves:
        return {}
    with profiles.profile(profiles.TENFERRO):
        found = differentiate(tensor, leaves, retain_graph=True, allow_unused=True)
    table: dict[int, Value] = {}
    with grad_mode(False):
        for leaf, gradient in zip(leaves, found, strict=True):
            if gradient is None:
                continue
            table[id(leaf)] = gradient
            present = leaf._grad
            leaf._grad = (
                gradient.clone() if present is None or not accumulates else arithmetic.add(present, gradient)
            )
    return table


def read_gradient(frame: Frame, crate: Crate, value: EagerTensor, table: Table | None) -> Variant:
    """The gradient of a tensor as an option, inside a result where the crate has one around it."""
    session = frame.session
    found = _gradient(session, value, table)
    if found is None or _is_taken_away(session, id(value._inner)):
        session.absent += 1
        option = NONE
    elif crate.profile == "tenferro":
        option = some(Plain(found))
    else:
        option = some(tensors.constant(session, found))
    return ok(option) if "result" in crate.layers else option


def _gradient(session: RustSession, value: EagerTensor, table: Table | None) -> Value:
    tensor = value._inner
    if table is not None:
        found = table.found.get(id(tensor))
        if found is None and not session.asked and id(tensor) in session.seeded:
            found = _standing_in(tensor)
    else:
        found = tensor._grad
        if found is None and not session.asked and id(tensor) in session.seeded:
            # What came in from outside may have been through a backward there.
            found = _standing_in(tensor)
    return None if found is None else found._array


def _standing_in(tensor: Tensor) -> Value:
    with grad_mode(False):
        return tensor.detach().clone()


def reached(session: RustSession, table: Table) -> int:
    """How many gradients a table holds: of one from outside, those of all leaves from outside."""
    if not table.made_up:
        return len(table.found)
    return sum(1 for key in session.seeded if not _is_taken_away(session, key))


def _is_taken_away(session: RustSession, key: int) -> bool:
    if not session.missing:
        return False
    if session.missing == "all":
        return True
    number = int(session.missing)
    return number < len(session.leaves) and list(session.leaves)[number] == key
