"""What a trace says of a finding: it raises, passes in silence, does not happen, or nothing can be said."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from gradguard.infer.events import (
    ActivationCut,
    BackwardAsked,
    ConstantTerm,
    FlagForced,
    GradRead,
    UpdateSkips,
)
from gradguard.infer.sites import Site
from gradguard.replay.case import Case
from gradguard.replay.messages import first_sentence, is_gradient_error, is_untracked_error
from gradguard.replay.session import Session
from gradguard.replay.trace import Seen
from gradguard.replay.value import Value

SHOWN = 3
CONFIRMED = ("raises", "silent")
DEPENDS = "it depends on values that the replay does not know"


class Verdict(NamedTuple):
    """An outcome and what was seen, a clause without a full stop."""

    outcome: str
    detail: str


FINE = Verdict("fine", "nothing of the kind happens")


def verdict(case: Case, session: Session) -> Verdict | None:
    """What a replay shows of its finding; None where it did not come that far."""
    from gradguard.replay.mode_outcomes import MODE_DECIDERS

    decide = _DECIDERS.get(case.code) or MODE_DECIDERS.get(case.code, _any_error)
    return decide(case, session)


def raised(
    case: Case, session: Session, test: Callable[[BaseException], bool], *sites: Site
) -> Verdict | None:
    """An error of a kind that came out of one of the places."""
    for seen in session.trace.seen:
        if seen.site in sites and seen.error is not None and test(seen.error):
            return Verdict("raises", first_sentence(seen.error))
    return None


def _any_error(case: Case, session: Session) -> Verdict | None:
    return raised(case, session, is_gradient_error, case.sink, case.site)


def unreached(names: tuple[str, ...]) -> str:
    """The leaves without a gradient in words."""
    if not names:
        return "no leaf gets a gradient"
    shown = ", ".join(f"`{name}`" for name in names[:SHOWN])
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f"no gradient reaches {shown}{more}"


def _passed(case: Case, session: Session) -> list[Seen]:
    """The passages through the sink that raised nothing."""
    return [seen for seen in session.trace.at(case.sink, "node", "read") if seen.error is None]


def _backward(case: Case, session: Session) -> Verdict | None:
    """GRD101, GRD102, GRD310: backward raises, or comes back without having done anything."""
    event = case.event
    if isinstance(event, ActivationCut):
        return _cut(case, session)
    if isinstance(event, ConstantTerm):
        return _constant(case, session)
    found = raised(case, session, is_untracked_error, case.sink, case.site)
    if found is not None:
        return found
    passed = _passed(case, session)
    silent = [seen for seen in passed if _receiver_tracked(session, seen) is False]
    if silent:
        return Verdict("silent", f"{_came_back(session)}, and {unreached(silent[0].missing)}")
    return FINE if passed else None


def _came_back(session: Session) -> str:
    """What backward on an untracked value does in a framework where it raises nothing."""
    if session.backend.profile == "tenferro":
        return "backward gives Ok with 0 gradients"
    return "backward comes back without an error"


def _receiver(session: Session, seen: Seen) -> Value:
    return next((t for one in seen.operands if (t := session.tensor_of(one)) is not None), None)


def _receiver_tracked(session: Session, seen: Seen) -> bool | None:
    tensor = _receiver(session, seen)
    return None if tensor is None else bool(tensor.requires_grad)


def _cut(case: Case, session: Session) -> Verdict | None:
    """A tracked value goes in, an untracked one comes out."""
    passed = [seen for seen in session.trace.at(case.site, "node", "read") if seen.error is None]
    for seen in passed:
        if _receiver_tracked(session, seen) and seen.tracked is False:
            missing = session.without_gradient()
            tail = f", and {unreached(missing)}" if missing else ""
            return Verdict("silent", f"what comes out carries no graph{tail}")
    return FINE if passed else None


def _constant(case: Case, session: Session) -> Verdict | None:
    """GRD109: the term is untracked where it was made, and the sum is differentiated."""
    event = case.event
    assert isinstance(event, ConstantTerm)
    made = session.trace.at(event.term.cause.site, "node") or session.trace.at(event.term.site, "node")
    passed = [seen for seen in made if seen.error is None]
    if not passed or not _passed(case, session):
        return None
    if any(seen.tracked is not True for seen in passed):
        return Verdict(
            "silent", "the sum is differentiated without an error, and this term passes no gradient on"
        )
    return FINE


def _forced(case: Case, session: Session) -> Verdict | None:
    """GRD103: the flag raises, or backward ends at the flagged value."""
    found = raised(case, session, is_gradient_error, case.site)
    if found is not None:
        return found
    flagged = [
        tensor for seen in session.trace.at(case.site, "node", "read") for tensor in _flagged(session, seen)
    ]
    passed = _passed(case, session)
    if not flagged or not passed or not _was_computed(case, session):
        return raised(case, session, is_gradient_error, case.sink)
    stopped = [tensor for tensor in flagged if tensor.requires_grad and tensor.grad_fn is None]
    if not stopped:
        return FINE
    own = {id(tensor) for tensor in stopped}
    last = passed[-1]
    if case.sink != case.site and any(id(leaf) not in own for leaf in last.reached):
        return None if session.policy.tracked and not session.trace.exact else FINE
    names = tuple(name for name in last.missing if name)
    return Verdict("silent", f"backward ends at the flagged value, and {unreached(names)}")


def _was_computed(case: Case, session: Session) -> bool:
    """Whether the run has come by the place where the witness says that the graph was lost."""
    event = case.event
    if not isinstance(event, FlagForced):
        return False
    cause = event.value.cause if event.value is not None else None
    if cause is None or cause.site == case.site:
        return True
    made = session.trace.at(cause.site)
    return not made or any(seen.tracked is not True for seen in made)


def _flagged(session: Session, seen: Seen) -> list[Value]:
    values = [seen.value] if seen.value is not None else list(seen.operands[:1])
    return [tensor for one in values if (tensor := session.tensor_of(one)) is not None]


def _gradient(case: Case, session: Session) -> Verdict | None:
    """GRD104: asking raises, or gives None."""
    found = raised(case, session, is_gradient_error, case.sink, case.site)
    if found is not None:
        return found
    passed = _passed(case, session)
    if not passed:
        return None
    if isinstance(case.event, GradRead) or any(seen.kind == "read" for seen in passed):
        return _read(session, passed)
    if any(isinstance(seen.value, tuple) and None in seen.value for seen in passed):
        return Verdict("silent", "the gradient is None")
    silent = [seen for seen in passed if _receiver_tracked(session, seen) is False]
    return (
        Verdict("silent", "the call comes back without an error and without a gradient") if silent else FINE
    )


def _read(session: Session, passed: list[Seen]) -> Verdict | None:
    """`.grad` of what is no leaf is None for ever; a leaf's may only not be there yet."""
    missing = [seen for seen in passed if seen.value is None]
    if len(missing) < len(passed):
        return FINE
    bases = [tensor for seen in missing if (tensor := _receiver(session, seen)) is not None]
    if any(not tensor.is_leaf and id(tensor) not in session.made_up for tensor in bases):
        error = session.trace.error
        if isinstance(error, TypeError | AttributeError) and "None" in str(error):
            return Verdict(
                "raises", f"`.grad` is None as the tensor is no leaf, then {first_sentence(error)}"
            )
        return Verdict("silent", "`.grad` is None: the tensor is no leaf")
    return None


