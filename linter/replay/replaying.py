"""Replaying a finding: run after run until one shows what happens."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter
from typing import TYPE_CHECKING

from gradguard.findings import Replay
from gradguard.infer.events import FlagForced, ModeLeft
from gradguard.infer.sites import Root
from gradguard.replay import failed
from gradguard.replay.backend import Backend
from gradguard.replay.case import Case
from gradguard.replay.limits import SECONDS, SECONDS_ON_TORCH
from gradguard.replay.messages import first_sentence
from gradguard.replay.outcomes import CONFIRMED, DEPENDS, Verdict, verdict
from gradguard.replay.session import Policy, Session
from gradguard.replay.starting import run_root

if TYPE_CHECKING:
    from gradguard.facts.tables import Facts
    from gradguard.infer.program import Program

TOTAL, TOTAL_ON_TORCH = 0.6, 20.0
"""Seconds after which no further run of a finding is begun."""


def replay_case(case: Case, program: Program, facts: Facts, backend: Backend) -> Replay:
    """What happens at run time. It never raises: what goes wrong in the replay makes it inconclusive."""
    return replay_in_full(case, program, facts, backend)[0]


def replay_in_full(
    case: Case, program: Program, facts: Facts, backend: Backend
) -> tuple[Replay, Session | None]:
    """What happens at run time, and the run that shows it; None where the replay itself failed."""
    name = backend.profile or "torch"
    try:
        (outcome, detail), session = _replayed(case, program, facts, backend)
    except Exception as error:
        return failed(name, error), None
    return Replay(name, outcome, detail), session


def _replayed(case: Case, program: Program, facts: Facts, backend: Backend) -> tuple[Verdict, Session | None]:
    reasons: list[tuple[str, Session]] = []
    fine: tuple[Verdict, Session] | None = None
    ends = perf_counter() + (TOTAL if backend.embedded else TOTAL_ON_TORCH)
    chose = True
    for root, policy in _attempts(case):
        if fine is not None and (policy.forced or root != case.roots[0]):
            break
        if reasons and perf_counter() > ends:
            break
        if not policy.truth and not chose:
            continue
        session = run(case, program, facts, backend, root, policy)
        found, chose = verdict(case, session), session.trace.chose
        if found is None:
            reasons.append((_reason(session), session))
        elif found.outcome in CONFIRMED:
            return found, session
        elif doubt := _doubt(case, session, root):
            reasons.append((doubt, session))
        elif not session.trace.exact and not _holds_without_graph(
            case, program, facts, backend, root, policy
        ):
            return Verdict("inconclusive", DEPENDS), session
        else:
            fine = found, session
    if fine is not None:
        return fine
    reason, tried = reasons[0] if reasons else ("the replay has no place to start from", None)
    return Verdict("inconclusive", reason), tried


def _doubt(case: Case, session: Session, root: Root) -> str:
    """Why a run in which nothing happens does not refute the finding; "" where it does."""
    if root != case.roots[0]:
        return "it does not happen in a run that starts elsewhere"
    if session.trace.stopped or session.trace.error is not None:
        return _reason(session)
    if not all(site in session.reached for site in case.witness if site.at >= 0):
        return "the replay does not come by all places of the finding"
    return ""


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


def run(case: Case, program: Program, facts: Facts, backend: Backend, root: Root, policy: Policy) -> Session:
    """One run of a root, watched at the places of a case."""
    session = Session(
        program,
        facts,
        backend,
        case.watched(),
        policy,
        sinks=frozenset((case.sink,)),
        seconds=SECONDS if backend.embedded else SECONDS_ON_TORCH,
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
