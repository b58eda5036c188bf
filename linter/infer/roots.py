"""Where a run starts: a file's top level, and each function that nothing else has run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.facts.tables import Facts
from gradguard.infer import calls, classes
from gradguard.infer.events import BackwardAsked, Event, UntrackedReturned
from gradguard.infer.frames import Frame
from gradguard.infer.interest import (
    holds_interest,
    is_guarded,
    is_interesting,
    may_loop,
    may_report_alone,
    settings,
    speaks_of_interest,
)
from gradguard.infer.joins import leaves_of
from gradguard.infer.modes import ON, GuardSite, Mode
from gradguard.infer.program import Program
from gradguard.infer.run import STEPS, Ended, Exhausted, Run
from gradguard.infer.sites import Root, Site
from gradguard.infer.state import State
from gradguard.infer.training import note_training
from gradguard.infer.updates import note_loop
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
    Unknown,
)
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.lower.module import Unreadable
from gradguard.sift.stretches import suspect_stretches
from gradguard.sift.tokens import Clues, aliases, clues_in

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
    _note_loops(top, state, key)
    note_training(run)
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
        if chunk.kind in ("function", "class") or (long and not _is_suspect(top, key, chunk.index)):
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


def _is_suspect(top: Frame, key: str, index: int) -> bool:
    """Whether a top-level piece holds a guard, a sink, or a name that this file gives to one."""
    suspects = top.run.suspects.get(key)
    if suspects is None:
        module = top.run.program.modules[key]
        text = "\n".join(module.lines())
        suspects = top.run.suspects[key] = suspect_stretches(_clues(top, key), text, module.bounds())
    return index in suspects


def _clues(top: Frame, key: str) -> Clues:
    """What to look for in pieces of a file: also names that only this file, or the user's settings, give to guards."""
    clues = top.run.clues.get(key)
    if clues is None:
        text = top.run.program.modules[key].source.text
        clues = top.run.clues[key] = clues_in(text, aliases(text) | top.run.facts.words)
    return clues


def _may_report(top: Frame, function: ir.Function) -> bool:
    """Whether a run of the function on its own may find something."""
    site = Site(top.module, function.at)
    known = top.run.reporting.get(site)
    if known is None:
        known = top.run.reporting[site] = _has_something_to_report(top, function)
    return known


def _has_something_to_report(top: Frame, function: ir.Function) -> bool:
    if top.run.facts.has("hooks.differentiated", function.name):
        return True
    text = function.text
    if text is not None and not speaks_of_interest(text):
        return False
    leads = text is None or top.run.program.leads(top.module, function.name)
    return (leads or may_report_alone(text or "", _clues(top, top.module))) and is_interesting(function)


def _any_may_report(top: Frame, body: ir.Body) -> bool:
    """Whether a run of one of the functions of a body, or the body itself, may find something."""
    for statement in body:
        match statement:
            case ir.FunctionDef(function=function):
                found = _may_report(top, function)
            case ir.ClassDef(decorators=decorators, body=inner):
                found = is_guarded(decorators) or _any_may_report(top, inner)
            case _:
                found = holds_interest((statement,))
        if found:
            return True
    return False


def _bind_suspects(top: Frame, state: State, key: str) -> None:
    lowered = top.run.program.modules[key]
    state.mode = ON
    for chunk in lowered.chunks:
        if chunk.kind in ("function", "class") and _is_suspect(top, key, chunk.index):
            name = chunk.binds[-1] if chunk.binds else ""
            if (
                state.read(top.scopes[0], name) is None
                or Site(key, chunk.index * ir.CHUNK) not in top.run.covered
            ):
                try:
                    if _any_may_report(top, lowered.body(chunk.index)):
                        top.run.program.run_chunk(top, state, key, chunk.index)
                except (Ended, Exhausted, RecursionError, Unreadable):
                    continue


def _run_functions(top: Frame, state: State, key: str, mode: Mode) -> None:
    lowered = top.run.program.modules[key]
    for chunk in lowered.chunks:
        if chunk.kind not in ("function", "class") or not _is_suspect(top, key, chunk.index):
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


def _note_loops(top: Frame, state: State, key: str) -> None:
    """Look at update loops that no run came to: what they say of a missing gradient stands in the text."""
    lowered = top.run.program.modules[key]
    for chunk in lowered.chunks:
        if not _is_suspect(top, key, chunk.index):
            continue
        try:
            _note_loops_in(top, state, lowered.body(chunk.index))
        except (Unreadable, RecursionError, Ended, Exhausted):
            continue


def _note_loops_in(frame: Frame, state: State, body: ir.Body) -> None:
    frame.run.steps = STEPS
    for statement in body:
        match statement:
            case ir.FunctionDef(function=function) if may_loop(function):
                _note_loops_in(_frame_of(frame, function, frame.klass), state, function.body)
            case ir.ClassDef(body=inner, at=at):
                klass = next((k for k, _ in frame.run.classes if k.site == frame.site(at)), None)
                _note_loops_in(replace(frame, klass=klass), state, inner)
            case ir.For() if frame.site(statement.at) not in frame.run.covered:
                note_loop(frame, state, statement)
                _note_loops_in(frame, state, statement.body)
            case ir.For(body=inner) | ir.While(body=inner) | ir.With(body=inner):
                _note_loops_in(frame, state, inner)
            case ir.If(then=then, other=other):
                _note_loops_in(frame, state, (*then, *other))
            case ir.Try(body=inner, handlers=handlers, orelse=orelse, final=final):
                _note_loops_in(
                    frame, state, (*inner, *(s for h in handlers for s in h.body), *orelse, *final)
                )


