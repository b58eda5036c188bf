"""What a run says of a finding in Rust."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.infer.events import GuardUnused
from gradguard.replay.case import Case
from gradguard.replay.outcomes import FINE, Verdict, unreached
from gradguard.replay.rust.gradients import NO_NODE, UNTRACKED
from gradguard.replay.rust.log import error_text
from gradguard.replay.rust.session import RustSession
from gradguard.replay.rust.values import Failure, Panic, Variant, opened
from gradguard.replay.trace import Seen
from gradguard.replay.value import Value

_EMPTY = {
    "tenferro": "backward gives Ok with 0 gradients",
    "candle": "backward gives Ok with a store that holds no variable's gradient",
}


def verdict(case: Case, session: RustSession) -> Verdict | None:
    """What a run shows of its finding; None where it did not come that far."""
    decide = _DECIDERS.get(case.code)
    return decide(case, session) if decide is not None else None


def _passed(case: Case, session: RustSession) -> list[Seen]:
    return [seen for seen in session.trace.at(case.sink, "node") if seen.error is None]


def _receiver_tracked(session: RustSession, seen: Seen) -> bool | None:
    tensors = [tensor for one in seen.operands if (tensor := session.tensor_of(one)) is not None]
    return bool(tensors[0].requires_grad) if tensors else None


def _is_untracked(error: BaseException | None) -> bool:
    return isinstance(error, Panic) and str(error) in (UNTRACKED, NO_NODE)


def _backward(case: Case, session: RustSession) -> Verdict | None:
    """GRD101, GRD102: backward is loud, or comes back without having done anything."""
    for seen in session.trace.at(case.sink, "node"):
        if seen.error is not None and _is_untracked(seen.error):
            return Verdict("raises", error_text(seen.error))
        failed = _failed(seen.value)
        if failed is not None and UNTRACKED in failed:
            return Verdict("raises", f"`Err`: {failed}")
    passed = [seen for seen in _passed(case, session) if _failed(seen.value) is None]
    silent = [seen for seen in passed if _receiver_tracked(session, seen) is False]
    if silent:
        came = _EMPTY.get(session.backend.profile, "backward comes back without an error")
        return Verdict("silent", f"{came}, and {unreached(silent[0].missing)}")
    return FINE if passed else None


def _failed(value: Value) -> str | None:
    """The message of an `Err`."""
    value = opened(value)
    if isinstance(value, Variant) and value.name == "Err":
        return str(value.items[0]) if value.items else ""
    return None


def _unchecked(case: Case, session: RustSession) -> Verdict | None:
    """GRD107: with recording off all the way, the function ends as if nothing were wrong."""
    passed = [seen for seen in _passed(case, session) if _receiver_tracked(session, seen) is False]
    if not passed:
        return FINE if _passed(case, session) else None
    if session.trace.stopped:
        return None
    if _is_loud(session):
        return FINE
    came = _EMPTY.get(session.backend.profile, "backward comes back without an error")
    return Verdict("silent", f"on a value that tracks nothing {came}, and the function ends without an error")


def _is_loud(session: RustSession) -> bool:
    """Whether the function has told of something: by an error, a panic, or an absent answer."""
    returned = session.trace.returned
    absent = isinstance(returned, Variant) and returned.name == "None"
    return session.trace.error is not None or absent


def _skips(case: Case, session: RustSession) -> Verdict | None:
    """GRD201: with a gradient taken away, the function ends as if nothing were wrong."""
    if not session.absent or case.site not in session.reached or session.trace.stopped:
        return None
    if _is_loud(session) or session.told - session.usual:
        return FINE
    return Verdict(
        "silent", "a parameter without a gradient: the function ends without an error and passes over it"
    )


def _rebound(case: Case, session: RustSession) -> Verdict | None:
    """GRD202: the next gradient of the new tensor is missing."""
    passed = _passed(case, session)
    missing = [
        seen for seen in passed if _receiver_tracked(session, seen) is False or _is_absent(opened(seen.value))
    ]
    if not missing or case.site not in session.reached:
        return FINE if len(passed) > 1 else None
    error = session.trace.error
    if isinstance(error, Panic | Failure):
        return Verdict("raises", f"the new tensor gets no gradient, then {error_text(error)}")
    return Verdict("silent", "the new tensor gets no gradient")


def _is_absent(value: Value) -> bool:
    return isinstance(value, Variant) and value.name == "None"


def _unused(case: Case, session: RustSession) -> Verdict | None:
    """GRD301: behind the statement recording is on, although it made a guard."""
    made = [held for held in session.guards if _is_made_at(case, held.site)]
    passed = [seen for seen in session.trace.at(case.site) if seen.error is None]
    if not made or not passed:
        return None
    # The call itself may stand at the same place as its statement, which ends last.
    last = passed[-1]
    if any(held.alive for held in made) or (last.before.grad and not last.after.grad):
        return FINE
    return Verdict("silent", "the guard is dropped in this statement, and recording is on behind it")


def _is_made_at(case: Case, site: Value) -> bool:
    return not isinstance(case.event, GuardUnused) or case.event.guard.site == site


_DECIDERS: dict[str, Callable[[Case, RustSession], Verdict | None]] = {
    "GRD101": _backward,
    "GRD102": _backward,
    "GRD107": _unchecked,
    "GRD201": _skips,
    "GRD202": _rebound,
    "GRD301": _unused,
}
