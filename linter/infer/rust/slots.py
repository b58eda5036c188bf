"""Gradients that may be missing: who opens them, and who passes over them in silence."""

from __future__ import annotations

from dataclasses import replace

from gradguard.infer.events import UpdateSkips
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.values import Slot
from gradguard.infer.sites import Site
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk

_LOGGING = frozenset(
    [
        "println!",
        "eprintln!",
        "print!",
        "eprint!",
        "dbg!",
        "trace!",
        "debug!",
        "info!",
        "warn!",
        "error!",
        "log!",
        "write!",
        "writeln!",
        "event!",
        "format!",
    ]
)
_PLAIN_CALLS = frozenset(
    [
        "new",
        "zeros",
        "zeros_like",
        "default",
        "from_elem",
        "with_capacity",
        "clone",
        "to_vec",
        "len",
        "iter",
        "repeat!",
        "shape",
        "dims",
        "Ok",
        "Some",
        "ones",
        "ones_like",
        "full",
        "unwrap",
        "expect",
        "into",
        "device",
        "dtype",
        "vec",
        "as_slice",
        "to_owned",
        "value",
        "sqrt",
    ]
)
_CLEARING = frozenset(("clear_grad", "clear_grads", "zero_grad"))


def opened(frame: RustFrame, slot: Slot, *, loud: bool) -> None:
    """The inside of a gradient option was asked for; `loud`: a missing one is an error."""
    frame.watch.looked = True
    if loud and frame.session.loops:
        frame.watch.counted = True


def popped(slot: Slot) -> Slot | None:
    """A slot with its outermost layer opened; None where that was the last."""
    rest = slot.layers[1:]
    return replace(slot, layers=rest) if rest else None


def skipped(frame: RustFrame, slot: Slot, site: Site, write: Site | None = None) -> None:
    """A missing gradient is passed over in silence at `site`."""
    frame.watch.looked = True
    event = UpdateSkips(slot.parameter or "the parameter", site, write or site, False, _profile(frame))
    told = None if frame.watch.counted or not frame.crates else event
    frame.session.note("GRD201", site, frame.watch.alone, told)


def _profile(frame: RustFrame) -> str:
    return frame.crates[0].profile if frame.crates else "torch"


def judge_branches(frame: RustFrame, slot: Slot, expr: ir.Branches) -> None:
    """A match (or `if let`) on a gradient that was read."""
    slot = as_option(slot, expr)
    present: list[ir.Body] = []
    absent: list[ir.Body] = []
    for case in expr.cases:
        kind = arm_kind(case.test, slot.layers)
        if kind == "present":
            present.append(case.body)
        elif kind == "absent":
            absent.append(case.body)
    if not present:
        if any(_names_absence(case.test) for case in expr.cases):
            opened(frame, slot, loud=not any(map(is_silent, absent)))
        return
    judge(frame, slot, present, absent, frame.site(expr.at))


def as_option(slot: Slot, expr: ir.Branches) -> Slot:
    """The slot without the result around it, where the arms show that there is none, as before 0.1."""
    for case in expr.cases:
        if slot.layers[0] == "result" and is_of_option(case.test):
            return replace(slot, layers=slot.layers[1:])
    return slot


def is_of_option(pattern: ir.Expr | None) -> bool:
    """Whether a pattern is one of an option's."""
    match pattern:
        case ir.Call(func=ir.Name(id="Some")) | ir.Name(id="None"):
            return True
        case _:
            return False


def judge(frame: RustFrame, slot: Slot, present: list[ir.Body], absent: list[ir.Body], site: Site) -> None:
    """The two sides of a test for a gradient: `present` runs where it is there, `absent` where it is not."""
    quiet = bool(absent) and not any(is_silent(body) for body in absent)
    if quiet or all(_is_idle(body) for body in present):
        opened(frame, slot, loud=quiet)
        return
    skipped(frame, slot, site)


def arm_kind(pattern: ir.Expr | None, layers: tuple[str, ...]) -> str:
    """Whether an arm of a match on a gradient takes it: present, absent, or another (`Err(..)`)."""
    if not layers:
        return "present"
    match pattern:
        case ir.Call(func=ir.Name(id="Some" | "Ok"), args=(arg,)):
            return arm_kind(arg.value, layers[1:])
        case ir.Call(func=ir.Name(id="Err")):
            return "other"
        case ir.Op(op="|", operands=options):
            kinds = {arm_kind(option, layers) for option in options}
            return "absent" if "absent" in kinds else next(iter(kinds))
        case ir.Name(id="None"):
            return "absent" if len(layers) == 1 or layers[0] == "option" else "other"
        case ir.Name(id="_"):
            return "absent"
        case _:
            # A name takes the option as it is.
            return "other" if isinstance(pattern, ir.Name | ir.Walrus) else "absent"


