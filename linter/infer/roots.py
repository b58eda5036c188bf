"""Where a run starts: a file's top level, and each function that nothing else has run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.facts.tables import Facts
from gradguard.infer import bases, calls, entering
from gradguard.infer.constant_terms import settle_terms
from gradguard.infer.events import BackwardAsked, Event, UntrackedReturned
from gradguard.infer.frames import Frame
from gradguard.infer.interest import is_interesting
from gradguard.infer.joins import leaves_of
from gradguard.infer.modes import ON, GuardSite, Mode
from gradguard.infer.program import Program
from gradguard.infer.reporting import any_may_report, is_covered, is_suspect, may_report
from gradguard.infer.run import STEPS, Ended, Exhausted, Run
from gradguard.infer.sites import Root, Site
from gradguard.infer.starting import instance_of, unknown_arguments
from gradguard.infer.state import State
from gradguard.infer.training import note_training
from gradguard.infer.unseen_loops import note_loops
from gradguard.infer.values import (
    Bound,
    Closure,
    Dict,
    Instance,
    Klass,
    Lazy,
    Literal,
    Tensor,
    Track,
    Tuple,
)
from gradguard.ir import nodes as ir
from gradguard.lower.module import Unreadable

LONG_CHUNK = 300
TOP_LEVEL = 3


def run_file(program: Program, facts: Facts, key: str) -> list[tuple[Event, Root]]:
    """All events of one file of the program, each with the root in which it was seen."""
    if program.modules[key].source.language == "rust":
        from gradguard.infer import rust

        return rust.run_file(program, facts, key)
    run = Run(program, facts, root=Root("module", key))
    state = State()
    base = Frame(run, key, (), "<module>", ON)
    scope = program.scope_of(base, state, key)
    state.write(scope, "__name__", Literal("__main__"))
    top = program.module_frame(base, state, key)
    run.imported.add(key)
    ended = _run_top_level(top, state, key)
    mode = _entry_mode(run, state, ended)
    _bind_suspects(top, state, key)
    _run_functions(top, state, key, mode)
    note_loops(top, state, key)
    note_training(run)
    settle_terms(run)
    return [(_settled(run, event), root) for event, root in zip(run.events, run.roots, strict=True)]


def _settled(run: Run, event: Event) -> Event:
    """The event with what only the whole run can tell: whether a cut lies in a function that others call too."""
    if not isinstance(event, BackwardAsked) or event.value.cause is None:
        return event
    cause = event.value.cause
    name, sites = run.call_sites.get(Site(cause.site.module, cause.function), ("", set()))
    users = max(len(sites), run.program.callers(cause.site.module, name)) if name else 0
    return replace(event, shared=cause.depth > len(event.chain.sites) and users > 1)


def _run_top_level(top: Frame, state: State, key: str) -> bool:
    """Execute the file's top-level statements in order; whether the end is reached.

    Where nothing at the top level can lead to a sink, only the pieces that hold something themselves are run:
    the names that the others bind are bound when they are asked for.
    """
    lowered, run = top.run.program.modules[key], top.run
    left = TOP_LEVEL * STEPS
    run.shallow = not run.program.leads(key, "")
    for chunk in lowered.chunks:
        long = run.shallow or chunk.last_row - chunk.first_row > LONG_CHUNK
        if chunk.kind in ("function", "class") or (long and not is_suspect(top, key, chunk.index)):
            continue
        run.steps = given = min(left, STEPS)
        try:
            run.program.run_chunk(top, state, key, chunk.index)
        except (Ended, Exhausted, RecursionError):
            return False
        left -= given - run.steps
        _run_pending(top)
    return True


def _entry_mode(run: Run, state: State, ended: bool) -> Mode:
    """The mode in which the file's functions are called, as far as its own top level decides it."""
    mode = state.mode
    if ended and mode.records is False and mode.guard is not None and mode.guard.form == "call":
        run.leaks.setdefault(mode.guard.site, ("the module", mode.guard))
        return mode
    return ON


