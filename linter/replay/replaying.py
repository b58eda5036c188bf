"""Replaying a finding: run after run until one shows what happens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gradguard.findings import Replay
from gradguard.infer.events import FlagForced, ModeLeft
from gradguard.infer.sites import Root
from gradguard.replay.backend import Backend
from gradguard.replay.case import Case
from gradguard.replay.messages import first_sentence
from gradguard.replay.outcomes import Verdict, verdict
from gradguard.replay.session import Policy, Session
from gradguard.replay.starting import run_root

if TYPE_CHECKING:
    from gradguard.facts.tables import Facts
    from gradguard.infer.program import Program

CONFIRMED = ("raises", "silent")
_ALL_UNTRACKED = "it depends on values that the replay does not know"


def replay_case(case: Case, program: Program, facts: Facts, backend: Backend) -> Replay:
    """What happens at run time. The replay never raises: what goes wrong in it is a reason to be inconclusive."""
    return replay_in_full(case, program, facts, backend)[0]


def replay_in_full(
    case: Case, program: Program, facts: Facts, backend: Backend
) -> tuple[Replay, Session | None]:
    """What happens at run time, and the run that shows it; None where the replay itself failed."""
    name = backend.profile or "torch"
    try:
        (outcome, detail), session = _replayed(case, program, facts, backend)
    except Exception as error:
        return Replay(name, "inconclusive", f"the replay itself failed ({type(error).__name__})"), None
    return Replay(name, outcome, detail), session


def _replayed(
    case: Case, program: Program, facts: Facts, backend: Backend
) -> tuple[Verdict, Session | None]:
    reasons: list[tuple[str, Session]] = []
    fine: tuple[Verdict, Session] | None = None
    for root, policy in _attempts(case):
        if fine is not None and (policy.forced or root != case.roots[0]):
            break
        session = run(case, program, facts, backend, root, policy)
        found = verdict(case, session)
        if found is None:
            reasons.append((_reason(session), session))
            continue
        if found.outcome in CONFIRMED:
            return found, session
        fine = found, session
        if not session.trace.exact and not _holds_without_graph(case, program, facts, backend, root, policy):
            return Verdict("inconclusive", _ALL_UNTRACKED), session
        if not session.trace.chose and policy.fails is None and not isinstance(case.event, ModeLeft):
            break
    if fine is not None:
        return fine
    reason, tried = reasons[0] if reasons else ("the replay has no place to start from", None)
    return Verdict("inconclusive", reason), tried


def _attempts(case: Case) -> Iterator[tuple[Root, Policy]]:
    """The runs to try, the likeliest first."""
    tracked = not (isinstance(case.event, FlagForced) and case.event.value is None)
    for root in case.roots:
        yield root, Policy(tracked=tracked)
        yield root, Policy(truth=False, tracked=tracked)
        if isinstance(case.event, ModeLeft):
            yield root, Policy(fails=case.event.guard.site)
        yield root, Policy(forced=True, tracked=tracked)
        yield root, Policy(truth=False, forced=True, tracked=tracked)


def _holds_without_graph(
    case: Case, program: Program, facts: Facts, backend: Backend, root: Root, policy: Policy
) -> bool:
    """Whether the finding does not happen either when nothing that comes in carries a graph."""
    bare = Policy(policy.truth, policy.forced, tracked=False, fails=policy.fails)
    found = verdict(case, run(case, program, facts, backend, root, bare))
    return found is not None and found.outcome not in CONFIRMED


def run(
    case: Case, program: Program, facts: Facts, backend: Backend, root: Root, policy: Policy
) -> Session:
    """One run of a root, watched at the places of a case."""
    session = Session(
        program,
        facts,
        backend,
        case.watched(),
        policy,
        sinks=frozenset((case.sink,)),
        missing_grads=case.site if case.code == "GRD201" else None,
        rebinds=backend.embedded and backend.profile != "torch",
    )
    run_root(session, root, case.places)
    return session


def _reason(session: Session) -> str:
    trace = session.trace
    if trace.stopped:
        return trace.stopped
    if trace.error is not None:
        return f"the replay ends before, with {first_sentence(trace.error)}"
    return "the replay does not come to this place"
