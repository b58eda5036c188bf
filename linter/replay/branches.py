"""Conditions: known ones as they are, unknown ones so that the run comes to what it is to see."""

from __future__ import annotations

from gradguard.infer.sites import Site
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.replay.functions import Steps
from gradguard.replay.scopes import Frame
from gradguard.replay.session import Session
from gradguard.replay.value import Value, words
from gradguard.replay.wild import Wild

Arms = tuple[Value, Value]
_STATE = words(
    "requires_grad grad grad_fn is_leaf is_inference is_grad_enabled is_inference_mode_enabled training "
    "isinstance hasattr stop_gradient"
)


def decide(frame: Frame, test: Value, arms: Arms | None) -> Steps:
    """Whether a condition holds. `arms` are the two things that depend on it."""
    wanted = None if arms is None else _wanted(frame, arms)
    return (yield from _truth(frame, test, wanted))


def _truth(frame: Frame, test: Value, wanted: bool | None) -> Steps:
    from gradguard.replay.evaluate import evaluate

    if isinstance(test, ir.Logic) and test.at not in frame.watched:
        if test.op == "not":
            opposite = None if wanted is None else not wanted
            return not (yield from _truth(frame, test.operands[0], opposite))
        stops_at = test.op == "or"
        for operand in test.operands:
            if (yield from _truth(frame, operand, wanted)) is stops_at:
                return stops_at
        return not stops_at
    value = yield from evaluate(frame, test)
    return truth_of(frame, test, value, wanted)


def truth_of(frame: Frame, test: Value, value: Value, wanted: bool | None) -> bool:
    """Whether a value counts as true where that is known, else what is wanted."""
    from gradguard.replay.operators import Opposite

    session = frame.session
    if isinstance(value, Opposite):
        if value.of.truth is None and wanted is not None:
            value.of.truth = not wanted
        return bool(value)
    if isinstance(value, Wild):
        if value.truth is None and wanted is not None:
            value.truth = wanted
        return bool(value)
    if session.backend.is_tensor(value):
        if wanted is not None and not session.trace.exact:
            return wanted
        return _tensor_truth(session, value)
    known = bool(value)
    if session.policy.forced and wanted is not None and wanted is not known and not _asks_state(test):
        return wanted
    return known


def _tensor_truth(session: Session, value: Value) -> bool:
    try:
        return bool(value)
    except (RuntimeError, ValueError):
        session.trace.chose = True
        return session.policy.truth


def _wanted(frame: Frame, arms: Arms) -> bool | None:
    """Which arm holds a watched place that was not reached yet; None where both or neither do."""
    session = frame.session
    open_places = {at for at in frame.watched if Site(frame.module.key, at) not in session.reached}
    then, other = (places(session, arm) & frame.watched for arm in arms)
    if bool(then & open_places) is not bool(other & open_places):
        return bool(then & open_places)
    if bool(then) is not bool(other):
        return bool(then)
    return None


def places(session: Session, tree: Value) -> frozenset[int]:
    """The handles of all nodes of a tree, or of a body."""
    key = (id(tree), "")
    found = session.contains.get(key)
    if found is None:
        roots = () if tree == () else (tree if isinstance(tree, tuple) else (tree,))
        found = frozenset(node.at for node in walk(roots) if hasattr(node, "at"))
        session.contains[key] = found
        session.kept.append(tree)
    return found


def _asks_state(test: Value) -> bool:
    """Whether a condition asks for the tracking state, which the replay must find out and not choose."""
    for node in walk((test,)):
        match node:
            case ir.Attr(name=name) if name in _STATE:
                return True
            case ir.Name(id=name) if name in _STATE:
                return True
            case ir.Const(value=None):
                return True
    return False
