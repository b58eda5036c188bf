"""Method calls on built-in, tensor, module and unknown objects."""

from __future__ import annotations

from typing import Any

from gradguard.infer import bases, calls, classes, iteration, sinks
from gradguard.infer.constant_terms import note_cleared, note_optimizer_call, note_unknown_step
from gradguard.infer.containers import dict_method, list_method
from gradguard.infer.describe import describe, last_name
from gradguard.infer.events import ThreadStarted
from gradguard.infer.flags import freeze
from gradguard.infer.frames import Frame
from gradguard.infer.guards import as_guard, enter_guard, enter_manager, guard_method
from gradguard.infer.joins import either, join
from gradguard.infer.modes import ON
from gradguard.infer.objects import get_attribute
from gradguard.infer.optimized import parameters_within
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.tensor_methods import tensor_method
from gradguard.infer.tensors import Operation, cut, operate
from gradguard.infer.values import (
    NONE,
    Alternatives,
    Bound,
    Closure,
    Dict,
    Guard,
    Instance,
    Known,
    Lazy,
    List,
    Literal,
    Parameters,
    Partial,
    Super,
    Tensor,
    Tuple,
    Unknown,
)
from gradguard.ir import nodes as ir

_SAME = frozenset({"to", "cuda", "cpu", "half", "float", "double", "bfloat16", "type", "share_memory"})

_CONVERTING = frozenset({"to", "cuda", "half", "double", "bfloat16"})


def call_method(
    frame: Frame,
    state: State,
    base: Any,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None = None,
) -> Any:
    """`base.name(...)`."""
    base = state.resolve(base)
    subject = describe(expr.func.base) if expr is not None and isinstance(expr.func, ir.Attr) else ""
    facts = frame.run.facts
    if args and facts.has("modules.passing", name) and not _is_own(frame, state, base, name):
        return (
            operate(frame, state, site, args[:1], Operation(name, linear=True))
            if state.mode.records is False
            else args[0]
        )
    if _runs_backward(frame, state, base, name, args, expr):
        text = describe(expr.args[0].value) if expr is not None and expr.args else ""
        sinks.backward_asked(frame, state, args[0], text or "the loss", site)
        return NONE
    match base:
        case Tensor():
            return tensor_method(frame, state, base, name, args, keywords, site, subject)
        case Alternatives(key=key, then=then, other=other):
            if name in facts.lists["backward.methods"]:
                sinks.backward_asked(frame, state, base, subject, site)
                return NONE
            return _method_of_either(frame, state, key, then, other, name, args, keywords, site, expr)
        case Guard():
            return guard_method(frame, state, base, name, args, site)
        case List():
            return list_method(frame, state, base, name, args, keywords)
        case Dict():
            return dict_method(frame, state, base, name, args, keywords)
        case Parameters() | Lazy() | Tuple() | Literal():
            return _plain_method(frame, state, base, name, args)
        case Instance():
            return instance_method(frame, state, base, name, args, keywords, site, expr)
        case Unknown():
            return unknown_method(frame, state, base, name, args, keywords, site, expr, subject)
        case Super():
            return _super_method(frame, state, base, name, args, keywords, site, expr)
        case Known(path=path):
            return calls.apply(frame, state, Known(f"{path}.{name}"), args, site, keywords, expr)
        case _:
            target = get_attribute(frame, state, base, name, ir.Attr(ir.Name("", site.at), name, site.at))
            if isinstance(target, Bound) and target.method == name:
                return calls.unknown_call(frame, state, base, args, keywords, site, name)
            return calls.apply(frame, state, target, args, site, keywords, expr)


def _runs_backward(
    frame: Frame, state: State, base: Any, name: str, args: list[Any], expr: ir.Call | None
) -> bool:
    """Whether the call is a framework's `backward(loss)`."""
    if not args or isinstance(base, Tensor | Closure):
        return False
    facts = frame.run.facts
    if isinstance(base, Instance) and bases.member(frame, state, base.klass, name) is not None:
        return False
    if facts.has("backward.takers", name):
        return True
    if name not in facts.lists["backward.methods"]:
        return False
    receiver = last_name(expr.func.base) if expr is not None and isinstance(expr.func, ir.Attr) else ""
    return facts.has("backward.receivers", receiver.lstrip("_"))


def _is_own(frame: Frame, state: State, base: Any, name: str) -> bool:
    """Whether a method is one of the tree, or a tensor's."""
    if isinstance(base, Instance):
        return bases.member(frame, state, base.klass, name) is not None
    return isinstance(base, Tensor)


def _method_of_either(
    frame: Frame,
    state: State,
    key: str,
    then: Any,
    other: Any,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None,
) -> Any:
    first, second = state.fork(), state.fork()
    first.facts[key], second.facts[key] = True, False
    a = call_method(frame, first, then, name, args, keywords, site, expr)
    b = call_method(frame, second, other, name, args, keywords, site, expr)
    joined = join(first, second)
    assert joined is not None
    state.become(joined)
    return either(a, b, (key, True))


