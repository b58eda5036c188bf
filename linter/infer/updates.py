"""Loops that update parameters and pass over one whose gradient is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from gradguard.frozen import dataclass
from gradguard.infer import bases
from gradguard.infer.describe import describe, last_name
from gradguard.infer.events import UpdateSkips
from gradguard.infer.frames import Frame
from gradguard.infer.interest import may_name_gradients
from gradguard.infer.missing import gradient_aliases, gradient_of, missing, present, same
from gradguard.infer.state import State
from gradguard.infer.values import Bound, Closure, Klass, Known
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk

WRITING = frozenset(
    [
        "add_",
        "sub_",
        "mul_",
        "div_",
        "copy_",
        "addcmul_",
        "addcdiv_",
        "lerp_",
        "set_",
        "subtract_",
        "addmm_",
        "clamp_",
        "sign_",
        "assign_sub",
        "assign_add",
    ]
)
_SILENT = (ir.Continue, ir.Break)


@dataclass(frozen=True, slots=True)
class _Skip:
    """A silent pass over a missing gradient. `written` is where a write of the parameter is left out by it;
    `tests` counts how often the gradient is read only to test it."""

    parameter: ir.Expr
    at: int
    written: ir.Body
    tests: int = 1


def note_loop(frame: Frame, state: State, loop: ir.For) -> None:
    """Tell of a loop over parameters that writes them and skips a missing gradient in silence."""
    if frame.closure is not None and not may_name_gradients(frame.closure.function):
        return
    body = loop.body
    aliases = gradient_aliases(body)
    for skip in (*_skips(body, aliases), *_filtered(frame, loop)):
        write = _write_of(frame, state, skip.written, skip.parameter)
        if write is None or not _reads_gradient(frame, body, skip, aliases):
            continue
        if (
            not _depends_on_loop(loop, skip.parameter)
            or _is_perturbation(body, skip.parameter)
            or _checked_before(frame, loop)
        ):
            continue
        frame.run.emit(
            UpdateSkips(
                describe(skip.parameter) or "the parameter",
                frame.site(skip.at),
                frame.site(write),
                _in_optimizer(frame),
            )
        )


def _depends_on_loop(loop: ir.For, parameter: ir.Expr) -> bool:
    """Whether each turn of the loop is about another parameter."""
    own = {node.id for node in walk((loop.target,)) if isinstance(node, ir.Name)}
    for node in walk(loop.body, into_functions=False):
        match node:
            case ir.Assign(targets=targets, value=value) if any(
                isinstance(n, ir.Name) and n.id in own for n in walk((value,))
            ):
                own.update(t.id for t in targets if isinstance(t, ir.Name))
            case ir.For(target=target, iter=source) if any(
                isinstance(n, ir.Name) and n.id in own for n in walk((source,))
            ):
                own.update(n.id for n in walk((target,)) if isinstance(n, ir.Name))
    return any(isinstance(node, ir.Name) and node.id in own for node in walk((parameter,)))


def _is_silent(body: ir.Body) -> bool:
    return all(isinstance(s, _SILENT) or _is_nothing(s) for s in body)


def _is_nothing(statement: ir.Stmt) -> bool:
    return isinstance(statement, ir.Evaluate) and isinstance(statement.value, ir.Const | ir.Opaque)


def _skips(body: ir.Body, aliases: list[tuple[str, ir.Expr]]) -> Iterator[_Skip]:
    for statement in body:
        match statement:
            case ir.If(test=test, then=then, other=other):
                gone = missing(test, aliases)
                if gone is not None and _is_silent(then):
                    leaves = any(isinstance(s, _SILENT) for s in then)
                    yield _Skip(*gone, body if leaves else other)
                there = present(test, aliases)
                if there is not None and _is_silent(other):
                    yield _Skip(*there, then)
                yield from _skips(then, aliases)
                yield from _skips(other, aliases)
            case ir.With(body=inner) | ir.While(body=inner):
                yield from _skips(inner, aliases)
            case ir.Try(body=inner, handlers=handlers):
                yield from _skips(inner, aliases)
                yield from _swallowed(inner, handlers)
            case ir.Evaluate(value=ir.Logic(op="and", operands=operands)):
                there = present(operands[0], aliases)
                if there is not None:
                    yield _Skip(*there, (statement,))
            case ir.Evaluate(value=ir.Choice(test=test, other=ir.Const(value=None))):
                there = present(test, aliases)
                if there is not None:
                    yield _Skip(*there, (statement,))


def _swallowed(body: ir.Body, handlers: tuple[ir.Handler, ...]) -> Iterator[_Skip]:
    """`try: p -= lr * p.grad / except TypeError: pass`."""
    for handler in handlers:
        names = (
            {last_name(handler.type)}
            if not isinstance(handler.type, ir.Sequence)
            else {last_name(item) for item in handler.type.items}
        )
        if handler.type is not None and not names & {"TypeError", "AttributeError", "Exception"}:
            continue
        if not _is_silent(handler.body):
            continue
        for node in walk(body, into_functions=False):
            parameter = gradient_of(node) if isinstance(node, ir.Attr) else None
            if parameter is not None:
                yield _Skip(parameter, handler.at, body, 0)
                return


def _filtered(frame: Frame, loop: ir.For) -> Iterator[_Skip]:
    """A loop over only those parameters whose gradient is there."""
    source = loop.iter
    if isinstance(source, ir.Name) and frame.closure is not None:
        source = _assigned(frame.closure.function.body, source.id) or source
    while isinstance(source, ir.Call) and last_name(source.func) in (
        "list",
        "tuple",
        "enumerate",
        "reversed",
        "sorted",
    ):
        if not source.args:
            return
        source = source.args[0].value
    conditions: list[ir.Expr] = []
    match source:
        case ir.Comprehension(clauses=clauses):
            conditions = [c for clause in clauses for c in clause.conditions]
        case ir.Call(func=ir.Name(id="filter"), args=(ir.Arg(value=ir.Lambda(function=function)), *_)):
            conditions = [s.value for s in function.body if isinstance(s, ir.Return) and s.value is not None]
    target = loop.target.items[-1] if isinstance(loop.target, ir.Sequence) else loop.target
    for condition in conditions:
        there = present(condition, [])
        if there is not None:
            yield _Skip(target, there[1], loop.body, 0)


def _assigned(body: ir.Body, name: str) -> ir.Expr | None:
    for node in walk(body, into_functions=False):
        match node:
            case ir.Assign(targets=(ir.Name(id=found),), value=value) if found == name:
                return value
    return None


def _root(expr: ir.Expr) -> ir.Expr:
    """`p` of `p.data` and `p[...]`."""
    while True:
        match expr:
            case ir.Attr(base=base, name="data") | ir.Item(base=base):
                expr = base
            case ir.Call(func=ir.Attr(base=base, name="detach" | "view" | "view_as")):
                expr = base
            case _:
                return expr


def _write_of(frame: Frame, state: State, body: ir.Body, parameter: ir.Expr) -> int | None:
    """Where the loop writes the parameter. Adding the bare gradient is arithmetic of a test: no training step
    climbs by it, without a rate."""
    names = [parameter]
    for node in walk(body, into_functions=False):
        match node:
            case ir.Assign(targets=(ir.Name() as alias,), value=value) if any(
                same(_root(value), n) for n in names
            ):
                if not isinstance(value, ir.Item):
                    names.append(alias)
            case ir.Assign(targets=targets):
                for target in targets:
                    if isinstance(target, ir.Attr) and target.name == "data" and _is_one(target.base, names):
                        return node.at
            case ir.Update(target=target, op=op, value=value) if _is_one(_root(target), names):
                if op != "+" or gradient_of(value) is None:
                    return node.at
            case ir.Call(func=ir.Attr(base=base, name=name)) if name in WRITING and _is_one(
                _written(base), names
            ):
                return node.at
            case ir.Call() if (at := _written_by(frame, state, node, names)) is not None:
                return at
    return None


def _written(base: ir.Expr) -> ir.Expr:
    """The tensor at the head of a chain of in-place calls: `p` of `p.mul_(a)` in `p.mul_(a).add_(b)`."""
    while isinstance(base, ir.Call) and isinstance(base.func, ir.Attr) and base.func.name.endswith("_"):
        base = base.func.base
    return _root(base)


def _is_one(expr: ir.Expr, names: list[ir.Expr]) -> bool:
    return any(same(expr, name) for name in names)


def _written_by(frame: Frame, state: State, call: ir.Call, names: list[ir.Expr]) -> int | None:
    """A call of a function of the tree that writes the parameter it is given."""
    from gradguard.infer.scopes import lookup

    position = next(
        (i for i, a in enumerate(call.args) if a.name is None and _is_one(_root(a.value), names)), None
    )
    if position is None:
        return None
    target: Any = None
    match call.func:
        case ir.Name(id=name):
            target = state.resolve(lookup(frame, state, name))
        case ir.Attr(base=ir.Name(id="self"), name=name) if isinstance(frame.klass, Klass):
            target = bases.member(frame, state, frame.klass, name)
            position += 1
    if isinstance(target, Bound):
        target = target.method
    if not isinstance(target, Closure):
        return None
    params = [p for p in target.function.params if p.kind == "positional"]
    if position >= len(params):
        return None
    own = ir.Name(params[position].name, ir.NOWHERE)
    for node in walk(target.function.body, into_functions=False):
        match node:
            case ir.Update(target=written) if same(_root(written), own):
                return call.at
            case ir.Call(func=ir.Attr(base=base, name=method)) if method in WRITING and same(
                _written(base), own
            ):
                return call.at
            case ir.Assign(targets=(ir.Attr(base=base, name="data"),)) if same(base, own):
                return call.at
    return None


def _reads_gradient(frame: Frame, body: ir.Body, skip: _Skip, aliases: list[tuple[str, ir.Expr]]) -> bool:
    """Whether the loop uses the gradient beyond testing it."""
    uses = 0
    names = {name for name, parameter in aliases if same(parameter, skip.parameter)}
    for node in walk(body, into_functions=False):
        parameter = gradient_of(node) if isinstance(node, ir.Attr | ir.Call) else None
        if (parameter is not None and same(parameter, skip.parameter)) or (
            isinstance(node, ir.Name) and node.id in names
        ):
            uses += 1
    return uses > skip.tests


def _is_perturbation(body: ir.Body, parameter: ir.Expr) -> bool:
    """Whether the loop keeps the parameter's old value to put it back: a perturbation, not an update."""
    for node in walk(body, into_functions=False):
        match node:
            case ir.Assign(targets=targets, value=value):
                kept = any(isinstance(t, ir.Item | ir.Attr) for t in targets)
                if kept and _is_copy(value, parameter):
                    return True
            case ir.Call(func=ir.Attr(name="append"), args=(ir.Arg(value=value),)) if _is_copy(
                value, parameter
            ):
                return True
    return False


