"""Where a run over a Rust file starts: `main`, then each function on its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from gradguard.facts.crates import Crate, load_crates
from gradguard.facts.tables import Facts
from gradguard.infer.events import BackwardAsked, Event, GradientsUnchecked, ParameterRebound
from gradguard.infer.modes import ON
from gradguard.infer.program import Program
from gradguard.infer.run import Ended, Exhausted, Run
from gradguard.infer.rust import calls, lifetimes, places
from gradguard.infer.rust.relevance import relevance_of
from gradguard.infer.rust.session import ALIVE, RustFrame, Session, Watch
from gradguard.infer.rust.spaces import Space, Spaces, TypeInfo
from gradguard.infer.rust.types import NO_TYPE, parse_type
from gradguard.infer.rust.values import Handle
from gradguard.infer.sites import Root, Site
from gradguard.infer.state import State
from gradguard.infer.values import Closure, Tensor, Track
from gradguard.ir import nodes as ir

Told = list[tuple[Event, Root]]

ROOT_STEPS = 25_000
FILE_STEPS = 250_000


def run_file(program: Program, facts: Facts, key: str) -> Told:
    """All events of one Rust file, each with the root in which it was seen; none if it uses no known
    crate."""
    spaces = Spaces(program)
    space = spaces.of_file(key)
    crates = load_crates(facts.rust)
    used = used_crates(program, space, key, crates) if space is not None else ()
    if space is None or not used:
        return []
    run = Run(program, facts)
    session = Session(run, spaces, relevance_of(spaces, used))
    left = FILE_STEPS
    session.crates = _Inherited(program, crates, used)
    for function, inner, owner in sorted(functions_of(space), key=lambda one: one[0].name != "main"):
        if left <= 0 or not session.relevance.asks(function):
            continue
        run.steps = given = min(left, ROOT_STEPS)
        _run_root(session, key, function, inner, owner)
        left -= given - max(run.steps, 0)
    return _told(session)


class _Inherited(dict[str, tuple[Crate, ...]]):
    """The crates of each file; one that names none has those of the file that leads to it."""

    def __init__(self, program: Program, crates: tuple[Crate, ...], used: tuple[Crate, ...]) -> None:
        super().__init__()
        self._program, self._crates, self._used = program, crates, used

    def get(self, key: str, default: object = None) -> tuple[Crate, ...]:
        if key not in self:
            self[key] = used_crates(self._program, None, key, self._crates) or self._used
        return self[key]


def used_crates(
    program: Program, space: Space | None, key: str, crates: tuple[Crate, ...]
) -> tuple[Crate, ...]:
    """The crates whose names start a path in the file, unless a module of its own has that name."""
    from gradguard.lower.rust.module import RustModule

    lowered = program.modules.get(key)
    if not isinstance(lowered, RustModule):
        return ()
    own = {*space.files, *space.inner} if space is not None else set()
    return tuple(crate for crate in crates if crate.packages & (lowered.roots - own))


def functions_of(space: Space) -> Iterator[tuple[ir.Function, Space, TypeInfo | None]]:
    """Each function of a module and of those inside it, with where it is written."""
    for function in space.functions.values():
        yield function, space, None
    for info in space.types.values():
        for function in info.methods.values():
            yield function, info.space, info
    for inner in space.inner.values():
        yield from functions_of(inner)


def _run_root(
    session: Session, key: str, function: ir.Function, space: Space, owner: TypeInfo | None
) -> None:
    """Run one function on its own, with unknown arguments of the types it asks for."""
    run = session.run
    run.stack.clear()
    session.live.clear()
    session.statements.clear()
    session.loops = 0
    run.root = Root("function", key, function.at)
    state = State()
    state.allocate(ALIVE, {})
    frame = RustFrame(run, key, (), "<root>", ON, session=session, space=space, owner=owner)
    frame.watch = Watch(alone=True)
    args = [_argument(frame, param, owner) for param in function.params]
    closure = Closure(function, key, (), owner=(space, owner))
    lifetimes.begin(frame, function.at)
    with suppress(Ended, Exhausted, RecursionError):
        calls.enter(frame, state, closure, args, Site(key, function.at))
    for site in frame.watch.backwards:
        event = None if frame.watch.looked else GradientsUnchecked(site)
        session.note("GRD107", site, frame.watch.alone, event)


def _argument(frame: RustFrame, param: ir.Param, owner: TypeInfo | None) -> object:
    if param.name == "self" and owner is not None:
        return places.unknown_of(frame, parse_type(owner.name), "self")
    kind = parse_type(param.annotation.id) if isinstance(param.annotation, ir.Name) else NO_TYPE
    for crate in frame.crates:
        for handle in ("runtime", "session"):
            if crate.has(f"types.{handle}", kind.name):
                return Handle(handle)
        if crate.has("assume.data", param.name) and crate.has("types.tensor", kind.name):
            note = f"`{param.name}` is data"
            return Tensor(Track.DATA, frame.run.fresh(), opaque=True, assumed=(note,))
    return places.unknown_of(frame, kind, param.name)


def _told(session: Session) -> Told:
    """The events of all roots, one for each cause."""
    run = session.run
    for (code, _), contexts in session.seen.items():
        called = [one for one in contexts if not one[0]] or contexts
        if code == "GRD107" and any(event is None for _, event, _ in called):
            continue
        told = next(((event, root) for _, event, root in called if event is not None), None)
        if told is not None:
            run.events.append(told[0])
            run.roots.append(told[1])
    asked = [event for event in run.events if isinstance(event, BackwardAsked)]
    places_asked = {event.site for event in asked}
    guards = {event.value.cause.guard for event in asked if event.value.cause is not None}
    return [
        (event, root)
        for event, root in zip(run.events, run.roots, strict=True)
        if not (isinstance(event, BackwardAsked) and event.site in session.expected)
        and not (isinstance(event, GradientsUnchecked) and event.site in places_asked)
        and not (
            isinstance(event, ParameterRebound)
            and event.value.cause is not None
            and event.value.cause.guard in guards
        )
    ]
