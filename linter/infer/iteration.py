"""Iterating: elements of containers, lazy values and comprehensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from gradguard.infer import entering
from gradguard.infer.events import LazyEscaped
from gradguard.infer.frames import Frame
from gradguard.infer.joins import merge
from gradguard.infer.state import State
from gradguard.infer.truths import as_test, assume, truth
from gradguard.infer.values import (
    Alternatives,
    Dict,
    Instance,
    Lazy,
    List,
    Literal,
    Parameters,
    Tensor,
    Track,
    Tuple,
    Unknown,
)
from gradguard.ir import nodes as ir

UNROLL = 4


def new_list(frame: Frame, state: State, items: list[Any], rest: Any) -> List:
    """A list of known items, and `rest` for any number of others."""
    identity = frame.run.fresh()
    fields: dict[Any, Any] = {"#items": Tuple(tuple(items))}
    if rest is not None:
        fields["#rest"] = rest
    state.allocate(identity, fields)
    return List(identity)


def extended(frame: Frame, state: State, left: List, right: Any) -> Any:
    """`left + right`, for lists."""
    a, b = known_items(frame, state, left), known_items(frame, state, right)
    if a is not None and b is not None:
        return new_list(frame, state, a + b, None)
    return gathered(frame, state, (left, right))


def gathered(frame: Frame, state: State, values: tuple[Any, ...]) -> Any:
    """A list of any number of elements of the values."""
    elements = [element(frame, state, value, ir.NOWHERE) for value in values]
    joined = elements[0]
    for other in elements[1:]:
        joined = merge(joined, other)
    return new_list(frame, state, [], joined)


def known_items(frame: Frame, state: State, value: Any) -> list[Any] | None:
    """The elements one by one, None where their number is not known."""
    value = state.resolve(value)
    match value:
        case Tuple(items=items):
            return list(items)
        case List(id=identity):
            items = state.read(identity, "#items")
            if items is not None and state.read(identity, "#rest") is None:
                return list(items.items)
            return None
        case Dict(id=identity):
            fields = state.fields(identity)
            if fields.get("#rest") is None:
                return [Literal(key[1]) for key in fields if isinstance(key, tuple)]
            return None
        case Instance(id=identity):
            items = state.read(identity, "#items")
            if items is not None and state.read(identity, "#rest") is None:
                return list(items.items)
            return None
        case Lazy(kind="zip" | "enumerate" | "items" | "values"):
            return _known_lazy(frame, state, value)
        case Literal(value=str(text)) if len(text) <= UNROLL:
            return [Literal(letter) for letter in text]
        case _:
            return None


def _known_lazy(frame: Frame, state: State, value: Lazy) -> list[Any] | None:
    if value.kind in ("items", "values"):
        fields = state.fields(value.payload)
        if fields.get("#rest") is not None:
            return None
        pairs = [(key[1], one) for key, one in fields.items() if isinstance(key, tuple) and key[0] == "key"]
        return [Tuple((Literal(k), v)) if value.kind == "items" else v for k, v in pairs]
    columns = [known_items(frame, state, one) for one in value.payload]
    if any(column is None for column in columns):
        return None
    if value.kind == "enumerate":
        return [Tuple((Literal(i), item)) for i, item in enumerate(columns[0] or [])]
    return [Tuple(tuple(row)) for row in zip(*[c or [] for c in columns], strict=False)]


def element(frame: Frame, state: State, value: Any, at: int, index: int | None = None) -> Any:
    """One element that stands for all of an iterable's, or the `index`-th of an unpacking."""
    value = state.resolve(value)
    run = frame.run
    known = known_items(frame, state, value)
    if known is not None:
        if index is not None and index < len(known):
            return known[index]
        return _merged(frame, known)
    match value:
        case List(id=identity) | Instance(id=identity) if state.read(identity, "#items") is not None:
            rest = state.read(identity, "#rest")
            items = state.read(identity, "#items").items
            return _merged(frame, [*items, *([rest] if rest is not None else [])])
        case Dict(id=identity):
            return run.unknown("key")
        case Tensor():
            return _row(frame, state, value, at)
        case Parameters(owner=owner, named=named):
            return parameter_element(frame, state, owner, named)
        case Lazy():
            return lazy_element(frame, state, value, at)
        case Alternatives(then=then, other=other):
            return merge(element(frame, state, then, at, index), element(frame, state, other, at, index))
        case Instance():
            from gradguard.infer import classes

            return classes.iterated(frame, state, value, at)
        case Unknown(hint=hint, role=role):
            return _unknown_element(frame, hint, role)
        case _:
            return run.unknown()


def _merged(frame: Frame, values: list[Any]) -> Any:
    if not values:
        return frame.run.unknown()
    joined = values[0]
    for value in values[1:]:
        joined = merge(joined, value)
    return joined


def _row(frame: Frame, state: State, value: Tensor, at: int) -> Any:
    from gradguard.infer.objects import member_of_opaque, view_of

    if value.opaque or value.number or at == ir.NOWHERE:
        return member_of_opaque(frame, value)
    return view_of(frame, state, frame.site(at), value, "iteration")


def parameter_element(frame: Frame, state: State, owner: Any, named: bool) -> Any:
    """A parameter of `owner`: a leaf."""
    run = frame.run
    frozen = None
    if isinstance(owner, Instance):
        trainable = state.read(owner.id, "#trainable")
        frozen = isinstance(trainable, Literal) and trainable.value is False
    leaf = Tensor(Track.DATA if frozen else Track.LEAF, run.fresh())
    run.owners[leaf.origin] = owner
    return Tuple((run.unknown("name"), leaf)) if named else leaf


