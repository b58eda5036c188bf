"""Calls of Python's builtins."""

from __future__ import annotations

from typing import Any

from gradguard.infer import bases, iteration
from gradguard.infer.frames import Frame
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.tensors import Operation, cut, operate, sum_of, walk
from gradguard.infer.truths import truth
from gradguard.infer.values import (
    NONE,
    Alternatives,
    Bound,
    Closure,
    Dict,
    Instance,
    Klass,
    Known,
    Lazy,
    List,
    Literal,
    Module,
    Tensor,
    Tuple,
    Unknown,
)
from gradguard.ir import nodes as ir


def call_builtin(
    frame: Frame,
    state: State,
    name: str,
    args: list[Any],
    keywords: dict[str, Any],
    site: Site,
    expr: ir.Call | None,
) -> Any:
    """The value of a call of the builtin `name`."""
    if name == "setattr":
        return _setattr(frame, state, args, site, expr)
    handler = _HANDLERS.get(name)
    if handler is not None:
        return handler(frame, state, args, keywords, site)
    if name in ("float", "int", "bool", "complex", "round", "str", "repr"):
        return _number(frame, state, name, args, site)
    if name in ("max", "min", "abs", "pow"):
        return _extreme(frame, state, name, args, site)
    if name in ("enumerate", "zip", "map", "filter", "reversed"):
        guard = state.mode.guard if state.mode.records is False else None
        return Lazy(name, site, tuple(args), guard, frame.depth)
    if name in ("list", "tuple", "set", "sorted", "frozenset"):
        return _gathered(frame, state, name, args)
    if name in ("any", "all"):
        return _drained(frame, state, args)
    if name in ("print", "super", "id", "hash", "input", "open", "exit", "quit"):
        if name in ("exit", "quit"):
            from gradguard.infer.run import Ended

            raise Ended
        return frame.run.unknown(name)
    if name.endswith(("Error", "Exception", "Warning")) or name in ("KeyboardInterrupt", "StopIteration"):
        return frame.run.unknown(name)
    return frame.run.unknown(name)


