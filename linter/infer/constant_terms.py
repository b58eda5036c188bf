"""Which constant terms of a differentiated sum were meant to train something.

A term is no fault by being constant: a teacher's entropy, a baseline or the shift of a log-sum-exp is so on purpose.
It is one where parameters lie behind the cut that the program goes on to move with the gradient of this very sum.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gradguard.infer.events import ConstantTerm
from gradguard.infer.frames import Frame
from gradguard.infer.lineage import Signed, ancestors, key_of, lineage_of, recipe, summands
from gradguard.infer.optimized import Holding, parameters_within
from gradguard.infer.run import Run
from gradguard.infer.sites import Root, Site
from gradguard.infer.state import State
from gradguard.infer.values import Instance, Lineage, Tensor, Unknown


@dataclass(slots=True)
class Candidate:
    """A constant term and who may move what lies behind it.

    `behind` are the modules and leaves that it was computed with, `reached` those that the sum's gradient does
    reach, all of them where not `open`. `steps` are the optimizers that step on it: None is one of which nothing
    is known, and `cleared` is what has no gradient of this sum any more when a later one does. `closed`: what steps
    from now on does so for another loss.
    """

    event: ConstantTerm
    root: Root
    behind: frozenset[int]
    reached: frozenset[int]
    open: bool
    steps: list[Holding | None] = field(default_factory=list)
    cleared: set[int] = field(default_factory=set)
    closed: bool = False


def note_terms(frame: Frame, state: State, loss: Tensor, subject: str, site: Site) -> None:
    """Remember the constant terms of a sum that is differentiated."""
    terms = [term for term in loss.terms if term.cause.source not in loss.parts]
    if not terms or frame.run.quiet:
        return
    stop = [term.lineage for term in terms if term.lineage is not None]
    start = lineage_of(loss)
    signs = dict(summands(start, stop=stop).keys())
    tracked = summands(start, stop=stop, statistics=True)
    for one in stop:
        for sign in (1, -1):
            tracked.pop((key_of(one), sign), None)
    inside = ancestors([start], stop)
    reached, is_open = _parameters(frame, state, inside)
    for term in terms:
        node = term.lineage
        if node is None or _is_meant(node, signs.get(key_of(node), 1), tracked):
            continue
        behind, _ = _parameters(frame, state, ancestors([node]))
        summed = {-key for key, _ in tracked if key < 0}
        event = ConstantTerm(term, subject, site)
        frame.run.constants.append(
            Candidate(event, frame.run.root, frozenset(behind), frozenset(reached - summed), is_open)
        )


def _parameters(frame: Frame, state: State, nodes: dict[int, Lineage]) -> tuple[set[int], bool]:
    """The modules and leaves among the nodes, and whether there may be others."""
    found: set[int] = set()
    is_open = False
    for node in nodes.values():
        is_open = is_open or node.opaque
        if node.root and node.trained:
            found.add(node.root)
            owner = frame.run.owners.get(node.root)
            owner = state.resolve(owner) if owner is not None else None
            if isinstance(owner, Instance):
                found |= parameters_within(state, owner)
            is_open = is_open or isinstance(owner, Unknown)
    return found, is_open


def _is_meant(term: Lineage, sign: int, tracked: Signed) -> bool:
    """Whether a term is a constant in relation to the rest of its sum: a level taken off, a shift given back, the
    same quantity as it was before."""
    taken = summands(term, sign, statistics=True)
    if any((key, -way) in tracked for key, way in taken):
        return True
    constant = summands(term, sign, cuts=False)
    ends = [node for node in tracked.values() if not node.linear]
    used = ancestors([parent for end in ends for parent, _ in end.parents])
    if any(key in used for key, _ in constant if key > 0):
        return True
    return any(
        way == -other and _is_same_quantity(node, rest)
        for (_, way), node in taken.items()
        for (_, other), rest in tracked.items()
        if node.name == rest.name and node.parents and rest.parents
    )


def _is_same_quantity(reference: Lineage, present: Lineage) -> bool:
    """Whether both were computed in the same way, of the same parameters and data."""
    if recipe(reference) != recipe(present):
        return False
    of = {key for key in ancestors([reference]) if key < 0}
    return of <= {key for key in ancestors([present]) if key < 0}


def close_windows(frame: Frame) -> None:
    """Another backward: what steps after it steps for another loss, if something has stepped already."""
    for candidate in frame.run.constants:
        candidate.closed = candidate.closed or bool(candidate.steps)


def note_optimizer_call(frame: Frame, optimizer: Instance, name: str) -> None:
    """`optimizer.step()` or `optimizer.zero_grad()`."""
    holding = frame.run.holdings.get(optimizer.id)
    if name == "add_param_group" and holding is not None:
        frame.run.holdings[optimizer.id] = Holding(holding.ids, False)
    elif name == "step":
        _note_step(frame, holding)
    elif name == "zero_grad" and holding is not None:
        note_cleared(frame, holding.ids)


def note_unknown_step(frame: Frame, state: State, stepping: Unknown, args: list[Any]) -> None:
    """`something.step(...)`: of an optimizer of which nothing is known, or a scaler's."""
    optimizers = [one for one in map(state.resolve, args) if isinstance(one, Instance)]
    for optimizer in optimizers:
        if optimizer.id in frame.run.holdings:
            _note_step(frame, frame.run.holdings[optimizer.id])
            return
    if "sched" not in stepping.hint.lower():
        _note_step(frame, None)


def _note_step(frame: Frame, holding: Holding | None) -> None:
    for candidate in frame.run.constants:
        if not candidate.closed and candidate.root == frame.run.root:
            moved = holding and Holding(holding.ids - candidate.cleared, holding.whole)
            candidate.steps.append(moved)


def note_cleared(frame: Frame, ids: set[int] | frozenset[int]) -> None:
    """Gradients were zeroed: no later step moves these with the gradient of an earlier loss."""
    for candidate in frame.run.constants:
        if candidate.steps and not candidate.closed:
            candidate.closed = True
        elif not candidate.steps:
            candidate.cleared |= ids


def settle_terms(run: Run) -> None:
    """Tell of the constant terms behind which something lies that is moved with the gradient of their sum."""
    for candidate in run.constants:
        if _trains(run, candidate):
            run.events.append(candidate.event)
            run.roots.append(candidate.root)


def _trains(run: Run, candidate: Candidate) -> bool:
    behind, concerned = candidate.behind, candidate.behind | candidate.reached
    steps = [one for one in candidate.steps if one is None or not one.whole or one.ids & concerned]
    known = [one for one in steps if one is not None]
    if any(one.ids & behind for one in known):
        return True
    if not steps:
        known = [one for one in run.holdings.values() if one.ids & concerned]
        if known and all(one.whole for one in known):
            return all(one.ids & behind for one in known)
    elif len(known) == len(steps) and all(one.whole for one in known):
        return False
    return bool(behind) and not candidate.open and candidate.reached <= behind
