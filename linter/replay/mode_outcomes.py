"""What a trace says of a finding about guards: which mode was met where."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.infer.events import CoroutineGuarded
from gradguard.replay.case import Case
from gradguard.replay.messages import first_sentence, is_untracked_error
from gradguard.replay.outcomes import FINE, Verdict, raised
from gradguard.replay.session import Session
from gradguard.replay.trace import Seen
from gradguard.replay.value import Value


def without_effect(case: Case, session: Session) -> Verdict | None:
    """GRD301, GRD302: recording stays on behind the guard, or inside what it was to cover."""
    made = [seen for seen in session.trace.at(case.site, "node", "read") if seen.error is None]
    inside = _inside(case, session)
    if inside:
        wrong = [seen for guard, seen in inside if seen.after.records is not _switches_on(guard)]
        return (
            Verdict("silent", f"recording is {'on' if wrong[0].after.records else 'off'} inside")
            if wrong
            else FINE
        )
    if not made:
        return None
    if any(id(seen.value) in session.entered for seen in made):
        return FINE
    if all(seen.before.records and seen.after.records for seen in made):
        return Verdict("silent", "recording is still on behind this line")
    return FINE


def _switches_on(guard: Value) -> bool:
    """Whether a guard object is one that switches recording on."""
    name = type(guard).__name__
    return name == "enable_grad" or (
        name in ("set_grad_enabled", "inference_mode") and guard.mode is (name[0] == "s")
    )


def _inside(case: Case, session: Session) -> list[tuple[Value, Seen]]:
    """The modes met in the with block, the decorated function or class, each with the guard."""
    blocks = case.around.get("with", ())
    found: list[tuple[Value, Seen]] = []
    made: Seen | None = None
    for seen in session.trace.seen:
        if seen.site == case.site and seen.kind in ("node", "read"):
            made = seen
        elif seen.site in blocks and seen.kind == "entered" and seen.error is None and made is not None:
            found.append((made.value, seen))
            made = None
    if found:
        return found
    guard = next((seen.value for seen in session.trace.at(case.site, "node", "read")), None)
    decorated = _seen(case, session, "decorated", "suspended") or _seen(case, session, "decorated", "enter")
    return [(guard, seen) for seen in decorated or _seen(case, session, "methods", "enter")]


def _seen(case: Case, session: Session, where: str, kind: str) -> list[Seen]:
    return [seen for site in case.around.get(where, ()) for seen in session.trace.at(site, kind)]


def miscalled(case: Case, session: Session) -> Verdict | None:
    """GRD302: the with statement or the name raises, or the call guards nothing."""
    entries = case.around.get("with", ())
    found = raised(
        case, session, lambda error: isinstance(error, TypeError | AttributeError), case.site, *entries
    )
    return without_effect(case, session) if found is None else found


def given_away(case: Case, session: Session) -> Verdict | None:
    """GRD303, GRD304: the mode in which control is given to somebody else."""
    if isinstance(case.event, CoroutineGuarded):
        inside = _seen(case, session, "function", "enter")
        if not inside:
            return None
        if any(seen.before.records for seen in inside):
            return Verdict("silent", "the body runs with recording on")
        return FINE
    passed = session.trace.at(case.site, "suspended")
    if not passed:
        return None
    if case.around.get("manager"):
        # The body of a with statement is meant to run in the manager's mode.
        return FINE
    leaking = [s for s in passed if s.resumed is not None and s.resumed.records and not s.before.records]
    if not leaking:
        return FINE
    who = "the consumer" if case.code == "GRD303" else "the event loop"
    error = session.trace.error
    if error is not None and is_untracked_error(error):
        return Verdict("raises", f"{who} goes on with recording off, then {first_sentence(error)}")
    return Verdict("silent", f"{who} goes on with recording off, which was on when it gave control")


def left_off(case: Case, session: Session) -> Verdict | None:
    """GRD305: recording is off when the function has been left, or where a gradient is asked for."""
    trace = session.trace
    found = raised(case, session, lambda error: "require" in str(error), case.sink)
    if found is not None and case.sink != case.site:
        return found
    if not trace.at(case.site):
        return None
    for seen in _seen(case, session, "function", "leave"):
        if seen.before.records and not seen.after.records:
            how = "has raised an error" if seen.error is not None else "has returned"
            return Verdict("silent", f"recording is still off when the function {how}")
    if not trace.modes.records:
        return Verdict("silent", "recording is still off at the end")
    return FINE


def in_thread(case: Case, session: Session) -> Verdict | None:
    """GRD306: the thread records although its starter does not."""
    starts = session.trace.facts.get("threads", ())
    if any(not outer.records and inner.records for outer, inner in starts):
        return Verdict("silent", "recording is off where the work is handed over and on in the thread")
    return FINE if starts else None


def lazily(case: Case, session: Session) -> Verdict | None:
    """GRD307: made with recording off, computed with recording on."""
    trace = session.trace
    made = [seen for seen in trace.at(case.site, "node") if not seen.before.records]
    computed = trace.at(case.site, "element")
    pairs = [pair for pair in trace.facts.get("lazy", ()) if not pair[0].records]
    if (made and any(seen.before.records for seen in computed)) or any(inner.records for _, inner in pairs):
        return Verdict("silent", "its elements are computed with recording on")
    return FINE if computed or pairs else None


def enabled_under_inference(case: Case, session: Session) -> Verdict | None:
    """GRD309: the query says on, and nothing is recorded."""
    entered = _seen(case, session, "with", "entered") or _seen(case, session, "function", "enter")
    entered = entered or session.trace.at(case.site, "node")
    if not entered:
        return None
    if any(seen.after.inference for seen in entered):
        return Verdict("silent", "`is_grad_enabled()` says True inside, and nothing is recorded")
    return FINE


def repeated(case: Case, session: Session) -> Verdict | None:
    """GRD312: recording was off before the guard."""
    passed = session.trace.at(case.site, "node", "entered") or _seen(case, session, "with", "entered")
    passed = passed or _seen(case, session, "function", "enter")
    if not passed:
        return None
    if all(not seen.before.records for seen in passed):
        return Verdict("silent", "recording is off already in front of it")
    return FINE


MODE_DECIDERS: dict[str, Callable[[Case, Session], Verdict | None]] = {
    "GRD301": without_effect,
    "GRD302": miscalled,
    "GRD303": given_away,
    "GRD304": given_away,
    "GRD305": left_off,
    "GRD306": in_thread,
    "GRD307": lazily,
    "GRD309": enabled_under_inference,
    "GRD312": repeated,
}
