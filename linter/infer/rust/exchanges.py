"""Values that change places: `mem::take`, `mem::replace` and `mem::swap`."""

from __future__ import annotations

from typing import Any

from gradguard.infer.rust import lifetimes, places
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.values import ABSENT, Variant
from gradguard.infer.state import State
from gradguard.infer.values import Literal
from gradguard.ir import nodes as ir


def by_function(frame: RustFrame, state: State, expr: ir.Call, name: str, args: list[Any]) -> tuple[Any, ...]:
    """What `mem::take`, `mem::replace` and `mem::swap` give back; nothing for any other function."""
    from gradguard.infer.rust.blocks import assign

    places_lent = [_lent(arg.value) for arg in expr.args]
    place = places_lent[0] if places_lent else None
    kind = name.rsplit("::", 1)[-1]
    if place is None or len(args) != (1 if kind == "take" else 2):
        return ()
    old, new = args[0], args[-1]
    if kind == "take":
        new = ABSENT if isinstance(old, Variant) else places.unknown_of(frame, places.type_of(frame, old))
    elif kind == "swap" and places_lent[1] is not None:
        assign(frame, state, places_lent[1], old, expr.at)
        old = Literal(None)
    elif kind != "replace":
        return ()
    lifetimes.own(frame.session, lifetimes.held_by(frame.session, state, old), made=False)
    assign(frame, state, place, new, expr.at)
    return (old,)


def _lent(expr: ir.Expr) -> ir.Expr | None:
    """The place that a reference is to."""
    match expr:
        case ir.Op(op="&", operands=(inner,)) if places.is_place(inner):
            return inner
        case _:
            return None
