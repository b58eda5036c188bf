"""Guards that are made and come to nothing, and flags that are named and not called."""

from __future__ import annotations

from typing import Any

from gradguard.infer.describe import describe
from gradguard.infer.events import FlagMisplaced, GuardUnused
from gradguard.infer.frames import Frame
from gradguard.infer.state import State
from gradguard.infer.values import Guard, Literal, Tensor
from gradguard.ir import nodes as ir
from gradguard.ir.walk import names_read


def note_discarded(frame: Frame, state: State, statement: ir.Evaluate, value: Any) -> None:
    """An expression statement whose value is a guard, or a flag method without its call."""
    site = frame.site(statement.value.at)
    expr = statement.value
    if (
        isinstance(value, Guard)
        and value.effect in ("off", "inference", "on")
        and value.site.form == "object"
    ):
        if isinstance(expr, ir.Call) and value.site.site == site:
            frame.run.emit(GuardUnused(value.site, "statement", site))
    elif isinstance(expr, ir.Attr) and expr.name == "requires_grad_":
        frame.run.emit(FlagMisplaced(expr.name, describe(expr.base), "uncalled", site))


def note_assigned(frame: Frame, state: State, statement: ir.Assign, value: Any) -> None:
    """A guard bound to a name that this function never reads."""
    if (
        not isinstance(value, Guard)
        or value.effect not in ("off", "inference")
        or value.site.form != "object"
    ):
        return
    if frame.closure is None or frame.is_class or value.site.site != frame.site(statement.value.at):
        return
    names = [target.id for target in statement.targets if isinstance(target, ir.Name)]
    if not names or len(names) != len(statement.targets):
        return
    read = names_read(frame.closure.function.body)
    if not any(name in read or name in frame.outer_names for name in names):
        frame.run.emit(GuardUnused(value.site, "unread", frame.site(statement.value.at), names[0]))


__all__ = ["Literal", "Tensor"]
