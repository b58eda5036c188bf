"""What a run of a Rust program is told by, line by line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradguard.facts.crates import Crate
from gradguard.ir import nodes as ir
from gradguard.lower.module import Module
from gradguard.replay.log import REPEATS, backward_text, log_lines, mode_text, nodes_of, value_text
from gradguard.replay.rust.macros import PRINTING, Printed, written
from gradguard.replay.rust.session import RustSession
from gradguard.replay.rust.values import Failure, Held, Panic, Plain, Table, Variant, bare
from gradguard.replay.trace import Seen

if TYPE_CHECKING:
    from gradguard.infer.program import Program

_TELLING = ("guards.", "leaves.", "sessions.", "queries.", "cuts.", "backward.", "gradient.")


def error_text(error: BaseException) -> str:
    """How the program ended, in a clause."""
    text = " ".join(str(error).split())[:160]
    if isinstance(error, Failure):
        return f"`Err`: {text}" if text else "`Err`"
    return f"panic: {text}" if isinstance(error, Panic) else f"{type(error).__name__}: {text}"


def notable(lowered: Module, crates: tuple[Crate, ...]) -> frozenset[int]:
    """The places of a file that tell of gradients, and the lines that it prints."""
    names = {
        name.rsplit("::", 1)[-1]
        for crate in crates
        for key, found in crate.lists.items()
        if key.startswith(_TELLING)
        for name in found
    }
    places: set[int] = set()
    for node in nodes_of(lowered):
        match node:
            case ir.Call(func=ir.Attr(name=name), at=at) if name in names:
                places.add(at)
            case ir.Call(func=ir.Name(id=name), at=at) if (
                name in PRINTING or name.rsplit("::", 1)[-1] in names
            ):
                places.add(at)
    return frozenset(places)


def tell(session: RustSession, seen: Seen) -> str:
    """What a passage showed, "" where nothing is worth telling."""
    if seen.error is not None:
        return error_text(seen.error)
    value = bare(seen.value)
    if isinstance(value, Printed):
        return f"prints `{value}`" if value else ""
    if isinstance(value, Variant):
        return written(value, debug=True) if value.name in ("Some", "None", "Err") else ""
    if isinstance(value, Table):
        return _table(session, seen, value)
    if session.is_backward(seen):
        return backward_text(session, seen)
    if isinstance(value, Held):
        return f"-> {mode_text(seen.after)}" if seen.before != seen.after else "the guard is dropped here"
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or isinstance(value, str):
        return ""
    return value_text(session, value)


def _table(session: RustSession, seen: Seen, table: Table) -> str:
    """What a backward that answers with a table has found."""
    count = f"{len(table.found)} gradient{'' if len(table.found) == 1 else 's'}"
    parts = [f"Ok with {count}"]
    named = [(name, key) for key, (name, _) in session.leaves.items() if key in table.found]
    for name, key in named[:REPEATS]:
        parts.append(f"{name}.grad = {written(Plain(table.found[key]._array), debug=True)}")
    parts += [f"no gradient on {name}" for name in seen.missing[:REPEATS]]
    return ", ".join(parts)


def lines_of(session: RustSession, program: Program) -> tuple[str, ...]:
    """The log of a run; what a statement shows once more behind its expression is left out."""
    found: list[str] = []
    for line in log_lines(session, program, tell):
        if not found or found[-1] != line:
            found.append(line)
    return tuple(found)


def end(session: RustSession) -> str:
    """How the run ended."""
    trace = session.trace
    if trace.stopped:
        return f"stopped: {trace.stopped}"
    return f"ended by {error_text(trace.error)}" if trace.error is not None else "ended without an error"
