"""Methods of vectors and slices."""

from __future__ import annotations

from typing import Any

from gradguard.infer.rust import lifetimes, operations, places, streams
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.values import ABSENT, Stream, Variant
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import List, Literal, Tuple, Unknown


def method(frame: RustFrame, state: State, receiver: Any, name: str, args: list[Any], site: Site) -> Any:
    """A method of a sequence; None where it is none that matters."""
    items, exact = places.items_of(frame, state, receiver)
    match name:
        case "push" | "push_back" | "insert" | "push_front" if args and isinstance(receiver, List):
            operations.stored(frame, args[-1])
            _pushed(frame, state, receiver, args[-1], items, exact)
            return Literal(None)
        case "extend" | "append" if args and isinstance(receiver, List):
            more, _ = streams.forced(frame, state, args[0])
            operations.look_at(frame, more)
            state.write(receiver.id, "#rest", places.merged(frame, [*items, *more]))
            state.write(receiver.id, "#items", Tuple(()))
            return Literal(None)
        case "clear" | "truncate" if isinstance(receiver, List):
            guards = lifetimes.held_by(frame.session, state, receiver)
            lifetimes.own(frame.session, guards, made=False)
            state.allocate(receiver.id, {"#items": Tuple(())})
            return Literal(None)
        case "first" | "last" | "get" | "get_mut" | "first_mut" | "last_mut":
            if exact and not items:
                return ABSENT
            index = Literal(len(items) - 1) if "last" in name else (args[0] if args else Literal(0))
            found = places.get_item(frame, state, receiver, index)
            return Variant("Some", (found,)) if exact and not args else found
        case "pop" | "pop_back" | "pop_front" if exact and isinstance(receiver, List):
            return _popped(frame, state, receiver, items, 0 if name == "pop_front" else len(items) - 1)
        case "pop" | "pop_front" | "pop_back" | "remove" | "swap_remove" if isinstance(receiver, List):
            found = places.merged(frame, list(items))
            if lifetimes.held_by(frame.session, state, receiver):
                lifetimes.lose(frame.session, state, lifetimes.held_by(frame.session, state, receiver))
            state.write(receiver.id, "#items", Tuple(()))
            state.write(receiver.id, "#rest", found)
            return found
        case _ if name in streams.STARTING:
            return Stream(items, exact)
        case "len" | "is_empty" | "contains" | "sort" | "reserve" | "sort_by" | "contains_key":
            return frame.run.unknown(name)
        case _ if name in streams.LAZY | streams.SAME | streams.CONSUMING | streams.COUNTING and isinstance(
            receiver, List | Unknown
        ):
            return None
        case _:
            return None


def _popped(frame: RustFrame, state: State, receiver: List, items: tuple[Any, ...], index: int) -> Variant:
    """The element at an end of a sequence all of whose elements are known, taken out of it."""
    if not items:
        return ABSENT
    state.write(receiver.id, "#items", Tuple((*items[:index], *items[index + 1 :])))
    lifetimes.own(frame.session, lifetimes.held_by(frame.session, state, items[index]), made=False)
    return Variant("Some", (items[index],))


def _pushed(
    frame: RustFrame, state: State, receiver: List, value: Any, items: tuple[Any, ...], exact: bool
) -> None:
    if exact and len(items) < 6:
        state.write(receiver.id, "#items", Tuple((*items, value)))
        return
    held = lifetimes.held_by(frame.session, state, Tuple((*items, value)))
    state.write(receiver.id, "#rest", places.merged(frame, [*items, value]))
    state.write(receiver.id, "#items", Tuple(()))
    lifetimes.lose(frame.session, state, held - lifetimes.held_by(frame.session, state, receiver))
