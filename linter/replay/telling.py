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
from gradguard.replay.log import log_lines, notable, outcome_text, remarks
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
    in_rust = source.language == "rust"
    module = open_source(source)[0] if in_rust else open_module(source)
    if module is None:
        return []
    program.add(key, module)
    found = _findings(program, facts, key, settings)
    wanted = [one for one in found if line is None or one.finding.span.start.row == line]
    of_file_too = not found and line is None
    if in_rust:
        return _tell_rust(source, program, facts, wanted, of_file_too)
    names = (profile,) if profile is not None else profiles_of(source.text)
    backends = [real()] if replay_on == "torch" else [embedded(name) for name in names]
    if of_file_too:
        return [_of_file(key, source, program, facts, backend) for backend in backends]
    return [_of_finding(one, program, facts, backend) for one in wanted for backend in backends]


def _tell_rust(
    source: Source, program: Program, facts: Facts, wanted: list[Judged], of_file_too: bool
) -> list[Story]:
    """The same for a Rust file, under the profile of the crate that it uses."""
    from gradguard.replay.rust.telling import of_file, of_finding

    stories: list[Story] = []
    for one in wanted:
        profile, (lines, outcome) = of_finding(one, program, facts)
        stories.append(Story(_headline(one, f"under the profile `{profile}`"), lines, outcome))
    if of_file_too:
        profile, (lines, outcome) = of_file(source.path or source.filename, program, facts)
        headline = f"{source.filename}: no finding, run under the profile `{profile}`"
        stories.append(Story(headline, lines, outcome))
    return stories


def _headline(one: Judged, under: str) -> str:
    span = one.finding.span
    return f"{span.filename}:{span.start.row}: {one.finding.code} {under}"


def _findings(program: Program, facts: Facts, key: str, settings: Value) -> list[Judged]:
    judged = judge(run_file(program, facts, key), program.modules, {key}, rules(), settings)
    by_finding = {id(one.finding): one for one in reversed(judged)}
    return [by_finding[id(finding)] for finding in in_order([one.finding for one in judged])]


def _under(backend: Backend) -> str:
    return f"under the profile `{backend.profile}`" if backend.embedded else "on torch"


def _of_finding(one: Judged, program: Program, facts: Facts, backend: Backend) -> Story:
    case = case_of(one, program)
    replay, session = replay_in_full(case, program, facts, backend)
    lines = log_lines(session, program) if session is not None else []
    return Story(_headline(one, _under(backend)), tuple(lines), outcome_text(replay))


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
