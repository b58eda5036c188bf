"""What a replay is about: a finding, the places to watch, and the roots to start from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gradguard.infer.events import (
    BackwardAsked,
    ConstantTerm,
    Event,
    ModeLeft,
    UpdateSkips,
)
from gradguard.infer.sites import Root, Site
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.lower.module import Unreadable
from gradguard.replay.value import Value

if TYPE_CHECKING:
    from gradguard.infer.program import Program
    from gradguard.judge.judging import Judged


@dataclass(frozen=True)
class Case:
    """`sink` is where the fault shows, `site` where it is reported, `places` are all that the run watches.

    `around` holds further places by what they are: with, function, decorated, manager, methods. `witness` are
    the finding's own steps. The first root is the one in which the finding was seen.
    """

    code: str
    event: Event | None
    site: Site
    sink: Site
    places: frozenset[Site]
    roots: tuple[Root, ...]
    around: Mapping[str, tuple[Site, ...]]
    witness: tuple[Site, ...] = ()

    def watched(self) -> dict[str, frozenset[int]]:
        """The watched handles by module."""
        by_module: dict[str, set[int]] = {}
        for site in (*self.places, *(one for sites in self.around.values() for one in sites)):
            if site.at >= 0:
                by_module.setdefault(site.module, set()).add(site.at)
        return {module: frozenset(found) for module, found in by_module.items()}


def case_of(judged: Judged, program: Program) -> Case:
    """The case of a finding."""
    draft, event, root = judged.draft, judged.event, judged.root
    sink = draft.sink or draft.site
    places = {draft.site, sink, *(site for site, _ in draft.steps), *_more_places(event)}
    around = _around(program, judged.finding.code, event, draft.site)
    top = Root("module", draft.site.module)
    roots = tuple(dict.fromkeys((root, *_enclosing(program, draft.site), top)))
    witness = tuple(site for site, _ in draft.steps)
    return Case(judged.finding.code, event, draft.site, sink, frozenset(places), roots, around, witness)


def _enclosing(program: Program, site: Site) -> list[Root]:
    """The top-level function or the method that a place lies in, or whose decorators it is among."""
    for node in _body(program, site):
        if isinstance(node, ir.FunctionDef) and _holds((node,), site.at):
            return [Root("function", site.module, node.function.at)]
        if isinstance(node, ir.ClassDef):
            for member in node.body:
                if isinstance(member, ir.FunctionDef) and _holds((member,), site.at):
                    return [Root("method", site.module, member.function.at, node.at)]
    return []


def _body(program: Program, site: Site) -> ir.Body:
    """The top-level statements around a place."""
    lowered = program.modules.get(site.module)
    try:
        return () if lowered is None else lowered.body(site.at // ir.CHUNK)
    except (Unreadable, RecursionError):
        return ()


def _more_places(event: Event) -> list[Site]:
    """Places of an event that its draft does not name."""
    match event:
        case BackwardAsked(chain=chain, value=value):
            cause = value.cause
            return [*chain.sites, *((cause.site, *cause.calls) if cause is not None else ())]
        case ConstantTerm(term=term):
            return [term.cause.site, term.site, *term.cause.calls]
        case UpdateSkips(write=write):
            return [write]
        case ModeLeft(guard=guard, asked=asked):
            return [guard.site, *([asked] if asked is not None else [])]
        case _:
            return []


def _around(program: Program, code: str, event: Event, site: Site) -> dict[str, tuple[Site, ...]]:
    """What stands around the place of a finding about guards."""
    if not code.startswith("GRD3"):
        return {}
    found: dict[str, tuple[Site, ...]] = {}
    for node in walk(_body(program, site)):
        if isinstance(node, ir.With) and any(
            _holds((entry.context,), site.at) or entry.at == site.at for entry in node.entries
        ):
            found["with"] = tuple(Site(site.module, entry.at) for entry in node.entries)
        if isinstance(node, ir.Function) and _holds((*node.decorators, *node.body), site.at):
            found["function"] = (Site(site.module, node.at),)
            if any(_is_manager(decorator) for decorator in node.decorators):
                found["manager"] = found["function"]
            if _holds(node.decorators, site.at):
                found["decorated"] = _ats(site.module, node.body, ir.Yield) or found["function"]
        if isinstance(node, ir.ClassDef) and _holds(node.decorators, site.at):
            found["methods"] = _ats(site.module, node.body, ir.Function)
    return found


def _is_manager(decorator: Value) -> bool:
    """Whether a decorator makes a context manager of a generator."""
    match decorator:
        case ir.Name(id=name) | ir.Attr(name=name):
            return name in ("contextmanager", "asynccontextmanager")
        case _:
            return False


def _ats(module: str, body: Value, kind: type) -> tuple[Site, ...]:
    return tuple(Site(module, node.at) for node in walk(body) if isinstance(node, kind))  # type: ignore[attr-defined]


def _holds(trees: tuple[Value, ...], at: int) -> bool:
    return any(getattr(node, "at", ir.NOWHERE) == at for node in walk(trees))
