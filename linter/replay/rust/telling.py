"""What `gradguard replay` tells of a Rust file."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gradguard.infer.rust.spaces import Spaces
from gradguard.infer.sites import Root, Site
from gradguard.replay.case import Case
from gradguard.replay.log import outcome_text
from gradguard.replay.rust import log
from gradguard.replay.rust.files import profile_of
from gradguard.replay.rust.replaying import functions_in, replay_in_full, run, rust_case
from gradguard.replay.rust.session import RustBackend, RustSession, backend_of
from gradguard.replay.session import Policy

if TYPE_CHECKING:
    from gradguard.facts.tables import Facts
    from gradguard.infer.program import Program
    from gradguard.judge.judging import Judged

Told = tuple[tuple[str, ...], str]
"""The lines of a run, and its outcome."""


def of_finding(judged: Judged, program: Program, facts: Facts) -> tuple[str, Told]:
    """The profile that a finding's file gives reason for, and the run that shows what happens."""
    site = judged.draft.site
    profile = profile_of(program, facts, site.module, judged.root.module)
    case = rust_case(judged, program)
    backend = backend_of(profile)
    replay, session = replay_in_full(case, program, facts, backend)
    outcome = outcome_text(replay)
    if session is None:
        return profile, ((), outcome)
    return profile, (_lines(case, session, program, facts, backend), outcome)


def _lines(
    case: Case, session: RustSession, program: Program, facts: Facts, backend: RustBackend
) -> tuple[str, ...]:
    """The log of the same run once more, watched at all places that tell of gradients."""
    if session.rerun is None:
        return ()
    root, policy, missing, off = session.rerun
    found = run(_wider(case, session, program), program, facts, backend, root, policy, missing, off=off)
    return log.lines_of(found, program)


def _wider(case: Case, session: RustSession, program: Program) -> Case:
    key = case.site.module
    more = {Site(key, at) for at in log.notable(program.modules[key], session.crates_of(key))}
    return replace(case, around={**case.around, "log": tuple(more)})


def of_file(key: str, program: Program, facts: Facts) -> tuple[str, Told]:
    """A run of `main`, or of the file's first function, told at every guard, gradient and backward."""
    profile = profile_of(program, facts, key)
    backend = backend_of(profile)
    functions = functions_in(Spaces(program), key)
    nowhere = Site(key, -1)
    start = next((one for one in functions if one.name == "main"), functions[0] if functions else None)
    root = Root("function", key, start.at if start is not None else -1)
    case = Case("", None, nowhere, nowhere, frozenset(), (root,), {})
    empty = RustSession(program, facts, backend, {}, spaces=Spaces(program))
    session = run(_wider(case, empty, program), program, facts, backend, root, Policy())
    return profile, (log.lines_of(session, program), log.end(session))
