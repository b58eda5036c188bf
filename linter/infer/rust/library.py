"""What the crates that differentiate do, as their tables tell."""

from __future__ import annotations

from typing import Any

from gradguard.facts.crates import Crate
from gradguard.infer import sinks, tensors
from gradguard.infer.describe import describe
from gradguard.infer.events import BackwardAsked, ParameterRebound
from gradguard.infer.joins import leaves_of
from gradguard.infer.rust import lifetimes, modules, operations, places
from gradguard.infer.rust.session import ALIVE, RustFrame, guard_site
from gradguard.infer.rust.spellings import WRAPPERS
from gradguard.infer.rust.values import Counted, Handle, Slot, Table
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import Closure, Literal, Tensor, Test, Track, Unknown
from gradguard.ir import nodes as ir

_UNSURE = ("grad", "variable", "leaf", "param", "track", "requires")


def method(
    frame: RustFrame, state: State, receiver: Any, name: str, args: list[Any], expr: ir.Call, site: Site
) -> Any:
    """A method that a crate's table tells of; None where none does."""
    for crate in frame.crates:
        if _may_be_of(frame, crate, receiver, name):
            found = _method(frame, state, crate, receiver, name, args, expr, site)
            if found is not None:
                return found
        found = modules.method(frame, state, crate, receiver, name, args, site)
        if found is not None:
            return found
        taken = _taken(frame, args) if crate.has("backward.takers", name) else None
        if taken is not None:
            frame.watch.looked = True
            _backward(frame, state, crate, args[taken], expr, site, taken)
            return frame.run.unknown()
    return None


def _taken(frame: RustFrame, args: list[Any]) -> int | None:
    """Which argument a method differentiates: the first tensor."""
    return next((index for index, one in enumerate(args) if operations.is_tensor(frame, one)), None)


def _may_be_of(frame: RustFrame, crate: Crate, receiver: Any, name: str) -> bool:
    """Whether a method of that name can be the crate's, as far as the receiver's type is known."""
    match receiver:
        case Tensor() | Handle() | Table():
            return True
        case Unknown(role=""):
            return not frame.session.spaces.defines_method(name)
        case Unknown():
            kind = places.type_of(frame, receiver).name
            return any(kind in names for key, names in crate.lists.items() if key.startswith("types."))
        case _:
            return False


def _kind(frame: RustFrame, crate: Crate, receiver: Any) -> str:
    """What a receiver is: tensor, runtime, session, table, plain, module, or unknown."""
    match receiver:
        case Tensor():
            return "tensor"
        case Handle(kind=kind):
            return kind
        case Table():
            return "table"
    name = places.type_of(frame, receiver).name
    for kind in ("tensor", "runtime", "session", "table", "guard", "plain", "module", "stateless", "config"):
        if crate.has(f"types.{kind}", name):
            return kind
    return "tensor" if crate.has("types.leaf", name) else "unknown"


def _method(
    frame: RustFrame,
    state: State,
    crate: Crate,
    receiver: Any,
    name: str,
    args: list[Any],
    expr: ir.Call,
    site: Site,
) -> Any:
    kind = _kind(frame, crate, receiver)
    subject = describe(expr.func.base) if isinstance(expr.func, ir.Attr) else ""
    match kind:
        case "plain" | "guard" | "module" | "stateless" | "config":
            return None
        case "table":
            return _table(frame, crate, receiver, name, args, expr, site)
    if kind in ("runtime", "unknown"):
        found = _runtime(frame, state, crate, name, args, site)
        if found is not None:
            return found
    if kind in ("tensor", "unknown"):
        found = _tensor(frame, state, crate, receiver, name, args, expr, subject, site)
        if found is not None:
            return found
    if kind in ("session", "tensor"):
        return _operation(frame, state, kind, receiver, name, args, site)
    return None


def _runtime(frame: RustFrame, state: State, crate: Crate, name: str, args: list[Any], site: Site) -> Any:
    if crate.has("guards.methods", name) and not args:
        return lifetimes.start(frame, state, guard_site(frame, name, site))
    if crate.has("sessions.methods", name):
        return _session(frame, state, args, site)
    if crate.has("constants.methods", name):
        return operations.constant(frame, site, name)
    if crate.has("leaves.methods", name) and args:
        return operations.leaf(frame)
    return None


