"""Replaying the findings of files, true ones and planted ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gradguard.facts.tables import Facts, load
from gradguard.findings import Finding, Replay
from gradguard.infer.program import Program
from gradguard.infer.roots import run_file
from gradguard.infer.sites import Root, Site
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.judge.draft import Draft
from gradguard.judge.judging import Judged, judge
from gradguard.pipeline import Opened, open_source, rules
from gradguard.replay.backend import Backend
from gradguard.replay.case import case_of
from gradguard.replay.replaying import replay_case
from gradguard.settings.model import Settings
from gradguard.source import Source


class Tree:
    """Files that are analysed together."""

    def __init__(self, paths: Sequence[Path] = ()) -> None:
        self.facts: Facts = load({})
        opened = Opened()
        self.program = Program(opened.by_path, rebinding=self.facts.rebinding)
        self.keys = [str(path) for path in paths]
        for key in self.keys:
            lowered = opened.by_path(key)
            assert lowered is not None, key
            self.program.add(key, lowered)

    def add(self, name: str, text: str) -> None:
        """A file that exists only here."""
        lowered, _, _ = open_source(Source(name, name, text))
        assert lowered is not None
        self.keys.append(name)
        self.program.add(name, lowered)

    def judged(self) -> Iterator[Judged]:
        """All findings, one for each code and place."""
        seen: set[tuple[str, Any]] = set()
        for key in self.keys:
            events = run_file(self.program, self.facts, key)
            for one in judge(events, self.program.modules, set(self.keys), rules(), Settings(root="/")):
                place = (one.finding.code, one.draft.site)
                if place not in seen:
                    seen.add(place)
                    yield one

    def replay(self, judged: Judged, backend: Backend) -> Replay:
        return replay_case(case_of(judged, self.program), self.program, self.facts, backend)

    def planted(self, key: str, code: str, at: int, root: Root | None = None) -> Judged:
        """A finding that no rule has made."""
        span = self.program.modules[key].span(at)
        draft = Draft(Site(key, at), "planted", sink=Site(key, at))
        event: Any = None
        return Judged(Finding(code, "planted", "planted", span), draft, event, root or Root("module", key))

    def nodes(self, key: str) -> Iterator[Any]:
        """Every node of a file."""
        lowered = self.program.modules[key]
        for chunk in lowered.chunks:
            yield from walk(lowered.body(chunk.index))


def method_calls(tree: Tree, key: str, *names: str) -> Iterator[ir.Call]:
    """The calls of methods and functions that go by one of the names."""
    for node in tree.nodes(key):
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name in names:
            yield node