def _returned_loss(case: Case, session: Session) -> Verdict | None:
    """GRD105: what a trainer's backward does with the returned value."""
    from gradguard.replay.execute import Returned

    for seen in session.trace.at(case.site, "leave", "node"):
        value = seen.value.value if isinstance(seen.value, Returned) else seen.value
        loss = value.get("loss") if isinstance(value, dict) else value
        tensor = session.tensor_of(loss)
        if tensor is None:
            continue
        if tensor.requires_grad:
            return FINE
        with session.backend.thread():
            try:
                tensor.sum().backward()
            except RuntimeError as error:
                return Verdict("raises", f"the trainer's backward raises {first_sentence(error)}")
        return Verdict(
            "silent", "the trainer's backward comes back without an error, and no leaf gets a gradient"
        )
    return None


def _inference(case: Case, session: Session) -> Verdict | None:
    """GRD106: autograd refuses to save the tensor."""
    found = raised(case, session, lambda error: "nference tensor" in str(error), case.sink, case.site)
    if found is not None:
        return found
    return FINE if _passed(case, session) else None


def _view(case: Case, session: Session) -> Verdict | None:
    """GRD108: the view says that it is tracked and passes nothing on."""
    event = case.event
    found = raised(case, session, is_gradient_error, case.sink, case.site)
    if found is not None:
        return found
    cause = event.value.cause if isinstance(event, BackwardAsked) else None
    made = [s for s in session.trace.at(cause.site if cause else case.site, "node") if s.error is None]
    passed = _passed(case, session)
    if not made or not passed:
        return None
    for seen in made:
        tensor = session.tensor_of(seen.value)
        if tensor is not None and tensor.requires_grad and _is_nobodys(tensor):
            return Verdict("silent", f"backward runs without an error, and {unreached(passed[-1].missing)}")
    return FINE