def _len(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    items = iteration.known_items(frame, state, args[0]) if args else None
    return Literal(len(items)) if items is not None else frame.run.unknown("len", "number")


def _range(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    constants = [state.resolve(a) for a in args]
    if constants and all(isinstance(c, Literal) and isinstance(c.value, int) for c in constants):
        numbers = range(*[c.value for c in constants][:3])
        if len(numbers) <= 2:
            return Tuple(tuple(Literal(n) for n in numbers))
    return Unknown(frame.run.fresh(), "range", "range")


def _sum(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    if not args:
        return frame.run.unknown()
    items = iteration.known_items(frame, state, args[0])
    if items is None:
        items = [iteration.element(frame, state, args[0], site.at)]
    total: Any = args[1] if len(args) > 1 else Literal(0)
    for item in items:
        item = state.resolve(item)
        if isinstance(item, Tensor) or isinstance(state.resolve(total), Tensor):
            total = sum_of(frame, state, site, total, item, "sum")
        elif any(True for _ in walk(state, item)):
            total = operate(frame, state, site, (total, item), Operation("sum", linear=True))
    return total if isinstance(total, Tensor | Unknown) else frame.run.unknown("sum", "number")


def _number(frame: Frame, state: State, name: str, args: list[Any], site: Site) -> Any:
    value = state.resolve(args[0]) if args else NONE
    if isinstance(value, Tensor):
        return cut(frame, state, site, value, f"{name}()", number=True)
    if name == "bool":
        known = truth(state, value)
        return Literal(known) if known is not None else value
    return frame.run.unknown("", "number")


def _extreme(frame: Frame, state: State, name: str, args: list[Any], site: Site) -> Any:
    if any(isinstance(v, Tensor) for a in args for v in walk(state, a)):
        return operate(frame, state, site, args, Operation(name))
    return frame.run.unknown("", "number")


def _gathered(frame: Frame, state: State, name: str, args: list[Any]) -> Any:
    if not args:
        return iteration.new_list(frame, state, [], None) if name != "tuple" else Tuple(())
    value = state.resolve(args[0])
    items = iteration.known_items(frame, state, value)
    if items is not None:
        return Tuple(tuple(items)) if name == "tuple" else iteration.new_list(frame, state, items, None)
    if isinstance(value, Unknown):
        return value
    from gradguard.infer.values import Parameters

    if isinstance(value, Parameters):
        return value
    return iteration.new_list(frame, state, [], iteration.element(frame, state, value, ir.NOWHERE))


def _drained(frame: Frame, state: State, args: list[Any]) -> Any:
    if args and isinstance(args[0], Lazy):
        iteration.element(frame, state, args[0], ir.NOWHERE)
    return frame.run.unknown("", "number")


def _dict(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    identity = frame.run.fresh()
    fields: dict[Any, Any] = {("key", k): v for k, v in keywords.items() if k not in ("*", "**")}
    if args:
        source = state.resolve(args[0])
        if isinstance(source, Dict):
            fields = {**state.fields(source.id), **fields}
        else:
            fields["#rest"] = frame.run.unknown()
    if "**" in keywords:
        fields["#rest"] = frame.run.unknown()
    state.allocate(identity, fields)
    return Dict(identity)


def _next(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    return iteration.element(frame, state, args[0], ir.NOWHERE) if args else frame.run.unknown()


def _iter(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    return args[0] if args else frame.run.unknown()


def _getattr(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    from gradguard.infer.objects import get_attribute

    if len(args) < 2:
        return frame.run.unknown()
    name = state.resolve(args[1])
    if not isinstance(name, Literal) or not isinstance(name.value, str):
        return frame.run.unknown()
    expr = ir.Attr(ir.Name("", site.at), name.value, site.at)
    if len(args) > 2 and isinstance(state.resolve(args[0]), Unknown):
        return frame.run.unknown(name.value)
    return get_attribute(frame, state, args[0], name.value, expr)


def _setattr(frame: Frame, state: State, args: list[Any], site: Site, expr: ir.Call | None) -> Any:
    from gradguard.infer.objects import set_attribute

    if len(args) == 3:
        name = state.resolve(args[1])
        if isinstance(name, Literal) and isinstance(name.value, str):
            written = expr.args[0].value if expr is not None and len(expr.args) == 3 else None
            target = ir.Attr(written or ir.Name("", site.at), name.value, site.at)
            set_attribute(frame, state, args[0], target, args[2])
    return NONE


def _hasattr(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    if len(args) < 2:
        return frame.run.unknown()
    base, name = state.resolve(args[0]), state.resolve(args[1])
    if (
        isinstance(base, Known)
        and isinstance(name, Literal)
        and f"{base.path}.{name.value}" in frame.run.facts.guards
    ):
        return Literal(True)
    if isinstance(base, Instance) and isinstance(name, Literal):
        held = state.read(base.id, name.value)
        if held is not None or bases.member(frame, state, base.klass, name.value) is not None:
            return Literal(True)
    return frame.run.unknown()


_NUMBERS = frozenset({"int", "float", "bool", "complex", "Number", "Complex", "Real", "Rational", "Integral"})
"""Types of numbers, without their modules."""


def _isinstance(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    if len(args) < 2:
        return frame.run.unknown()
    value, klass = state.resolve(args[0]), state.resolve(args[1])
    if isinstance(value, Alternatives):
        then, other = (_isinstance(frame, state, [one, klass], {}, site) for one in (value.then, value.other))
        return then if then == other else Alternatives(value.key, then, other)
    names = [k.path for k in (klass.items if isinstance(klass, Tuple) else (klass,)) if isinstance(k, Known)]
    short = {name.rsplit(".", 1)[-1] for name in names}
    match value:
        case Tensor(opaque=False, number=False):
            if "Tensor" in short:
                return Literal(True)
            return (
                Literal(False)
                if short and short <= {"list", "tuple", "dict", "str", "ndarray", *_NUMBERS}
                else frame.run.unknown()
            )
        case Tensor(number=True) if short and len(short) == len(names):
            return Literal(False) if short.isdisjoint(_NUMBERS) else frame.run.unknown()
        case List() | Tuple() | Dict():
            kind = {List: "list", Tuple: "tuple", Dict: "dict"}[type(value)]
            if short and "Tensor" in short and kind not in short:
                return Literal(False)
            return Literal(True) if kind in short else frame.run.unknown()
        case Instance(klass=Klass() as own) if isinstance(klass, Klass):
            return Literal(True) if klass in bases.lineage(own) else frame.run.unknown()
        case Literal(value=constant) if short:
            python: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}
            if short <= {*python, "Tensor"} and len(short) == len(names):
                return Literal(isinstance(constant, tuple(python[s] for s in short if s in python)))
            return frame.run.unknown()
        case _:
            return frame.run.unknown()


def _callable(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    value = state.resolve(args[0]) if args else NONE
    return Literal(True) if isinstance(value, Closure | Klass | Bound | Module) else frame.run.unknown()


def _type(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
    value = state.resolve(args[0]) if args else NONE
    return value.klass if isinstance(value, Instance) else frame.run.unknown()


def _descriptor(kind: str) -> Any:
    def build(frame: Frame, state: State, args: list[Any], keywords: dict[str, Any], site: Site) -> Any:
        from dataclasses import replace

        value = state.resolve(args[0]) if args else NONE
        return replace(value, kind=kind) if isinstance(value, Closure) else value

    return build


_HANDLERS = {
    "len": _len,
    "range": _range,
    "sum": _sum,
    "dict": _dict,
    "next": _next,
    "iter": _iter,
    "getattr": _getattr,
    "hasattr": _hasattr,
    "isinstance": _isinstance,
    "callable": _callable,
    "type": _type,
    "staticmethod": _descriptor("static"),
    "classmethod": _descriptor("class"),
    "property": _descriptor("property"),
}