def _session(frame: RustFrame, state: State, args: list[Any], site: Site) -> Any:
    from gradguard.infer.rust.calls import call_value

    closure = next((value for value in reversed(args) if isinstance(value, Closure)), None)
    if closure is None:
        operations.escaped(frame, state, args)
        return frame.run.unknown()
    return call_value(frame, state, closure, [Handle("session")], site)


def _tensor(
    frame: RustFrame,
    state: State,
    crate: Crate,
    receiver: Any,
    name: str,
    args: list[Any],
    expr: ir.Call,
    subject: str,
    site: Site,
) -> Any:
    if crate.has("backward.methods", name):
        return _backward(frame, state, crate, receiver, expr, site)
    if crate.has("queries.methods", name) and not args:
        frame.watch.looked = True
        return _tracks(state, receiver)
    if crate.has("gradient.reads", name) and len(args) == len(crate.layers) % 2:
        for one in leaves_of(receiver):
            for rebound in one.rebound if isinstance(one, Tensor) else ():
                frame.run.emit(ParameterRebound(rebound, one, site, crate.profile))
        return Slot(subject, site, crate.layers)
    if not operations.is_tensor(frame, receiver):
        return None
    if crate.has("cuts.methods", name):
        return tensors.cut(frame, state, site, receiver, name)
    if crate.has("leaves.markers", name):
        if args and not (isinstance(args[0], Literal) and args[0].value is True):
            return frame.run.unknown(name)
        return operations.leaf(frame)
    if crate.has("tensor.identities", name):
        return receiver
    if crate.has("tensor.plain", name):
        return Unknown(frame.run.fresh(), name, "Tensor" if name in ("value", "to_tensor") else "")
    return None


def _operation(
    frame: RustFrame, state: State, kind: str, receiver: Any, name: str, args: list[Any], site: Site
) -> Any:
    if name in WRAPPERS:
        return None
    if any(word in name for word in _UNSURE) or any(isinstance(value, Closure) for value in args):
        operations.escaped(frame, state, args)
        return frame.run.unknown(name)
    if name.endswith("_") and isinstance(receiver, Tensor):
        return operations.in_place(frame, state, receiver, args, name, site)
    return operations.operate(frame, state, args if kind == "session" else [receiver, *args], name, site)


def _tracks(state: State, receiver: Any) -> Any:
    """Whether a value tracks, as it says itself."""
    if isinstance(receiver, Tensor):
        if receiver.track is Track.CONDITIONAL and receiver.when is not None:
            return state.resolve(Test(receiver.when.key, receiver.when.truth))
        known = sinks.is_tracked(receiver)
        return Literal(known) if known is not None else Test(f"tracks{receiver.origin}")
    if isinstance(receiver, Unknown):
        return state.resolve(Test(f"tracks{receiver.origin}"))
    return Unknown(0)


def _backward(
    frame: RustFrame,
    state: State,
    crate: Crate,
    value: Any,
    expr: ir.Call,
    site: Site,
    taken: int | None = None,
) -> Any:
    receiver: ir.Expr = expr.func.base if isinstance(expr.func, ir.Attr) else expr
    if taken is not None:
        receiver = expr.args[taken].value
    frame.session.activity += 1
    frame.watch.asked.append(site)
    options = sinks.options_of(state, value)
    untracked = [one for one in options if isinstance(one, Tensor) and _finds_nothing(one)]
    if options and len(untracked) == len(options):
        subject, chain = describe(_bare(receiver)), sinks.chain_of(frame)
        asked = BackwardAsked(untracked[0], subject, site, state.mode, chain, crate.profile, shared=True)
        frame.run.emit(asked)
    if not crate.unchecked:
        return frame.run.unknown("gradients")
    if crate.profile != "burn":
        frame.watch.backwards.append(site)
    return Table(site)


def _finds_nothing(value: Tensor) -> bool:
    return value.track is Track.UNTRACKED and value.cause is not None


def _bare(expr: ir.Expr) -> ir.Expr:
    while isinstance(expr, ir.Propagate | ir.Op) and not (isinstance(expr, ir.Op) and len(expr.operands) > 1):
        expr = expr.operands[0] if isinstance(expr, ir.Op) else expr.value
    return expr


