"""Replaying a finding in Rust: run after run until one shows what happens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from gradguard.findings import Replay
from gradguard.infer.rust.roots import functions_of
from gradguard.infer.rust.spaces import Spaces, TypeInfo
from gradguard.infer.rust.types import NO_TYPE, parse_type
from gradguard.infer.sites import Root, Site
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.recursion import room_for
from gradguard.replay import failed, failure_text
from gradguard.replay.case import Case, case_of
from gradguard.replay.limits import SECONDS, Stopped
from gradguard.replay.outcomes import CONFIRMED, DEPENDS, Verdict
from gradguard.replay.rust import calls, witness
from gradguard.replay.rust.log import error_text
from gradguard.replay.rust.outcomes import verdict
from gradguard.replay.rust.session import Frame, RustBackend, RustSession
from gradguard.replay.rust.values import Closure, Failure, Jump, Leaving, Panic, Struct, Wild, bare, is_failed
from gradguard.replay.session import Policy
from gradguard.replay.starting import ending, np_silence
from gradguard.replay.value import Value

if TYPE_CHECKING:
    from gradguard.facts.tables import Facts
    from gradguard.infer.program import Program
    from gradguard.judge.judging import Judged

TOTAL = 0.9
"""Seconds after which no further run of a finding is begun."""
LEAVES = 4
"""How many leaves are tried as the one whose gradient is missing."""
_FRAMES = 6_000
"""Nested expressions take several frames a level."""


Attempt = tuple[Root, Policy, str, bool]
"""Where a run starts, how it decides, which gradients are taken away, and whether recording is off."""


def rust_case(judged: Judged, program: Program) -> Case:
    """The case of a finding, with the functions of its file as roots."""
    case = case_of(judged, program)
    return replace(case, roots=roots_of(case, judged.root, program))


def roots_of(case: Case, first: Root, program: Program) -> tuple[Root, ...]:
    """The functions to start from: where the finding was seen, the ones around its places, and `main`."""
    spaces = Spaces(program)
    found = [first]
    for site in (case.sink, case.site):
        for function in functions_in(spaces, site.module):
            if any(getattr(node, "at", ir.NOWHERE) == site.at for node in walk(function.body)):
                found.append(Root("function", site.module, function.at))
    space = spaces.of_file(case.site.module)
    main = space.functions.get("main") if space is not None else None
    if main is not None:
        found.append(Root("function", case.site.module, main.at))
    return tuple(dict.fromkeys(found))


def functions_in(spaces: Spaces, key: str) -> list[ir.Function]:
    """The functions of a file."""
    space = spaces.of_file(key)
    return [function for function, _, _ in functions_of(space)] if space is not None else []


def replay_in_full(
    case: Case, program: Program, facts: Facts, backend: RustBackend
) -> tuple[Replay, RustSession | None]:
    """What happens at run time, and the run that shows it; None where the replay itself failed."""
    try:
        found, session = _replayed(case, program, facts, backend)
    except Exception as error:
        return failed(backend.profile, error), None
    return Replay(backend.profile, found.outcome, found.detail), session


def _replayed(
    case: Case, program: Program, facts: Facts, backend: RustBackend
) -> tuple[Verdict, RustSession | None]:
    reasons: list[tuple[str, RustSession]] = []
    fine: tuple[Verdict, RustSession] | None = None
    ends = perf_counter() + TOTAL
    usual: dict[Root, frozenset[Site]] = {}
    for root, policy, missing, off in _attempts(case):
        if fine is not None and root != case.roots[0]:
            break
        if reasons and perf_counter() > ends:
            break
        session = run(case, program, facts, backend, root, policy, missing, off=off)
        if missing:
            if root not in usual:
                usual[root] = frozenset(run(case, program, facts, backend, root, policy).told)
            session.usual = usual[root]
        found = verdict(case, session)
        if found is None:
            reasons.append((_reason(session), session))
        elif found.outcome in CONFIRMED:
            return found, session
        elif session.trace.stopped:
            reasons.append((session.trace.stopped, session))
        elif not session.trace.exact and fine is None:
            reasons.append((DEPENDS, session))
            fine = found, session
        else:
            fine = found, session
    if fine is not None:
        exact = fine[1].trace.exact
        return fine if exact else (Verdict("inconclusive", DEPENDS), fine[1])
    reason, tried = reasons[0] if reasons else ("the replay has no place to start from", None)
    return Verdict("inconclusive", reason), tried


def _attempts(case: Case) -> Iterator[Attempt]:
    """The runs to try, the likeliest first."""
    takes_away = case.code == "GRD201"
    counters = ["all", *map(str, range(LEAVES))] if takes_away else [""]
    for root in case.roots:
        for missing in counters:
            for truth in (True, False):
                yield root, Policy(truth=truth), missing, case.code == "GRD107"


def run(
    case: Case,
    program: Program,
    facts: Facts,
    backend: RustBackend,
    root: Root,
    policy: Policy,
    missing: str = "",
    *,
    off: bool = False,
) -> RustSession:
    """One run of a function, watched at the places of a case."""
    session = RustSession(
        program,
        facts,
        backend,
        case.watched(),
        policy,
        sinks=frozenset((case.sink,)),
        seconds=SECONDS,
        spaces=Spaces(program),
        goals=frozenset(site for site in case.places if site.at >= 0),
        missing=missing,
        off=off,
        rebinds=backend.profile != "torch",
    )
    session.rerun = (root, policy, missing, off)
    session.default_crates = session.crates_of(root.module)
    run_root(session, root)
    return session


def run_root(session: RustSession, root: Root) -> None:
    """Run a function with arguments of the types it asks for; `session.trace` tells what was seen."""
    trace = session.trace
    with np_silence(), session.backend.thread(), room_for(_FRAMES):
        try:
            with ending(trace):
                trace.returned = bare(_run(session, root))
                if is_failed(trace.returned):
                    trace.error = _failure(trace.returned)
        except (Leaving, Jump):
            trace.stopped = "a jump leaves a function"
        trace.modes = session.backend.modes()


def _failure(value: Value) -> Failure:
    from gradguard.replay.rust.macros import written

    return Failure(written(value.items[0]) if value.items else "")


def _run(session: RustSession, root: Root) -> Value:
    space = session.spaces.of_file(root.module)
    found = (
        next((one for one in functions_of(space) if one[0].at == root.function_at), None) if space else None
    )
    if found is None:
        raise Stopped("the function was not found")
    function, inner, owner = found
    frame = Frame(session, root.module, inner, owner, ({},), session.watched_in(root.module))
    args = [_argument(frame, param, owner) for param in function.params]
    if session.off:
        from gradguard.runtime.modes import modes

        modes.no_grad_depth += 1
    return calls.call_value(frame, Closure(function, root.module, inner, owner), args)


def _argument(frame: Frame, param: ir.Param, owner: TypeInfo | None) -> Value:
    if param.name == "self":
        return Struct(owner) if owner is not None else Wild("self")
    kind = parse_type(param.annotation.id) if isinstance(param.annotation, ir.Name) else NO_TYPE
    return witness.made(frame, kind, param.name)


def _reason(session: RustSession) -> str:
    trace = session.trace
    if trace.stopped:
        return trace.stopped
    if isinstance(trace.error, Panic | Failure):
        return f"the replay ends before, with {error_text(trace.error)}"
    if trace.error is not None:
        return failure_text(trace.error)
    return "the replay does not come to this place"