def _is_nobodys(tensor: Value) -> bool:
    """Whether a view has no node in the graph."""
    try:
        return bool(tensor.is_leaf)
    except RuntimeError:
        return True


def _update(case: Case, session: Session) -> Verdict | None:
    """GRD201: a loop that updates what has a gradient ends without changing what has none."""
    notes = session.trace.facts.get("updates", ())
    for present, missing in notes:
        if missing.in_optimizer and not (isinstance(case.event, UpdateSkips) and case.event.in_optimizer):
            continue
        if missing.ended and missing.tensors and not missing.changed and _writes(case, present):
            what = "a parameter" if missing.tensors == 1 else f"{missing.tensors} parameters"
            return Verdict(
                "silent", f"{what} without a gradient: the loop ends without an error and changes nothing"
            )
    return FINE if any(missing.tensors or present.tensors for present, missing in notes) else None


def _writes(case: Case, present: Value) -> bool:
    """Whether the loop writes a parameter that has a gradient, as was seen or as the linter says."""
    return bool(present.changed) or case.event is not None


def _is_missing(error: BaseException) -> bool:
    """Whether an error says that there is no graph, or that None is there in place of a gradient."""
    return is_untracked_error(error) or (
        isinstance(error, TypeError | AttributeError) and "None" in str(error)
    )


def _rebound(case: Case, session: Session) -> Verdict | None:
    """GRD202: the next gradient of the new tensor is missing."""
    found = raised(case, session, _is_missing, case.sink)
    if found is not None:
        return found
    passed = _passed(case, session)
    missing = [seen for seen in passed if seen.value is None and seen.kind == "read"]
    if missing and session.trace.error is not None:
        return Verdict("raises", first_sentence(session.trace.error))
    if missing:
        return Verdict("silent", "the new tensor's `.grad` is None")
    untracked = [seen for seen in passed if _receiver_tracked(session, seen) is False]
    if untracked:
        return Verdict("silent", f"{_came_back(session)}, and {unreached(untracked[0].missing)}")
    return FINE if passed else None


def _freeze(case: Case, session: Session) -> Verdict | None:
    """GRD401: the flag stays as it was."""
    from gradguard.replay.wild import Wild

    passed = [seen for seen in session.trace.at(case.site, "node", "read") if seen.error is None]
    if not passed:
        return raised(case, session, lambda error: True, case.site)
    owner = next((one for seen in passed for one in seen.operands[:1]), None)
    tensors: list[Value] = []
    if session.tensor_of(owner) is not None:
        tensors = [session.tensor_of(owner)]
    elif isinstance(owner, session.backend.torch.nn.Module | Wild):
        tensors = list(owner.parameters())
    if not tensors:
        return None
    if any(tensor.requires_grad for tensor in tensors):
        return Verdict("silent", "`requires_grad` is still True behind this line")
    return FINE


def _guarded_module(case: Case, session: Session) -> Verdict | None:
    """GRD308: the module's forward leaves no graph, and backward passes it over."""
    trace = session.trace
    calls = [seen for seen in trace.at(case.site, "node") if seen.tracked is not None]
    entries = [seen for site in case.around.get("function", ()) for seen in trace.at(site, "enter")]
    if not calls and not entries:
        return None
    guarded = (
        all(not seen.tracked for seen in calls) if calls else all(not seen.after.records for seen in entries)
    )
    missing = session.without_gradient()
    return Verdict("silent", unreached(missing)) if guarded and missing else FINE


def _made_under_inference(case: Case, session: Session) -> Verdict | None:
    """GRD311: the weights are inference tensors."""
    trace = session.trace
    if trace.error is not None and "nference tensor" in str(trace.error):
        return Verdict("raises", first_sentence(trace.error))
    if not trace.at(case.site):
        return None
    lost = tuple(name for name, leaf in session.leaves.values() if leaf.is_inference() and leaf.grad is None)
    return (
        Verdict("silent", f"backward and step run without an error, and {unreached(lost)}") if lost else FINE
    )


_DECIDERS: dict[str, Callable[[Case, Session], Verdict | None]] = {
    "GRD101": _backward,
    "GRD102": _backward,
    "GRD103": _forced,
    "GRD104": _gradient,
    "GRD105": _returned_loss,
    "GRD106": _inference,
    "GRD108": _view,
    "GRD109": _constant,
    "GRD201": _update,
    "GRD202": _rebound,
    "GRD308": _guarded_module,
    "GRD310": _backward,
    "GRD311": _made_under_inference,
    "GRD401": _freeze,
}
