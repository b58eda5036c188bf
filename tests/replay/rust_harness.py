"""Running Rust programs and replaying their findings, true ones and planted ones."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.facts.crates import load_crates
from gradguard.facts.tables import load
from gradguard.findings import Replay
from gradguard.infer.program import Program
from gradguard.infer.roots import run_file
from gradguard.infer.rust.roots import used_crates
from gradguard.infer.rust.spaces import Spaces
from gradguard.infer.sites import Root, Site
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.judge.judging import Judged, judge
from gradguard.pipeline import open_source, rules
from gradguard.replay.case import Case
from gradguard.replay.rust import log
from gradguard.replay.rust.files import profile_of
from gradguard.replay.rust.macros import Printed
from gradguard.replay.rust.replaying import functions_in, replay_in_full, run, rust_case
from gradguard.replay.rust.session import RustSession, backend_of
from gradguard.replay.session import Policy
from gradguard.settings.model import Settings
from gradguard.source import Source

KEY = "a.rs"
NOWHERE = Site(KEY, -1)


class RustFile:
    """One file that exists only here."""

    def __init__(self, text: str) -> None:
        self.facts = load({})
        self.program = Program(lambda path: None, rebinding=self.facts.rebinding)
        self.module = open_source(Source(KEY, "", text, "rust"))[0]
        assert self.module is not None
        self.program.add(KEY, self.module)
        self.backend = backend_of(profile_of(self.program, self.facts, KEY))

    def judged(self) -> list[Judged]:
        events = run_file(self.program, self.facts, KEY)
        return judge(events, self.program.modules, {KEY}, rules(), Settings(root="/"))

    def row(self, at: int) -> int:
        assert self.module is not None
        return self.module.span(at).start.row

    def replay(self, judged: Judged) -> Replay:
        return replay_in_full(rust_case(judged, self.program), self.program, self.facts, self.backend)[0]

    def functions(self) -> list[ir.Function]:
        return functions_in(Spaces(self.program), KEY)

    def run(self, name: str = "main") -> RustSession:
        """A run of a function, watched at all places that tell of gradients."""
        assert self.module is not None
        crates = used_crates(self.program, None, KEY, load_crates())
        places = tuple(Site(KEY, at) for at in log.notable(self.module, crates))
        case = Case("", None, NOWHERE, NOWHERE, frozenset(), (), {"log": places})
        function = next(one for one in self.functions() if one.name == name)
        root = Root("function", KEY, function.at)
        return run(case, self.program, self.facts, self.backend, root, Policy())

    def planted(self, code: str, method: str) -> Iterator[tuple[int, Replay]]:
        """The replays of findings that nobody made: one at each call of a method, with its row."""
        for function in self.functions():
            for node in walk(function.body):
                match node:
                    case ir.Call(func=ir.Attr(name=name), at=at) if name == method:
                        site = Site(KEY, at)
                        root = Root("function", KEY, function.at)
                        case = Case(code, None, site, site, frozenset((site,)), (root,), {}, (site,))
                        found = replay_in_full(case, self.program, self.facts, self.backend)
                        yield self.row(at), found[0]


def printed(session: RustSession) -> list[str]:
    """The lines that a run has printed."""
    return [str(seen.value) for seen in session.trace.seen if isinstance(seen.value, Printed)]