def _unknown_element(frame: Frame, hint: str, role: str) -> Any:
    lowered = hint.lower()
    facts = frame.run.facts
    if role == "range":
        return frame.run.unknown("i", "number")
    if (
        role == "loader"
        or any(word in lowered for word in ("loader", "dataset", "dataloader"))
        or facts.has("assume.loaders", lowered)
    ):
        return Tensor(
            Track.DATA,
            frame.run.fresh(),
            opaque=True,
            assumed=(f"what `{hint or 'the loader'}` yields is data",),
        )
    return frame.run.unknown(hint.removesuffix("s") if len(hint) > 3 else hint, "element")


def lazy_element(frame: Frame, state: State, value: Lazy, at: int) -> Any:
    """Consume a lazy value in the present mode."""
    from gradguard.infer import calls
    from gradguard.infer.expressions import run_comprehension

    if frame.run.quiet == 0:
        note_escape(frame, state, value, frame.site(at))
    match value.kind:
        case "generator expression":
            expr, scopes, first = value.payload
            inner = replace(frame, scopes=scopes)
            inner.exits, inner.yields = frame.exits, frame.yields
            built = run_comprehension(
                inner, state, ir.Comprehension("list", expr.element, expr.clauses, expr.at), first
            )
            return element(frame, state, built, ir.NOWHERE)
        case "map":
            func, *columns = value.payload
            arguments = [element(frame, state, column, ir.NOWHERE) for column in columns]
            return calls.apply(frame, state, func, arguments, value.site)
        case "filter":
            return element(frame, state, value.payload[1], ir.NOWHERE)
        case "enumerate":
            return Tuple((frame.run.unknown("i", "number"), element(frame, state, value.payload[0], at)))
        case "zip":
            return Tuple(tuple(element(frame, state, column, at) for column in value.payload))
        case "reversed":
            return element(frame, state, value.payload[0], at)
        case "generator":
            return calls.run_generator(frame, state, value)
        case "items":
            return Tuple((frame.run.unknown("key"), _merged(frame, _dict_values(state, value.payload))))
        case "values":
            return _merged(frame, _dict_values(state, value.payload))
        case _:
            return frame.run.unknown()


def _dict_values(state: State, identity: int) -> list[Any]:
    return [
        v
        for k, v in state.fields(identity).items()
        if v is not None and (k == "#rest" or isinstance(k, tuple))
    ]


def note_escape(frame: Frame, state: State, value: Lazy, consumed: Any) -> None:
    """Tell of a lazy expression made under a guard and consumed while recording is on, if it records then."""
    if value.guard is None or value.kind not in ("generator expression", "map"):
        return
    if state.mode.records is not True:
        return
    if records_when_run(frame, state, value):
        frame.run.emit(LazyEscaped(value.guard, value.site, value.kind, consumed))


def records_when_run(frame: Frame, state: State, value: Lazy) -> bool:
    """Whether evaluating the lazy value with recording on makes tracked values."""
    from gradguard.infer.modes import ON

    trial = state.fork()
    trial.mode = ON
    return is_recorded(frame, trial, lambda: lazy_element(frame, trial, value, ir.NOWHERE))


def is_recorded(frame: Frame, trial: State, evaluate: Callable[[], Any]) -> bool:
    """Whether an evaluation, with its events kept quiet, ran a trainable module or made a tracked value."""
    from gradguard.infer.run import Ended

    run = frame.run
    before = run.tracked_made
    run.quiet += 1
    pending = len(run.pending)
    try:
        result = evaluate()
    except Ended:
        result = None
    finally:
        run.quiet -= 1
        del run.pending[pending:]
    made = isinstance(trial.resolve(result), Tensor) and trial.resolve(result).track is Track.TRACKED
    return made or run.tracked_made > before


def finish_coroutine(frame: Frame, state: State, value: Lazy) -> Any:
    """Run the body of a coroutine; its value."""

    if value.kind == "coroutine":
        closure, arguments, keywords = value.payload
        return entering.enter_body(frame, state, closure, list(arguments), dict(keywords), value.site)
    return frame.run.unknown()


def unrolled(
    frame: Frame, state: State, clauses: tuple[ir.Clause, ...], first: Any, produce: Callable[[], Any]
) -> Any:
    """The elements of a comprehension: a list where all are known, one standing for all otherwise."""
    from gradguard.infer.expressions import evaluate
    from gradguard.infer.scopes import assign

    if not clauses:
        return [produce()]
    clause, *others = clauses
    source = first if first is not None else evaluate(frame, state, clause.iter)
    items = known_items(frame, state, source)
    exact = items is not None and len(items) <= UNROLL
    if exact and items is not None:
        candidates = items
    else:
        candidates = [element(frame, state, source, getattr(clause.iter, "at", ir.NOWHERE))]
    results: list[Any] = []
    for item in candidates:
        frame.run.tick()
        assign(frame, state, clause.target, item, getattr(clause.iter, "at", ir.NOWHERE))
        kept: bool | None = True
        for condition in clause.conditions:
            value = evaluate(frame, state, condition)
            known = truth(state, value)
            if known is False:
                kept = False
                break
            if known is None:
                exact = False
                test = as_test(state, value)
                saved = dict(state.facts)
                assume(state, test, True)
                inner = unrolled(frame, state, tuple(others), None, produce)
                state.facts = saved
                results.extend(inner if isinstance(inner, list) else [inner])
                kept = None
                break
        if kept:
            inner = unrolled(frame, state, tuple(others), None, produce)
            if not isinstance(inner, list):
                exact = False
                results.append(inner)
            else:
                results.extend(inner)
    if exact:
        return results
    return _merged(frame, results) if results else frame.run.unknown()
