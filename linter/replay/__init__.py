"""Running the slice of a finding on real tensors: what would happen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gradguard.findings import Finding, Replay
from gradguard.replay.value import Value

if TYPE_CHECKING:
    from gradguard.facts.tables import Facts
    from gradguard.infer.program import Program
    from gradguard.judge.judging import Judged


def replayed(judged: Iterable[Judged], program: Program, facts: Facts, settings: Value) -> list[Finding]:
    """The findings with what their replays saw; the refuted ones are left out unless asked for."""
    kept: list[Finding] = []
    for one in judged:
        replays = replays_of(one, program, facts, settings) if settings.replay else ()
        if one.finding.confidence == "certain":
            replays = tuple(map(_doubted, replays))
        if not settings.show_refuted and replays and all(found.outcome == "fine" for found in replays):
            continue
        kept.append(replace(one.finding, replays=replays))
    return kept


def _doubted(found: Replay) -> Replay:
    """What a run that went well says of a finding every step of which was derived: that its stand-ins for what is
    not in the tree behave otherwise. Only a finding that assumes something is refuted by one."""
    if found.outcome != "fine":
        return found
    return Replay(found.profile, "inconclusive", f"the run on stand-ins did not show it: {found.detail}")


def replays_of(judged: Judged, program: Program, facts: Facts, settings: Value) -> tuple[Replay, ...]:
    """What happens at run time under each profile that the settings or the finding's file ask for."""
    lowered = program.modules.get(judged.draft.site.module)
    if lowered is None:
        return ()
    if lowered.source.language == "rust":
        return _in_rust(judged, program, facts)
    if settings.replay_on == "torch":
        if find_spec("torch") is None:
            return (Replay("torch", "inconclusive", "torch is not installed"),)
        return (_replay(judged, program, facts, ""),)
    names = settings.profiles or profiles_of(lowered.source.text)
    return tuple(_replay(judged, program, facts, name) for name in names)


def _in_rust(judged: Judged, program: Program, facts: Facts) -> tuple[Replay, ...]:
    """What happens in a Rust program, under the profile of the crate that it uses."""
    try:
        from gradguard.replay.rust.files import replays

        return replays(judged, program, facts)
    except Exception as error:
        return (failed("rust", error),)


def _replay(judged: Judged, program: Program, facts: Facts, profile: str) -> Replay:
    """One replay, on torch itself where the profile is ""; it never raises."""
    try:
        from gradguard.replay.backend import embedded, real
        from gradguard.replay.case import case_of
        from gradguard.replay.replaying import replay_case

        backend = embedded(profile) if profile else real()
        return replay_case(case_of(judged, program), program, facts, backend)
    except Exception as error:
        return failed(profile or "torch", error)


def failed(profile: str, error: BaseException) -> Replay:
    """What is told where the replay itself goes wrong."""
    return Replay(profile, "inconclusive", failure_text(error))


def failure_text(error: BaseException) -> str:
    """The same in words."""
    return f"the replay itself failed ({type(error).__name__})"


def profiles_of(text: str) -> tuple[str, ...]:
    """The profiles that a Python file gives reason for."""
    imports_paddle = "import paddle" in text or "from paddle" in text
    if not imports_paddle:
        return ("torch",)
    return ("torch", "paddle") if "import torch" in text or "from torch" in text else ("paddle",)