def _names_absence(pattern: ir.Expr | None) -> bool:
    match pattern:
        case ir.Name(id="None"):
            return True
        case ir.Call(args=(arg,)):
            return _names_absence(arg.value)
        case _:
            return False


def is_silent(body: ir.Body) -> bool:
    """Whether code that stands for a missing gradient says nothing of it."""
    for node in walk(body):
        match node:
            case ir.Call(func=ir.Name(id=name)) if _last(name) not in _PLAIN_CALLS:
                return False
            case ir.Call(func=ir.Attr(name=name)) if name not in _PLAIN_CALLS:
                return False
            case ir.Call(func=ir.Lambda()):
                return False
            case ir.Update() | ir.Assign() | ir.Raise():
                return False
            case ir.Return(value=value) if _tells(value):
                return False
    return not _tells(_value_of(body))


def _tells(value: ir.Expr | None) -> bool:
    """Whether a value says that something is missing: an error, an absent option, a flag."""
    match value:
        case ir.Name(id=name):
            return name[:1].isupper() or "::" in name
        case ir.Const(value=constant):
            return isinstance(constant, bool | str)
        case ir.Call(func=ir.Name(id="Ok"), args=(arg,)):
            return _tells(arg.value)
        case ir.Call(func=ir.Name(id="Err")):
            return True
        case _:
            return False


def _value_of(body: ir.Body) -> ir.Expr | None:
    """The value of a block."""
    match body:
        case (ir.Evaluate(value=value),):
            return value.value if isinstance(value, ir.Scope) else value
        case _:
            return None


def _is_idle(body: ir.Body) -> bool:
    """Whether code that has a gradient does nothing with it but tell of it, clear it or add it up."""
    acts = False
    for node in walk(body, into_functions=False):
        match node:
            case ir.Update(target=ir.Name(), op="+"):
                acts = True
            case ir.Update() | ir.Assign() | ir.Return() | ir.Let() | ir.For():
                return isinstance(node, ir.Let | ir.For) and _rest_is_idle(body)
            case ir.Call(func=ir.Name(id=name)) if name in _LOGGING:
                acts = True
            case ir.Call(func=ir.Attr(name=name)) if name in _CLEARING:
                acts = True
    return acts and _gives_nothing(body)


def _rest_is_idle(body: ir.Body) -> bool:
    """The same for code with loops and names of its own: only totals change."""
    totals = False
    for node in walk(body, into_functions=False):
        match node:
            case ir.Update(target=ir.Name(), op="+"):
                totals = True
            case ir.Call(func=ir.Name(id=name)) if name in _LOGGING:
                totals = True
            case ir.Update() | ir.Assign() | ir.Return():
                return False
            case ir.Call(func=ir.Attr(name="push" | "insert" | "extend" | "set")):
                return False
    return totals and _gives_nothing(body)


def _gives_nothing(body: ir.Body) -> bool:
    """Whether a block has no value of its own."""
    match body:
        case (ir.Evaluate(value=ir.Scope(value=value)),):
            return value is None or (
                isinstance(value, ir.Call) and isinstance(value.func, ir.Name) and value.func.id in _LOGGING
            )
        case (ir.Evaluate(value=ir.Call(func=ir.Name(id=name))),):
            return name in _LOGGING
        case (ir.Evaluate(value=ir.Call(func=ir.Attr(name=name))),):
            return name in _CLEARING
        case _:
            return False


def _last(path: str) -> str:
    return path.rsplit("::", 1)[-1]


def default_is_silent(value: ir.Expr) -> bool:
    """Whether what stands in for a missing gradient is given without a word."""
    if isinstance(value, ir.Lambda):
        return is_silent(_values(value.function.body))
    return is_silent((ir.Evaluate(value, value.at),))


def _values(body: ir.Body) -> ir.Body:
    """The body of a closure, whose value is no return of the function around it."""
    return tuple(
        ir.Evaluate(one.value, one.at) if isinstance(one, ir.Return) and one.value is not None else one
        for one in body
    )
