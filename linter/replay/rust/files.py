"""The replays of a Rust file's findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradguard.findings import Replay
from gradguard.replay.rust.replaying import replay_in_full, rust_case
from gradguard.replay.rust.session import backend_of

if TYPE_CHECKING:
    from gradguard.facts.tables import Facts
    from gradguard.infer.program import Program
    from gradguard.judge.judging import Judged


def replays(judged: Judged, program: Program, facts: Facts) -> tuple[Replay, ...]:
    """What happens at run time in the crate that the finding's file uses."""
    profile = profile_of(program, facts, judged.draft.site.module, judged.root.module)
    case = rust_case(judged, program)
    return (replay_in_full(case, program, facts, backend_of(profile))[0],)


def profile_of(program: Program, facts: Facts, *modules: str) -> str:
    """The profile of the first crate that one of the files uses."""
    from gradguard.facts.crates import load_crates
    from gradguard.infer.rust.roots import used_crates

    known = load_crates(facts.rust)
    found = (crate for module in modules for crate in used_crates(program, None, module, known))
    first = next(found, None)
    return first.profile if first is not None else "tenferro"