def _plain_method(frame: Frame, state: State, base: Any, name: str, args: list[Any]) -> Any:
    match base, name:
        case Literal(value=str(text)), ("startswith" | "endswith" | "lower" | "upper" | "strip" | "split"):
            constants = [state.resolve(a) for a in args]
            if all(isinstance(c, Literal) and isinstance(c.value, str) for c in constants):
                result = getattr(text, name)(*[c.value for c in constants])
                return Literal(result) if isinstance(result, str | bool) else frame.run.unknown()
            return frame.run.unknown(name)
        case Lazy(), ("__next__" | "send"):
            return iteration.lazy_element(frame, state, base, ir.NOWHERE)
        case _:
            return frame.run.unknown(name)


def instance_method(
    frame: Frame,
    state: State,
    base: Instance,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None,
) -> Any:
    """A method of an object: the tree's own first, then what its outside base does."""
    own = state.read(base.id, name)
    if own is None:
        own = bases.member(frame, state, base.klass, name)
        if own is not None:
            own = classes.bind(frame, state, base, base.klass, own, site)
    if own is not None:
        return calls.apply(frame, state, own, args, site, keywords, expr)
    return outside_method(frame, state, base, name, args, keywords, site, expr)


def _super_method(
    frame: Frame,
    state: State,
    base: Super,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None,
) -> Any:
    found = classes.super_attribute(frame, state, base, name)
    if isinstance(found, Bound) and isinstance(found.method, Closure):
        return calls.apply(frame, state, found, args, site, keywords, expr)
    if not isinstance(base.owner, Instance):
        return frame.run.unknown(name)
    if name == "__init__":
        classes.construct_outside(frame, state, base.owner, args, keywords)
        return NONE
    if name in ("__call__", "forward") and bases.is_module(frame, base.owner):
        if name == "__call__":
            return classes.call_module(frame, state, base.owner, args, keywords, site)
        return classes.outside_forward(frame, state, base.owner, args, keywords, site)
    return outside_method(frame, state, base.owner, name, args, keywords, site, expr)


def outside_method(
    frame: Frame,
    state: State,
    base: Instance,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None,
) -> Any:
    """A method that an object has from a base outside the tree."""
    path = next(iter(bases.outside_bases(base.klass)), "")
    facts = frame.run.facts
    if state.read(base.id, "#items") is not None and not bases.is_module(frame, base):
        return list_method(frame, state, List(base.id), name, args, keywords)
    if bases.is_module(frame, base):
        return module_method(frame, state, base, name, args, keywords, site, expr)
    if bases.is_optimizer(frame, base.klass):
        note_optimizer_call(frame, base, name)
        if name == "step" and args:
            return calls.closure_in_mode(frame, state, args[0], [], site)
        return frame.run.unknown(name)
    if path in facts.lists["threads.pools"] and facts.has("threads.handing", name) and args:
        handed(frame, state, args[0], args[1:], site, name)
        return frame.run.unknown(name)
    if path.endswith("ExitStack") and name in ("enter_context", "enter_async_context") and args:
        return _entered_on_stack(frame, state, args[0], site)
    if "distributions." in path:
        return _distribution_method(frame, state, base, name, args, site)
    hint = path.rsplit(".", 1)[-1]
    return unknown_method(frame, state, frame.run.unknown(hint), name, args, keywords, site, expr, hint)


def _entered_on_stack(frame: Frame, state: State, value: Any, site: Site) -> Any:
    guard = as_guard(state, value)
    if guard is not None:
        enter_guard(frame, state, guard, site, "with")
        return NONE
    if isinstance(value, Lazy) and value.kind == "manager":
        target, _ = enter_manager(frame, state, value, site)
        return target
    return value


def _distribution_method(
    frame: Frame, state: State, base: Instance, name: str, args: list[Any], site: Site
) -> Any:
    stored = list(base.args) + [v for k, v in state.fields(base.id).items() if k == "#operands"]
    operation = Operation(name)
    if name in ("sample", "sample_n"):
        result = cut(frame, state, site, Tuple(tuple(stored)), name, integer=True)
        return result
    return operate(frame, state, site, [*stored, *args], operation)


def handed(frame: Frame, state: State, target: Any, args: list[Any], site: Site, name: str) -> None:
    """Work handed to a thread: tell if it records there although it was handed over under a guard."""
    guard = state.mode.guard
    target = state.resolve(target)
    if state.mode.records is not False or guard is None:
        _run_in_thread(frame, state, target, args, site)
        return
    trial = state.fork()
    trial.mode = ON
    elements = [iteration.element(frame, trial, a, ir.NOWHERE) for a in args] if name != "Thread" else args
    if isinstance(target, Closure | Bound | Instance | Partial) and iteration.is_recorded(
        frame, trial, lambda: calls.apply(frame, trial, target, elements, site)
    ):
        frame.run.emit(ThreadStarted(guard, site, _target_name(target)))


def _run_in_thread(frame: Frame, state: State, target: Any, args: list[Any], site: Site) -> None:
    if isinstance(target, Closure):
        calls.defer(frame, state, target)


