"""Calls of names outside the tree: the framework's functions and classes, and a little of the standard library."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer import calls, classes, guards, iteration, sinks
from gradguard.infer.builtin_calls import call_builtin
from gradguard.infer.copies import copied, deeply_copied
from gradguard.infer.describe import describe
from gradguard.infer.events import ActivationCut, GuardMiscalled
from gradguard.infer.frames import Frame
from gradguard.infer.joins import merge
from gradguard.infer.lineage import lineage_of
from gradguard.infer.methods import handed
from gradguard.infer.modes import GuardSite
from gradguard.infer.optimized import note_optimized
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.tensor_methods import tensor_function, tensor_method
from gradguard.infer.tensors import Operation, cut, operate, walk
from gradguard.infer.values import (
    NONE,
    Alternatives,
    Closure,
    Guard,
    Instance,
    Known,
    Lazy,
    Lineage,
    Literal,
    Partial,
    Tensor,
    Test,
    Track,
    Tuple,
    Unknown,
)
from gradguard.ir import nodes as ir

_NUMERIC = ("numpy.", "math.", "cupy.", "statistics.", "scipy.")


def call_known(
    frame: Frame,
    state: State,
    path: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None,
) -> Any:
    """The value of calling the outside name `path`."""
    facts = frame.run.facts
    if path.startswith("builtins."):
        return call_builtin(frame, state, path[9:], args, keywords, site, expr)
    effect = facts.guards.get(path)
    if effect is not None:
        return guards.make(frame, state, path, effect, args, keywords, site, expr)
    special = _standard_library(frame, state, path, args, keywords, site)
    if special is not None:
        return special
    root = path.split(".", 1)[0]
    if path.startswith(_NUMERIC):
        return _numeric(frame, state, path, args, site)
    if root in facts.packages or facts.starts("optimizers.prefixes", path):
        return call_framework(frame, state, path, args, keywords, site, expr)
    if facts.starts("modules.factories", path) or facts.has(
        "modules.factory_methods", path.rsplit(".", 1)[-1]
    ):
        calls._defer_closures(frame, state, args)
        return Unknown(frame.run.fresh(), "model", "model")
    last = path.rsplit(".", 1)[-1]
    if last[:1].isupper():
        calls._defer_closures(frame, state, [*args, *keywords.values()])
        instance = Instance(frame.run.fresh(), Known(path), tuple(args))
        state.allocate(instance.id)
        if facts.has("threads.constructors", path):
            _thread(frame, state, args, keywords, site)
        return instance if _is_kept(frame, path) else Unknown(instance.id, last)
    return calls.unknown_call(frame, state, Known(path), args, keywords, site, last)


def _is_kept(frame: Frame, path: str) -> bool:
    facts = frame.run.facts
    return facts.has("threads.pools", path) or path.endswith("ExitStack")


def _standard_library(
    frame: Frame, state: State, path: str, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    match path:
        case "functools.partial" | "functools.partialmethod" if args:
            return Partial(args[0], tuple(args[1:]), tuple(keywords.items()))
        case "functools.wraps" | "functools.update_wrapper" | "functools.singledispatch":
            return Known("gradguard.same")
        case "gradguard.same" | "functools.lru_cache" | "functools.cache" | "functools.cached_property":
            return args[0] if args and isinstance(args[0], Closure) else Known("gradguard.same")
        case "contextlib.contextmanager" | "contextlib.asynccontextmanager" if args:
            target = args[0]
            return replace(target, manager=True) if isinstance(target, Closure) else target
        case "contextlib.nullcontext":
            site_of = GuardSite("nullcontext", "object", site, frame.depth)
            return Guard("none", site_of)
        case "copy.copy" if args:
            return copied(frame, state, args[0])
        case "copy.deepcopy" if args:
            return deeply_copied(frame, state, args[0])
        case "dataclasses.dataclass" | "typing.cast" | "dataclasses.field":
            return args[-1] if args else Known("gradguard.same")
        case "itertools.chain":
            return iteration.gathered(frame, state, tuple(args)) if args else Tuple(())
        case (
            "itertools.cycle" | "tqdm.tqdm" | "tqdm.auto.tqdm" | "tqdm.notebook.tqdm" | "itertools.islice"
        ) if args:
            return args[0]
        case "collections.deque" | "collections.defaultdict" | "collections.OrderedDict":
            return call_builtin(
                frame, state, "list" if path.endswith("deque") else "dict", [], {}, site, None
            )
        case "asyncio.run" if args and isinstance(args[0], Lazy):
            return iteration.finish_coroutine(frame, state, args[0])
        case "operator.attrgetter" | "logging.getLogger":
            return frame.run.unknown()
    return None


def _numeric(frame: Frame, state: State, path: str, args: list[Any], site: Site) -> Any:
    """numpy and math: no graph passes through them."""
    tensors = [v for a in args for v in walk(state, a) if isinstance(v, Tensor)]
    if not tensors:
        return frame.run.unknown("", "number")
    source = next((t for t in tensors if t.would), tensors[0])
    return cut(frame, state, site, source, path.rsplit(".", 1)[-1], number=True)


def call_framework(
    frame: Frame,
    state: State,
    path: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None,
) -> Any:
    facts = frame.run.facts
    root, last = path.split(".", 1)[0], path.rsplit(".", 1)[-1]
    if facts.has("queries.grad_enabled", path):
        return _grad_enabled(frame, state)
    if facts.has("queries.inference", path):
        return Literal(state.mode.inference)
    if facts.has("backward.functions", path):
        return _backward_function(frame, state, args, keywords, site, expr)
    if facts.has("backward.gradient", path):
        return _gradient_function(frame, state, args, keywords, site, expr)
    if facts.has("leaves.constructors", path):
        return _parameter(frame, state, args, keywords, site)
    if facts.has("leaves.wrappers", path):
        return _wrapper(frame, state, args, keywords, site, expr)
    if facts.has("leaves.copies", path) and (last != "as_tensor"):
        return _copy(frame, state, path, args, keywords, site, expr)
    if facts.has("leaves.factories", path):
        return _factory(frame, state, last, args, keywords, site)
    if "checkpoint" in last and args:
        return calls.apply(frame, state, args[0], args[1:], site)
    if facts.starts("transforms.prefixes", path):
        calls._defer_closures(frame, state, args)
        return frame.run.unknown(last)
    if path == f"{root}.{last}" and facts.has("misspelt.guards", last):
        frame.run.emit(GuardMiscalled(last, "misspelt", site))
        return Guard("none", GuardSite(last, "object", site, frame.depth))
    if last[:1].isupper():
        return _construct(frame, state, path, args, keywords, site)
    if path.startswith("torch.Tensor.") and args:
        return _tensor_class_method(frame, state, last, args, keywords, site)
    if facts.starts("modules.factories", path):
        return Unknown(frame.run.fresh(), "model", "model")
    if last in ("is_tensor", "is_storage"):
        return Literal(True) if isinstance(state.resolve(args[0]), Tensor) else frame.run.unknown()
    return _function(frame, state, path, last, args, keywords, site)


def _tensor_class_method(
    frame: Frame, state: State, last: str, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    first = state.resolve(args[0])
    if isinstance(first, Tensor):
        return tensor_method(frame, state, first, last, args[1:], keywords, site, "")
    return frame.run.unknown(last)


def _function(
    frame: Frame, state: State, path: str, last: str, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """A function of the framework that has no parameters of its own."""
    calls._defer_closures(frame, state, args)
    root = path.split(".", 1)[0]
    if root not in frame.run.facts.guards_roots:
        return calls.unknown_call(frame, state, Known(path), args, keywords, site, last)
    facts = frame.run.facts
    if facts.has("tensor.views", last) and args and isinstance(state.resolve(args[0]), Tensor):
        return tensor_method(frame, state, state.resolve(args[0]), last, args[1:], keywords, site, "")
    if facts.has("cuts.methods", last) and args:
        return cut(frame, state, site, args[0], last)
    if not any(True for a in (*args, *keywords.values()) for _ in walk(state, a)):
        return frame.run.unknown(last)
    return tensor_function(frame, state, last, args, keywords, site)


def _grad_enabled(frame: Frame, state: State) -> Any:
    grad = state.mode.grad
    if grad is not None:
        return Literal(grad)
    when = state.mode.when
    return Test(when.key, when.truth) if when is not None else frame.run.unknown()


def _backward_function(
    frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site, expr: ir.Call | None
) -> Any:
    roots = args[0] if args else keywords.get("tensors")
    items = iteration.known_items(frame, state, roots)
    text = describe(expr.args[0].value) if expr is not None and expr.args else ""
    for root in items if items is not None else [roots]:
        sinks.backward_asked(frame, state, root, text or "the output", site)
    return NONE


def _gradient_function(
    frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site, expr: ir.Call | None
) -> Any:
    outputs = args[0] if args else keywords.get("outputs")
    inputs = args[1] if len(args) > 1 else keywords.get("inputs")
    named = _argument_texts(expr)
    first = iteration.known_items(frame, state, outputs)
    told = False
    for output in first if first is not None else [outputs]:
        told = told or sinks.gradient_asked(
            frame, state, output, named.get("outputs", ""), site, is_input=False
        )
    wanted = iteration.known_items(frame, state, inputs)
    for one in wanted if wanted is not None else [inputs]:
        if not told and one is not None:
            told = sinks.gradient_asked(frame, state, one, named.get("inputs", ""), site, is_input=True)
    creates = state.resolve(keywords.get("create_graph", Literal(False)))
    if isinstance(creates, Literal) and not creates.value:
        gradient: Any = Tensor(Track.DATA, frame.run.fresh(), made=True)
    elif isinstance(creates, Literal) and state.mode.records:
        parents = tuple([(lineage_of(one), 1) for one in walk(state, outputs)])
        gradient = Tensor(
            Track.TRACKED,
            frame.run.fresh(),
            made=True,
            would=True,
            depth=frame.depth,
            lineage=Lineage("grad", parents),
        )
    else:
        gradient = frame.run.unknown("grad")
    if isinstance(gradient, Tensor):
        if wanted is not None:
            return Tuple(tuple(replace(gradient, origin=frame.run.fresh()) for _ in wanted))
        return (
            replace(gradient, opaque=True)
            if isinstance(state.resolve(inputs), Unknown)
            else Tuple((gradient,))
        )
    return gradient


def _argument_texts(expr: ir.Call | None) -> dict[str, str]:
    if expr is None:
        return {}
    texts = dict(
        zip(("outputs", "inputs"), (describe(a.value) for a in expr.args if a.name is None), strict=False)
    )
    texts.update({a.name: describe(a.value) for a in expr.args if a.name})
    return texts


def _wants_grad(state: State, keywords: dict[str, Any], default: bool = False) -> bool | None:
    flag = state.resolve(keywords.get("requires_grad", Literal(default)))
    return bool(flag.value) if isinstance(flag, Literal) else None


def _fresh(frame: Frame, state: State, wanted: bool | None, site: Site, **more: Any) -> Any:
    if wanted is None:
        return frame.run.unknown()
    inference = site if state.mode.inference else None
    track = Track.LEAF if wanted else Track.DATA
    return Tensor(
        track, frame.run.fresh(), made=True, inference=inference, depth=frame.depth,
        converted=site if wanted else None, **more,
    )  # fmt: skip


def _parameter(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    positional = {"requires_grad": args[1]} if len(args) > 1 else {}
    return _fresh(frame, state, _wants_grad(state, {**positional, **keywords}, True), site)


def _factory(
    frame: Frame, state: State, last: str, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    wanted = _wants_grad(state, keywords)
    if last in ("from_numpy", "frombuffer") and args:
        source = state.resolve(args[0])
        if isinstance(source, Tensor):
            # Memory of numpy's is an inference tensor only if it is taken over under the guard.
            inference = site if state.mode.inference else None
            return replace(source, origin=frame.run.fresh(), number=False, inference=inference)
        return _fresh(frame, state, False, site, opaque=False)
    if wanted is False and not keywords.get("size") and last in ("multinomial", "bernoulli") and args:
        return cut(frame, state, site, args[0], last, integer=True)
    if "**" in keywords:
        return frame.run.unknown(last)
    return _fresh(frame, state, wanted, site)


def _is_computed(value: Any) -> bool:
    return isinstance(value, Tensor) and (
        value.track in (Track.TRACKED, Track.UNTRACKED, Track.VIEW, Track.CONDITIONAL, Track.FORCED)
        and (value.made or value.track is Track.TRACKED)
    )


def _copy(
    frame: Frame,
    state: State,
    path: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None,
) -> Any:
    """`torch.tensor(value)`: a copy of the values without their graph."""
    inside = [v for a in args[:1] for v in walk(state, a)]
    wanted = _wants_grad(state, keywords)
    verb = path.replace("torch.", "torch.", 1)
    computed = next((v for v in inside if _is_computed(v) and (v.would or v.cause is not None)), None)
    if computed is None:
        unknown = next((v for v in inside if isinstance(v, Unknown)), None)
        fresh = _fresh(frame, state, wanted, site)
        if unknown is not None and wanted and isinstance(fresh, Tensor):
            subject = describe(expr.args[0].value) if expr is not None and expr.args else ""
            frame.run.forced[fresh.origin] = (site, f"{verb}(..., requires_grad=True)", subject)
        return fresh
    copied = cut(frame, state, site, computed, verb)
    if isinstance(copied, Tensor) and len(inside) > 1:
        parents = tuple([(lineage_of(one), 1) for one in inside])
        copied = replace(copied, lineage=Lineage(verb, parents, linear=True, cut=True))
    return _force(frame, state, copied, wanted, site, f"{verb}(..., requires_grad=True)")


def _force(frame: Frame, state: State, copied: Any, wanted: bool | None, site: Site, form: str) -> Any:
    if not isinstance(copied, Tensor) or wanted is False:
        return copied
    if wanted is None:
        return frame.run.unknown()
    return replace(copied, track=Track.FORCED, forced=(site, form))


def _wrapper(
    frame: Frame,
    state: State,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None,
) -> Any:
    """`Variable(value)`: a detached alias (torch 2.13)."""
    value = settled(state, args[0]) if args else NONE
    wanted = _wants_grad(state, {**({"requires_grad": args[1]} if len(args) > 1 else {}), **keywords})
    subject = describe(expr.args[0].value) if expr is not None and expr.args else ""
    if isinstance(value, Unknown):
        if not wanted:
            return value
        made = Tensor(Track.LEAF, frame.run.fresh(), made=True)
        if wanted:
            frame.run.forced[made.origin] = (site, "Variable(..., requires_grad=True)", subject)
        return made
    if not isinstance(value, Tensor) or not _is_computed(value):
        return _fresh(frame, state, wanted, site)
    if wanted is False:
        if value.track is Track.TRACKED:
            frame.run.emit(ActivationCut(value, subject, "Variable", site))
        return cut(frame, state, site, value, "Variable")
    copied = cut(frame, state, site, value, "Variable")
    return _force(frame, state, copied, wanted, site, "Variable(..., requires_grad=True)")


def settled(state: State, value: Any) -> Any:
    """The value without alternatives."""
    value = state.resolve(value)
    if isinstance(value, Alternatives):
        return merge(state.resolve(value.then), state.resolve(value.other))
    return value


def _thread(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> None:
    target = keywords.get("target") or (args[1] if len(args) > 1 else None)
    if target is None:
        return
    passed = iteration.known_items(frame, state, keywords.get("args", Tuple(()))) or []
    handed(frame, state, target, list(passed), site, "Thread")


def _construct(
    frame: Frame, state: State, path: str, args: list[Any], keywords: dict[str, Any], site: Site
) -> Any:
    """An object of one of the framework's classes."""
    facts = frame.run.facts
    if facts.starts("optimizers.schedulers", path):
        return frame.run.unknown(path.rsplit(".", 1)[-1])
    instance = Instance(frame.run.fresh(), Known(path), (*args, *keywords.values()))
    state.allocate(instance.id)
    classes.construct_outside(frame, state, instance, args, keywords)
    if facts.starts("optimizers.prefixes", path):
        note_optimized(frame, state, args[0] if args else keywords.get("params"), site, instance.id)
        return instance
    if state.mode.inference and facts.starts("modules.prefixes", path):
        classes.mark_inference(frame, state, instance, "built", site)
    return instance


__all__ = ["Operation", "call_known", "operate"]
