"""What `gradguard replay` tells: a file's findings, each with the log of its run."""

from __future__ import annotations

from dataclasses import dataclass

from gradguard.facts.tables import Facts, load
from gradguard.infer.program import Program
from gradguard.infer.roots import run_file
from gradguard.infer.sites import Root, Site
from gradguard.judge.judging import Judged, judge
from gradguard.lower.module import open_module
from gradguard.pipeline import Opened, in_order, open_source, rules
from gradguard.replay import profiles_of
from gradguard.replay.backend import Backend, embedded, real
from gradguard.replay.case import Case, case_of
from gradguard.replay.log import log_lines, notable, remarks
from gradguard.replay.replaying import replay_in_full
from gradguard.replay.session import Session
from gradguard.replay.value import Value
from gradguard.source import Source


@dataclass(frozen=True)
class Story:
    """One run: what it is about, its log, and its outcome."""

    headline: str
    lines: tuple[str, ...]
    outcome: str


def tell(
    source: Source, settings: Value, line: int | None, profile: str | None, replay_on: str
) -> list[Story]:
    """The runs of a file's findings, or of those on a line; of the whole file where it has no finding.

    Raises `gradguard.lower.module.Unreadable`, and ImportError where torch is asked for and not installed.
    """
    facts = load(dict(settings.frameworks))
    opened = Opened()
    program = Program(opened.by_path, rebinding=facts.rebinding)
    key = source.path or source.filename
    if source.language == "rust":
        return _tell_rust(source, program, facts, settings, line)
    program.add(key, open_module(source))
    names = (profile,) if profile is not None else profiles_of(source.text)
    backends = [real()] if replay_on == "torch" else [embedded(name) for name in names]
    found = _findings(program, facts, key, settings)
    wanted = [one for one in found if line is None or one.finding.span.start.row == line]
    stories = [_of_finding(one, program, facts, backend) for one in wanted for backend in backends]
    if found or line is not None:
        return stories
    return [_of_file(key, source, program, facts, backend) for backend in backends]


def _tell_rust(
    source: Source, program: Program, facts: Facts, settings: Value, line: int | None
) -> list[Story]:
    """The same for a Rust file, under the profile of the crate that it uses."""
    from gradguard.replay.rust.telling import of_file, of_finding

    key = source.path or source.filename
    module = open_source(source)[0]
    if module is None:
        return []
    program.add(key, module)
    stories: list[Story] = []
    found = _findings(program, facts, key, settings)
    for one in found:
        span = one.finding.span
        if line is None or span.start.row == line:
            profile, (lines, outcome) = of_finding(one, program, facts)
            headline = f"{span.filename}:{span.start.row}: {one.finding.code} under the profile `{profile}`"
            stories.append(Story(headline, lines, outcome))
    if found or line is not None:
        return stories
    profile, (lines, outcome) = of_file(key, program, facts)
    return [Story(f"{source.filename}: no finding, run under the profile `{profile}`", lines, outcome)]


def _findings(program: Program, facts: Facts, key: str, settings: Value) -> list[Judged]:
    judged = judge(run_file(program, facts, key), program.modules, {key}, rules(), settings)
    by_finding = {id(one.finding): one for one in reversed(judged)}
    return [by_finding[id(finding)] for finding in in_order([one.finding for one in judged])]


def _under(backend: Backend) -> str:
    return f"under the profile `{backend.profile}`" if backend.embedded else "on torch"


def _of_finding(one: Judged, program: Program, facts: Facts, backend: Backend) -> Story:
    case = case_of(one, program)
    replay, session = replay_in_full(case, program, facts, backend)
    span = one.finding.span
    headline = f"{span.filename}:{span.start.row}: {one.finding.code} {_under(backend)}"
    lines = log_lines(session, program) if session is not None else []
    outcome = f"{replay.outcome}: {replay.detail}" if replay.detail else replay.outcome
    return Story(headline, tuple(lines), outcome)


def _of_file(key: str, source: Source, program: Program, facts: Facts, backend: Backend) -> Story:
    """A run of the top level, which tells of every guard, gradient and backward on the way."""
    from gradguard.replay.replaying import run
    from gradguard.replay.session import Policy

    places = frozenset(Site(key, at) for at in notable(program.modules[key]))
    nowhere = Site(key, -1)
    root = Root("module", key)
    case = Case("", None, nowhere, nowhere, places, (root,), {})
    session: Session = run(case, program, facts, backend, root, Policy())
    headline = f"{source.filename}: no finding, run {_under(backend)}"
    return Story(headline, tuple(log_lines(session, program)), " ".join(remarks(session)))
