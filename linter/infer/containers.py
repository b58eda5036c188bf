"""Lists and dicts."""

from __future__ import annotations

from typing import Any

from gradguard.infer import iteration
from gradguard.infer.frames import Frame
from gradguard.infer.joins import merge
from gradguard.infer.state import State
from gradguard.infer.values import NONE, Dict, Lazy, List, Literal, Tuple
from gradguard.ir import nodes as ir

LONGEST = 12


def list_method(
    frame: Frame, state: State, base: List, name: str, args: list[Any], keywords: dict[str, Any]
) -> Any:
    """A method of a list, set or deque."""
    items = state.read(base.id, "#items")
    known = items.items if items is not None else ()
    match name:
        case "append" | "add" | "appendleft":
            if args:
                push(frame, state, base, args[0])
            return NONE
        case "extend" | "update":
            more = iteration.known_items(frame, state, args[0]) if args else []
            if more is None:
                _rest(state, base, iteration.element(frame, state, args[0], ir.NOWHERE))
            else:
                for one in more:
                    push(frame, state, base, one)
            return NONE
        case "insert":
            if len(args) > 1:
                push(frame, state, base, args[1])
            return NONE
        case "pop" | "popleft":
            return iteration.element(frame, state, base, ir.NOWHERE)
        case "clear":
            state.write(base.id, "#items", Tuple(()))
            state.drop(base.id, "#rest")
            return NONE
        case "copy":
            return iteration.new_list(frame, state, list(known), state.read(base.id, "#rest"))
        case _:
            return frame.run.unknown(name)


def push(frame: Frame, state: State, base: List, value: Any) -> None:
    """Put one more element into a list; past some length one value stands for all that follow."""
    items = state.read(base.id, "#items")
    known = items.items if items is not None else ()
    if len(known) >= LONGEST or value in known:
        _rest(state, base, value)
    else:
        state.write(base.id, "#items", Tuple((*known, value)))


def _rest(state: State, base: List, value: Any) -> None:
    rest = state.read(base.id, "#rest")
    state.write(base.id, "#rest", value if rest is None else merge(rest, value))


def dict_method(
    frame: Frame, state: State, base: Dict, name: str, args: list[Any], keywords: dict[str, Any]
) -> Any:
    """A method of a dict."""
    key = state.resolve(args[0]) if args else None
    match name:
        case "items" | "values":
            return Lazy(name, frame.site(ir.NOWHERE), base.id)
        case "get" | "pop" | "setdefault" if isinstance(key, Literal):
            found = state.read(base.id, ("key", key.value))
            if found is not None:
                return found
            rest = state.read(base.id, "#rest")
            default = args[1] if len(args) > 1 else NONE
            if rest is not None:
                return merge(rest, default) if len(args) > 1 else rest
            if name == "setdefault":
                state.write(base.id, ("key", key.value), default)
            return default
        case "update":
            other = state.resolve(args[0]) if args else None
            if isinstance(other, Dict):
                for field, value in state.fields(other.id).items():
                    state.write(base.id, field, value)
            elif other is not None:
                state.write(base.id, "#rest", frame.run.unknown())
            for word, value in keywords.items():
                state.write(base.id, ("key", word), value)
            return NONE
        case "get" | "pop" | "setdefault":
            values = [v for k, v in state.fields(base.id).items() if v is not None]
            return iteration._merged(frame, values) if values else frame.run.unknown()
        case _:
            return frame.run.unknown(name)
