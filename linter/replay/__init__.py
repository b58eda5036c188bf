"""Running the slice of a finding on real tensors: what would happen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gradguard.findings import Finding, Replay

if TYPE_CHECKING:
    from gradguard.facts.tables import Facts
    from gradguard.infer.program import Program
    from gradguard.judge.judging import Judged


def replayed(judged: Iterable[Judged], program: Program, facts: Facts, settings: Any) -> list[Finding]:  # noqa: ANN401
    """The findings with what their replays saw; those that every replay refutes are left out unless asked for."""
    kept: list[Finding] = []
    for one in judged:
        replays = replays_of(one, program, facts, settings) if settings.replay else ()
        if not settings.show_refuted and replays and all(found.outcome == "fine" for found in replays):
            continue
        kept.append(replace(one.finding, replays=replays))
    return kept


def replays_of(judged: Judged, program: Program, facts: Facts, settings: Any) -> tuple[Replay, ...]:  # noqa: ANN401
    """What happens at run time under each profile that the finding's file gives reason for."""
    from gradguard.replay.backend import embedded, real
    from gradguard.replay.case import case_of
    from gradguard.replay.replaying import replay_case

    lowered = program.modules.get(judged.draft.site.module)
    if lowered is None or lowered.source.language != "python":
        return ()
    try:
        case = case_of(judged, program)
    except Exception as error:
        return (Replay("torch", "inconclusive", f"the replay itself failed ({type(error).__name__})"),)
    backends = [real()] if settings.replay_on == "torch" else [embedded(name) for name in profiles_of(lowered.source.text)]
    return tuple(replay_case(case, program, facts, backend) for backend in backends)


def profiles_of(text: str) -> tuple[str, ...]:
    """The profiles that a Python file gives reason for."""
    imports_paddle = "import paddle" in text or "from paddle" in text
    if not imports_paddle:
        return ("torch",)
    return ("torch", "paddle") if "import torch" in text or "from torch" in text else ("paddle",)