def _bind_suspects(top: Frame, state: State, key: str) -> None:
    lowered = top.run.program.modules[key]
    state.mode = ON
    for chunk in lowered.chunks:
        if chunk.kind in ("function", "class") and is_suspect(top, key, chunk.index):
            name = chunk.binds[-1] if chunk.binds else ""
            if (
                state.read(top.scopes[0], name) is None
                or Site(key, chunk.index * ir.CHUNK) not in top.run.covered
            ):
                try:
                    if any_may_report(top, lowered.body(chunk.index)):
                        top.run.program.run_chunk(top, state, key, chunk.index)
                except (Ended, Exhausted, RecursionError, Unreadable):
                    continue


def _run_functions(top: Frame, state: State, key: str, mode: Mode) -> None:
    lowered = top.run.program.modules[key]
    for chunk in lowered.chunks:
        if chunk.kind not in ("function", "class") or not is_suspect(top, key, chunk.index):
            continue
        try:
            body = lowered.body(chunk.index)
        except (Unreadable, RecursionError):
            continue
        for statement in body:
            match statement:
                case ir.FunctionDef(function=function):
                    value = state.resolve(state.read(top.scopes[0], function.name))
                    closure = _closure_of(value, function, key, top)
                    _run_root(top, state, closure, None, mode)
                case ir.ClassDef():
                    _run_class(top, state, statement, mode)


def _closure_of(value: Any, function: ir.Function, key: str, top: Frame) -> Closure:
    if isinstance(value, Closure) and value.function is function:
        return value
    return Closure(function, key, top.scopes)


def _run_class(top: Frame, state: State, statement: ir.ClassDef, mode: Mode) -> None:
    klass = next((k for k, _ in reversed(top.run.classes) if k.site == Site(top.module, statement.at)), None)
    if klass is None:
        return
    methods = [s.function for s in statement.body if isinstance(s, ir.FunctionDef)]
    wanted = [m for m in methods if _is_wanted(top, m)]
    if not wanted:
        for inner in statement.body:
            if isinstance(inner, ir.ClassDef):
                _run_class(top, state, inner, mode)
        return
    start = state.fork()
    leading = [m for m in wanted if top.run.program.leads(top.module, m.name)]
    instance = instance_of(top, start, klass, fully=bool(leading))
    for method in wanted:
        found = start.resolve(start.read(klass.id, method.name))
        if isinstance(found, Closure) and found.function is method:
            closure = found
        else:
            closure = Closure(method, top.module, top.scopes, owner=klass)
        _run_root(top, start, closure, instance, _method_mode(top, klass, method.name, mode))
    for inner in statement.body:
        if isinstance(inner, ir.ClassDef):
            _run_class(top, state, inner, mode)


def _is_wanted(top: Frame, method: ir.Function) -> bool:
    """Whether a method has to be run on its own."""
    if top.run.facts.has("hooks.differentiated", method.name):
        return True
    return may_report(top, method) and not is_covered(top.run, top.module, method)


def _method_mode(top: Frame, klass: Klass, name: str, mode: Mode) -> Mode:
    """The mode in which a trainer calls the hook `name`."""
    facts = top.run.facts
    named = [path.rsplit(".", 1)[-1] for path in bases.outside_bases(klass)]
    if any(base in facts.lists["hooks.trainer_bases"] for base in named) and facts.has("hooks.off", name):
        site = Site(top.module, ir.NOWHERE)
        return Mode(False, False, GuardSite(f"the trainer's {name}", "hook", site, 0))
    return mode


def _run_root(top: Frame, base: State, closure: Closure, instance: Instance | None, mode: Mode) -> None:
    """Run one function on its own, with unknown arguments, unless it has been run to the last statement."""
    run = top.run
    function = closure.function
    is_hook = instance is not None and run.facts.has("hooks.differentiated", function.name)
    if not is_hook and (not may_report(top, function) or is_covered(run, closure.module, function)):
        return
    if isinstance(closure.owner, Klass) and _is_autograd_function(closure.owner):
        return
    state = base.fork()
    state.mode = mode
    run.steps = STEPS
    skip = 1 if closure.owner is not None and closure.kind != "static" else 0
    first: list[Any] = []
    if skip:
        first = [instance if closure.kind != "class" else closure.owner]
        if instance is None:
            first = [run.unknown("self")]
    keywords = unknown_arguments(top, state, function, skip)
    site = Site(closure.module, function.at)
    run.root = _root_of(closure, instance)
    run.shallow = not run.program.leads(closure.module, function.name)
    frame = Frame(run, closure.module, top.scopes, "<root>", mode)
    try:
        value = entering.enter(frame, state, replace(closure), first, keywords, site)
        _consume(frame, state, value)
        _note_returned(frame, state, closure, instance)
    except (Ended, Exhausted, RecursionError):
        pass
    _run_pending(top)
    run.stack.clear()