def _frame_of(frame: Frame, function: ir.Function, klass: Any) -> Frame:
    closure = Closure(function, frame.module, frame.scopes, owner=klass)
    return Frame(frame.run, frame.module, frame.scopes, function.name, ON, closure, klass=klass)


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
    instance = _instance(top, start, klass, fully=bool(leading))
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
    return _may_report(top, method) and not is_covered(top.run, top.module, method)


def _method_mode(top: Frame, klass: Klass, name: str, mode: Mode) -> Mode:
    """The mode in which a trainer calls the hook `name`."""
    facts = top.run.facts
    bases = [path.rsplit(".", 1)[-1] for path in classes.outside_bases(klass)]
    if any(base in facts.lists["hooks.trainer_bases"] for base in bases) and facts.has("hooks.off", name):
        site = Site(top.module, ir.NOWHERE)
        return Mode(False, False, GuardSite(f"the trainer's {name}", "hook", site, 0))
    return mode


def _instance(top: Frame, state: State, klass: Klass, fully: bool) -> Instance:
    """An object of a class as its constructor leaves it, with unknown arguments."""
    identity = top.run.fresh()
    instance = Instance(identity, klass)
    state.allocate(identity)
    classes.construct_outside(top, state, instance, [], {})
    init = classes.member(top, state, klass, "__init__")
    if isinstance(init, Closure) and fully:
        top.run.steps = STEPS // 3
        top.run.root = Root("init", top.module, init.function.at, klass.site.at)
        try:
            keywords = _unknown_arguments(top, state, init.function, skip=1)
            calls.enter(
                replace(top, name="<root>"),
                state,
                init,
                [instance],
                keywords,
                Site(top.module, init.function.at),
            )
        except (Ended, Exhausted, RecursionError):
            pass
        state.mode = ON
        _forget_settings(top, state, instance, klass)
    return instance


def _forget_settings(top: Frame, state: State, instance: Instance, klass: Klass) -> None:
    """Constants that other methods set again are not known when a method is called."""
    for method in state.fields(klass.id).values():
        if not isinstance(method, Closure) or method.function.name == "__init__":
            continue
        for name in settings(method.function):
            if isinstance(state.read(instance.id, name), Literal):
                state.write(instance.id, name, top.run.unknown(name))


def is_covered(run: Run, module: str, function: ir.Function) -> bool:
    """Whether every statement of a function was executed."""
    if Site(module, function.at) not in run.covered:
        return False
    return all(
        Site(module, node.at) in run.covered or isinstance(getattr(node, "value", None), ir.Const)
        for node in walk(function.body, into_functions=False)
        if isinstance(node, ir.Evaluate | ir.Assign | ir.Return | ir.For | ir.With | ir.Update)
    )


def _unknown_arguments(top: Frame, state: State, function: ir.Function, skip: int) -> dict[str, Any]:
    facts = top.run.facts
    keywords: dict[str, Any] = {}
    for param in function.params[skip:]:
        if param.kind in ("*", "**"):
            continue
        name = param.name
        if facts.has("assume.data", name.lower()) and param.default is None:
            note = f"`{name}` is data"
            keywords[name] = Tensor(Track.DATA, top.run.fresh(), opaque=True, assumed=(note,))
        else:
            keywords[name] = Unknown(top.run.fresh(), name)
    return keywords


def _run_root(top: Frame, base: State, closure: Closure, instance: Instance | None, mode: Mode) -> None:
    """Run one function on its own, with unknown arguments, unless it has been run to the last statement."""
    run = top.run
    function = closure.function
    is_hook = instance is not None and run.facts.has("hooks.differentiated", function.name)
    if not is_hook and (not _may_report(top, function) or is_covered(run, closure.module, function)):
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
    keywords = _unknown_arguments(top, state, function, skip)
    site = Site(closure.module, function.at)
    run.root = _root_of(closure, instance)
    run.shallow = not run.program.leads(closure.module, function.name)
    frame = Frame(run, closure.module, top.scopes, "<root>", mode)
    try:
        value = calls.enter(frame, state, replace(closure), first, keywords, site)
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
        for path in classes.outside_bases(klass)
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
    bases = [path.rsplit(".", 1)[-1] for path in classes.outside_bases(closure.owner)]
    if not any(base in facts.lists["hooks.trainer_bases"] for base in bases):
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
    keywords = _unknown_arguments(top, state, closure.function, len(first))
    try:
        value = calls.enter(frame, state, closure, first, keywords, Site(closure.module, closure.function.at))
        _consume(frame, state, value)
    except (Ended, Exhausted, RecursionError):
        pass
    run.steps, run.root = saved, within