def _table(
    frame: RustFrame, crate: Crate, receiver: Any, name: str, args: list[Any], expr: ir.Call, site: Site
) -> Any:
    """A method of the table that backward gave."""
    if name in ("len", "is_empty"):
        frame.watch.looked = True
        table = receiver if isinstance(receiver, Table) else Table(site)
        return Counted(table, True if name == "is_empty" else None)
    if crate.has("gradient.lookups", name) and args:
        parameter = describe(_bare(expr.args[0].value))
        return Slot(parameter, site, crate.layers)
    if name in WRAPPERS:
        return None
    frame.watch.looked = True
    return frame.run.unknown(name)


def function(frame: RustFrame, state: State, path: str, args: list[Any], expr: ir.Call, site: Site) -> Any:
    """A function of a crate, by its whole path; None where no table tells of it."""
    parts = path.split("::")
    for crate in frame.crates:
        if not crate.owns(parts[0]):
            continue
        short = "::".join(parts[-2:])
        if crate.has("guards.functions", path) or crate.has("guards.functions", short):
            return lifetimes.start(frame, state, guard_site(frame, parts[-1], site))
        if crate.has("guards.closures", path):
            return _closure_under(frame, state, parts[-1], args, site, off=True)
        if crate.has("guards.enabling", path):
            return _closure_under(frame, state, parts[-1], args, site, off=False)
        if crate.has("leaves.functions", short):
            return operations.leaf(frame)
        if crate.has("constants.functions", short):
            return operations.constant(frame, site, short)
        found = _associated(frame, state, crate, parts, args, expr, site)
        if found is not None:
            return found
    return None


def _associated(
    frame: RustFrame, state: State, crate: Crate, parts: list[str], args: list[Any], expr: ir.Call, site: Site
) -> Any:
    """`Type::function(..)` of a crate's type: constructors, and methods called with their receiver."""
    if len(parts) < 2:
        return None
    kind, name = parts[-2], parts[-1]
    if crate.has("types.runtime", kind) and not _is_handle(args):
        return Handle("runtime")
    is_type = any(kind in names for key, names in crate.lists.items() if key.startswith("types."))
    if not is_type:
        module = modules.made(frame, crate, parts)
        if module is not None:
            return module
        return _free(frame, state, name, args, site) if kind[:1].islower() else None
    if crate.has("types.tensor", kind) and args and operations.is_tensor(frame, args[0]):
        as_method = ir.Call(ir.Attr(expr.args[0].value, name, expr.at), expr.args[1:], expr.at)
        return _method(frame, state, crate, args[0], name, args[1:], as_method, site)
    if crate.has("types.tensor", kind):
        return operations.operate(frame, state, args, name, site)
    if modules.is_kind(crate, kind) and crate.has("modules.runs", name) and len(args) > 1:
        written = places.type_of(frame, args[0]).name
        return modules.run(frame, state, crate, written or kind, args[1:], name, site)
    return Unknown(frame.run.fresh(), name, kind)


def _free(frame: RustFrame, state: State, name: str, args: list[Any], site: Site) -> Any:
    """A function of a crate that is given tensors: `einsum(&[&a, &b], ..)`, `loss::mse(&a, &b)`."""
    if any(word in name for word in _UNSURE) or any(isinstance(value, Closure) for value in args):
        return None
    if not operations.has_tensor(frame, state, args):
        return None
    return operations.operate(frame, state, args, name, site)


def _is_handle(args: list[Any]) -> bool:
    return bool(args) and isinstance(args[0], Handle)


def _closure_under(
    frame: RustFrame, state: State, name: str, args: list[Any], site: Site, *, off: bool
) -> Any:
    """`no_grad(|| ..)` and `with_grad(|| ..)`."""
    from gradguard.infer.rust.calls import call_value

    if not args or not isinstance(args[0], Closure):
        return frame.run.unknown(name)
    if off:
        guard = lifetimes.start(frame, state, guard_site(frame, name, site))
        value = call_value(frame, state, args[0], [], site)
        lifetimes.release(frame.session, state, (guard.origin,))
        return value
    return apart(frame, state, args[0], site)


def apart(frame: RustFrame, state: State, closure: Any, site: Site) -> Any:
    """Run a closure with recording on, whatever holds around it: another thread, or `with_grad`."""
    from gradguard.infer.modes import ON
    from gradguard.infer.rust.calls import call_value

    held = dict(state.fields(ALIVE))
    for origin in held:
        state.write(ALIVE, origin, Literal(False))
    state.mode = ON
    try:
        return call_value(frame, state, closure, [], site)
    finally:
        for origin, alive in held.items():
            state.write(ALIVE, origin, alive)
        lifetimes.settle(frame.session, state)
