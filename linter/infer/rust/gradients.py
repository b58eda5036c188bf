"""Methods of a gradient that was read and may be missing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from gradguard.infer.run import Ended
from gradguard.infer.rust import branches, slots
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.spellings import LENT, OPENING, SAME
from gradguard.infer.rust.values import Presence, Slot, Stream
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import Closure, Literal
from gradguard.ir import nodes as ir


def method(
    frame: RustFrame, state: State, slot: Slot, name: str, args: list[Any], expr: ir.Call, site: Site
) -> Any:
    """A method of a gradient that was read."""
    if slot.layers[0] == "result" and name in ("is_some", "is_none"):
        slot = replace(slot, layers=slot.layers[1:])
    if len(slot.layers) > 1:
        return _outer(frame, state, slot, name, args, expr, site)
    written = [arg.value for arg in expr.args]
    match name:
        case (
            "unwrap"
            | "expect"
            | "ok_or"
            | "ok_or_else"
            | "context"
            | "with_context"
            | "unwrap_unchecked"
            | "wrap_err"
        ):
            slots.opened(frame, slot, loud=True)
            return frame.run.unknown("gradient")
        case "is_some" | "is_none":
            slots.opened(frame, slot, loud=False)
            return Presence(slot, name == "is_some")
        case "is_some_and" | "is_none_or":
            slots.opened(frame, slot, loud=False)
            return Presence(slot, name == "is_some_and")
        case "unwrap_or_default":
            slots.skipped(frame, slot, site)
            return frame.run.unknown("gradient")
        case "unwrap_or" | "map_or" | "unwrap_or_else" | "map_or_else" | "or" | "or_else" if written:
            return _stood_in(frame, state, slot, name, args, written, site)
        case "map" | "and_then" | "inspect" | "filter" if args:
            return _slot_mapped(frame, state, slot, name, args, site)
        case "iter" | "into_iter" | "iter_mut":
            return Stream((frame.run.unknown("gradient"),), False, (), ((slot, site),))
        case "flatten":
            return slot
        case _ if name in LENT or name in SAME or name == "take":
            return slot
        case _:
            slots.opened(frame, slot, loud=False)
            return frame.run.unknown(name)


def _outer(
    frame: RustFrame, state: State, slot: Slot, name: str, args: list[Any], expr: ir.Call, site: Site
) -> Any:
    """The same where the result around the option is still closed."""
    opened = slots.popped(slot)
    assert opened is not None
    if name == "ok":
        return replace(slot, layers=("option", *slot.layers[1:]))
    if name in OPENING or name in ("flatten", "unwrap_or", "unwrap_or_default", "unwrap_or_else"):
        return opened
    if name in ("is_ok", "is_err", "is_some", "is_none"):
        return frame.run.unknown(name)
    if name in ("and_then", "map") and args and isinstance(args[-1], Closure):
        from gradguard.infer.rust.calls import call_value

        found = call_value(frame, state, args[-1], [opened], site)
        return found if isinstance(found, Slot) or name == "and_then" else frame.run.unknown()
    if name in ("map_or", "map_or_else") and args and isinstance(args[-1], Closure):
        from gradguard.infer.rust.calls import call_value

        return call_value(frame, state, args[-1], [opened], site)
    if name in LENT or name in SAME:
        return slot
    slots.opened(frame, slot, loud=False)
    return frame.run.unknown(name)


def _stood_in(
    frame: RustFrame, state: State, slot: Slot, name: str, args: list[Any], written: list[ir.Expr], site: Site
) -> Any:
    """Something stands in for a gradient that is missing."""
    from gradguard.infer.rust.calls import call_value

    is_flag = isinstance(args[0], Literal) and isinstance(args[0].value, bool)
    if name.startswith("or"):
        slots.opened(frame, slot, loud=False)
        return frame.run.unknown("gradient")
    if is_flag:
        slots.opened(frame, slot, loud=False)
        return Presence(slot, not args[0].value)
    if slots.default_is_silent(written[0]):
        slots.skipped(frame, slot, site)
    else:
        slots.opened(frame, slot, loud=True)
    if name in ("map_or", "map_or_else") and isinstance(args[-1], Closure):
        aside = state.fork()
        with suppress(Ended):
            call_value(frame, aside, args[-1], [frame.run.unknown("gradient")], site)
    return frame.run.unknown("gradient")


def _slot_mapped(frame: RustFrame, state: State, slot: Slot, name: str, args: list[Any], site: Site) -> Any:
    from gradguard.infer.rust.calls import call_value

    def there(inner: State) -> Any:
        return call_value(frame, inner, args[-1], [frame.run.unknown("gradient")], site)

    ways: list[branches.Way] = [(state.fork(), there), (state.fork(), lambda _: Literal(None))]
    branches.either_way(frame, state, ways)
    acts = isinstance(args[-1], Closure)
    return replace(slot, mapped=slot.mapped or (acts and name != "filter"))