def _root_of(closure: Closure, instance: Instance | None) -> Root:
    if instance is None or not isinstance(instance.klass, Klass):
        return Root("function", closure.module, closure.function.at)
    return Root("method", closure.module, closure.function.at, instance.klass.site.at)


def _is_autograd_function(klass: Klass) -> bool:
    return any(
        path.endswith("autograd.Function") or path == "torch.autograd.Function"
        for path in bases.outside_bases(klass)
    )


def _consume(frame: Frame, state: State, value: Any) -> Any:
    """Run the body of a generator or coroutine that a root call only made."""
    from gradguard.infer.iteration import finish_coroutine

    if not isinstance(value, Lazy):
        return value
    if value.kind == "coroutine":
        return finish_coroutine(frame, state, value)
    if value.kind in ("generator", "manager"):
        return calls.run_generator(frame, state, replace(value, kind="generator"))
    return value


def _note_returned(frame: Frame, state: State, closure: Closure, instance: Instance | None) -> None:
    """A hook whose result a trainer differentiates."""
    facts, name = frame.run.facts, closure.function.name
    if not isinstance(closure.owner, Klass) or not facts.has("hooks.differentiated", name):
        return
    named = [path.rsplit(".", 1)[-1] for path in bases.outside_bases(closure.owner)]
    if not any(base in facts.lists["hooks.trainer_bases"] for base in named):
        return
    if instance is not None and state.read(instance.id, "automatic_optimization") == Literal(False):
        return
    for site, value in frame.run.returned.get(closure.function.at, ()):
        tensor = _returned_loss(state, value)
        if tensor is not None and tensor.track is Track.UNTRACKED and tensor.cause is not None:
            frame.run.emit(UntrackedReturned(tensor, name, site))


def _returned_loss(state: State, value: Any) -> Tensor | None:
    """The loss among what a hook returns: the value itself, the `loss` of a dict, the first of a tuple."""
    found: list[Tensor] = []
    for one in leaves_of(state.resolve(value)):
        one = state.resolve(one)
        if isinstance(one, Dict):
            one = state.resolve(state.read(one.id, ("key", "loss")))
        elif isinstance(one, Tuple) and one.items:
            one = state.resolve(one.items[0])
        if not isinstance(one, Tensor) or one.track is not Track.UNTRACKED:
            return None
        found.append(one)
    return found[0] if found else None


def _run_pending(top: Frame) -> None:
    """Run the functions that were handed to something unknown."""
    run = top.run
    rounds = 0
    while run.pending and rounds < 40:
        rounds += 1
        closure, state = run.pending.pop(0)
        if is_covered(run, closure.module, closure.function) or not is_interesting(closure.function):
            continue
        owner = closure.owner
        if isinstance(owner, Bound):
            closure = replace(closure, owner=owner.owner.klass if isinstance(owner.owner, Instance) else None)
            _run_pending_one(top, state, closure, [owner.owner])
        else:
            _run_pending_one(top, state, closure, [])


def _run_pending_one(top: Frame, state: State, closure: Closure, first: list[Any]) -> None:
    run = top.run
    run.shallow = not run.program.leads(closure.module, closure.function.name)
    saved, run.steps = run.steps, STEPS
    within, run.root = run.root, Root("handed", closure.module, closure.function.at, within=run.root)
    state.mode = ON
    frame = Frame(run, closure.module, top.scopes, "<root>", ON)
    keywords = unknown_arguments(top, state, closure.function, len(first))
    try:
        value = entering.enter(
            frame, state, closure, first, keywords, Site(closure.module, closure.function.at)
        )
        _consume(frame, state, value)
    except (Ended, Exhausted, RecursionError):
        pass
    run.steps, run.root = saved, within