def _is_copy(value: ir.Expr, parameter: ir.Expr) -> bool:
    match value:
        case ir.Call(func=ir.Attr(base=base, name="clone" | "copy")):
            while isinstance(base, ir.Call) and isinstance(base.func, ir.Attr):
                base = base.func.base
            return same(_root(base), parameter)
        case ir.Call(func=ir.Attr(base=base, name="detach" | "cpu" | "to")):
            return _is_copy(base, parameter)
        case _:
            return False


def _checked_before(frame: Frame, loop: ir.For) -> bool:
    """Whether the function makes sure of every gradient before the loop."""
    if frame.closure is None:
        return False
    for node in walk(frame.closure.function.body, into_functions=False):
        if getattr(node, "at", loop.at) >= loop.at:
            continue
        match node:
            case ir.Assert(test=test) if _mentions_gradients(test):
                return True
            case ir.If(test=test, then=then) if _mentions_gradients(test) and any(
                isinstance(s, ir.Raise) for s in then
            ):
                return True
            case ir.For(body=inner) if inner is not loop.body and _raises_on_missing(inner):
                return True
    return False


def _mentions_gradients(test: ir.Expr) -> bool:
    return any(isinstance(n, ir.Attr) and n.name == "grad" for n in walk((test,)))


def _raises_on_missing(body: ir.Body) -> bool:
    return any(
        (
            isinstance(s, ir.If)
            and missing(s.test, []) is not None
            and any(isinstance(t, ir.Raise) for t in s.then)
        )
        or (isinstance(s, ir.Assert) and present(s.test, []) is not None)
        for s in body
    )


def _has_outside_base(klass: Klass) -> bool:
    """Whether a class derives from one that is not in the tree, other than object."""

    return any(
        not isinstance(base, Klass)
        and not (isinstance(base, Known) and base.path.startswith(("builtins.", "torch.nn")))
        for base in bases.lineage(klass)
    )


def _in_optimizer(frame: Frame) -> bool:

    if not isinstance(frame.klass, Klass):
        return False
    if bases.is_optimizer(frame, frame.klass):
        return True
    if frame.closure is not None and _has_outside_base(frame.klass):
        for node in walk(frame.closure.function.body):
            match node:
                case ir.Attr(base=ir.Name(id="self"), name="param_groups"):
                    return True
    for base in bases.lineage(frame.klass):
        hint = base.path if isinstance(base, Known) else getattr(base, "hint", "")
        if str(hint).rsplit(".", 1)[-1].endswith(("Optimizer", "Optim", "SGD", "Adam", "AdamW")):
            return True
    return False
