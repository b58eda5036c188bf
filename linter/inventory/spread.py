"""How far a guard reaches that no block ends: what runs after a statement, and where it is undone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gradguard.ir import nodes as ir

Holder = ir.With | ir.FunctionDef


@dataclass(frozen=True, slots=True)
class Rest:
    """The statements of `body` from `start` on, and what runs behind them.

    `holder` is the with statement, or the decorated function, that ends with this body.
    """

    body: ir.Body
    start: int = 0
    outer: Rest | None = None
    holder: Holder | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """What a guard covers. `end` is the node whose end is the guard's, None where it is unknown."""

    region: tuple[Any, ...]
    end: int | None


def reach(rest: Rest | None, stops: Callable[[Holder], bool], undoes: Callable[[ir.Stmt], bool]) -> Reach:
    """From a statement on up to a holder that stops it, or to a statement that undoes it on every way.

    A statement that undoes it in one branch only leaves the end unknown.
    """
    region: list[Any] = []
    while rest is not None:
        end = _up_to(rest.body[rest.start :], undoes, region)
        if end is not None:
            return Reach(tuple(region), end)
        if rest.holder is not None and stops(rest.holder):
            return Reach(tuple(region), rest.holder.at)
        rest = rest.outer
    return Reach(tuple(region), None)


def _up_to(body: ir.Body, undoes: Callable[[ir.Stmt], bool], region: list[Any]) -> int | None:
    """Add to `region` what runs before the undoing; its handle, None if it is not among these statements."""
    for statement in body:
        end: int | None = None
        match statement:
            case _ if undoes(statement):
                return statement.at
            case ir.With(entries=entries, body=inner):
                region.extend(entries)
                end = _up_to(inner, undoes, region)
            case ir.Try(body=inner, handlers=handlers, orelse=orelse, final=final):
                end = _up_to(inner, undoes, region)
                if end is None:
                    region.extend(handlers)
                    end = _up_to(orelse + final, undoes, region)
            case _:
                region.append(statement)
        if end is not None:
            return end
    return None


def dedicated(holder: Holder, name: str) -> bool:
    """Whether a with statement binds `name`, as `with ExitStack() as name` does."""
    return isinstance(holder, ir.With) and any(
        isinstance(entry.target, ir.Name) and entry.target.id == name for entry in holder.entries
    )