def _target_name(target: Any) -> str:
    match target:
        case Closure(function=function):
            return function.name
        case Bound(method=Closure(function=function)):
            return function.name
        case _:
            return "the module"


def module_method(
    frame: Frame,
    state: State,
    base: Instance,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None,
) -> Any:
    """The methods that every module has."""
    match name:
        case "parameters" | "named_parameters":
            return Parameters(base, name.startswith("named"))
        case "requires_grad_":
            flag = state.resolve(args[0] if args else keywords.get("requires_grad", Literal(True)))
            freeze(frame, state, base, bool(flag.value) if isinstance(flag, Literal) else None)
            return base
        case "train" | "eval":
            flag = state.resolve(args[0] if args else keywords.get("mode", Literal(True)))
            for module in (base, *classes.submodules(state, base)):
                state.write(module.id, "training", Literal(False) if name == "eval" else flag)
            return base
        case _ if name in _SAME:
            if state.mode.inference and name in _CONVERTING and not _to_cpu(state, args):
                classes.mark_inference(frame, state, base, "converted", site)
            return base
        case "register_buffer" | "register_parameter" | "add_module" | "register_module":
            key = state.resolve(args[0]) if args else None
            if isinstance(key, Literal) and len(args) > 1:
                state.write(base.id, key.value, args[1])
            return NONE
        case "register_forward_hook":
            hooks = state.read(base.id, "#hooks")
            items = hooks.items if hooks is not None else ()
            if args:
                state.write(base.id, "#hooks", Tuple((*items, args[0])))
                frame.run.hooked.add(base.id)
            return frame.run.unknown("handle")
        case "modules" | "children" | "named_modules" | "named_children":
            found = (
                [base, *classes.submodules(state, base)]
                if "modules" in name
                else classes.submodules(state, base)
            )
            if name.startswith("named"):
                return iteration.new_list(
                    frame,
                    state,
                    [],
                    Tuple((frame.run.unknown("name"), iteration._merged(frame, list(found)))),
                )
            return iteration.new_list(
                frame, state, list(found), None if found else frame.run.unknown("module")
            )
        case "append" | "extend" if state.read(base.id, "#items") is not None:
            return list_method(frame, state, List(base.id), name, args, keywords)
        case "values" | "items" | "keys":
            return dict_method(frame, state, Dict(base.id), name, args, keywords)
        case "__call__":
            return calls.call_instance(frame, state, base, args, keywords, site)
        case "forward":
            return classes.outside_forward(frame, state, base, args, keywords, site)
        case "zero_grad":
            note_cleared(frame, parameters_within(state, base))
            return NONE
        case "apply" | "state_dict" | "load_state_dict" | "buffers" | "named_buffers":
            return frame.run.unknown(name)
        case "log" | "log_dict" | "print" | "save_hyperparameters":
            return NONE
        case _:
            return unknown_method(
                frame, state, frame.run.unknown(name), name, args, keywords, site, expr, name
            )


def _to_cpu(state: State, args: list[Any]) -> bool:
    return any(state.resolve(arg) == Literal("cpu") for arg in args)


def unknown_method(
    frame: Frame,
    state: State,
    base: Unknown,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None,
    subject: str,
) -> Any:
    """A method of something unknown: what its name says, where it says enough."""
    facts = frame.run.facts
    if name == "remove" and not args:
        # The handle of a hook: whose it is does not matter, as silence is the safe side.
        for hooked in frame.run.hooked:
            state.drop(hooked, "#hooks")
    stored = state.read(base.origin, name)
    if stored is not None:
        return calls.apply(frame, state, stored, args, site, keywords, expr)
    if name in facts.lists["backward.methods"]:
        sinks.backward_asked(frame, state, base, subject, site)
        return NONE
    if name in ("parameters", "named_parameters"):
        return Parameters(base, name.startswith("named"))
    if name in ("items", "values", "keys"):
        return frame.run.unknown(base.hint)
    if name == "requires_grad_":
        return base
    if facts.has("cuts.methods", name):
        return cut(frame, state, site, base, name, number=facts.has("cuts.numbers", name))
    if name in ("train", "eval", "to", "cuda"):
        if state.mode.records is False and name in ("to", "cuda"):
            return Unknown(frame.run.fresh(), base.hint, base.role)
        return base
    if facts.has("threads.handing", name) and _is_pool(base, subject) and args:
        handed(frame, state, args[0], args[1:], site, name)
        return frame.run.unknown(name)
    if name == "step":
        note_unknown_step(frame, state, base, args)
        for arg in args:
            if isinstance(state.resolve(arg), Closure):
                return calls.closure_in_mode(frame, state, arg, [], site)
    if name in ("append", "extend", "add") and args:
        calls._defer_closures(frame, state, args)
        return NONE
    return calls.unknown_call(frame, state, base, args, keywords, site, name)


def _is_pool(base: Unknown, subject: str) -> bool:
    return any(word in (base.hint + subject).lower() for word in ("pool", "executor"))
