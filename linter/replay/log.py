"""A replay as a short log: at each line the mode, the value, and whether it is tracked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from gradguard.findings import Replay
from gradguard.infer.sites import Site
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.lower.module import Unreadable
from gradguard.replay.execute import Returned
from gradguard.replay.messages import first_sentence
from gradguard.replay.session import Session
from gradguard.replay.trace import Modes, Seen
from gradguard.replay.value import Value, words

if TYPE_CHECKING:
    from gradguard.infer.program import Program
    from gradguard.lower.module import Module

Tell = Callable[[Any, Seen], str]
REPEATS = 2
TEXT = 60
FEW = 4
_ASKING = words("backward grad register_hook retain_grad requires_grad_ detach item numpy")
_SWITCHES = words("no_grad inference_mode enable_grad set_grad_enabled")
_READ = words("grad requires_grad data")


def notable(lowered: Module) -> frozenset[int]:
    """The places of a file that tell of gradients: guards, what is made, and what asks for a gradient."""
    found: set[int] = set()
    for node in nodes_of(lowered):
        match node:
            case ir.Entry(at=at) | ir.Yield(at=at):
                found.add(at)
            case ir.Call(func=ir.Attr(name=name) | ir.Name(id=name), at=at) if name in _ASKING | _SWITCHES:
                found.add(at)
            case ir.Attr(name=name, at=at) if name in _READ:
                found.add(at)
            case ir.Assign(value=ir.Call() | ir.Op() as value):
                found.add(value.at)
    return frozenset(found)


def nodes_of(lowered: Module) -> Iterator[Any]:
    """Every node of a file, as far as it can be read."""
    for chunk in lowered.chunks:
        try:
            body = lowered.body(chunk.index)
        except (Unreadable, RecursionError):
            continue
        yield from walk(body)


def outcome_text(replay: Replay) -> str:
    """How a replay came out, and what was seen."""
    return f"{replay.outcome}: {replay.detail}" if replay.detail else replay.outcome


def log_lines(session: Session, program: Program, tell: Tell | None = None) -> list[str]:
    """The log of a run: one line for each passage through a watched place, repeated ones left out.

    `tell` says in a clause what a passage showed, "" where nothing is worth it."""
    rows: list[tuple[str, str, str, str]] = []
    counts: Counter[tuple[Site, str]] = Counter()
    for seen in session.trace.seen:
        told = (tell or _told)(session, seen)
        counts[seen.site, seen.kind] += 1
        if told and counts[seen.site, seen.kind] <= REPEATS and seen.site.module in program.modules:
            place, text = _line(program.modules[seen.site.module], seen.site)
            rows.append((place, text, mode_text(seen.before), told))
    width = max((len(place) for place, _, _, _ in rows), default=0)
    wide = max((len(text) for _, text, _, _ in rows), default=0)
    return [f"{place:>{width}}  {text:<{wide}}  {mode:<9}  {told}" for place, text, mode, told in rows]


def _line(lowered: Module, site: Site) -> tuple[str, str]:
    """Where a place is, and its line."""
    span = lowered.span(site.at)
    cell = f"cell {span.cell}:" if span.cell is not None else ""
    row = span.start.row
    shift = next((one.first_row - 1 for one in lowered.source.cells if one.number == span.cell), 0)
    lines = lowered.lines()
    text = lines[row + shift - 1].strip() if row + shift <= len(lines) else ""
    return f"{cell}{row}", text if len(text) <= TEXT else f"{text[: TEXT - 3]}..."


def mode_text(modes: Modes) -> str:
    """A grad mode in a word."""
    return "inference" if modes.inference else "grad on" if modes.grad else "grad off"


def _told(session: Session, seen: Seen) -> str:
    """What a passage showed, "" where nothing is worth telling."""
    if seen.error is not None:
        return first_sentence(seen.error)
    match seen.kind:
        case "entered":
            return f"-> {mode_text(seen.after)}"
        case "suspended":
            return f"control is given away in {mode_text(seen.after)}"
        case "enter":
            return "called"
        case "leave":
            return value_text(session, seen.value) or "returns"
    if seen.site in session.sinks or session.is_backward(seen):
        return backward_text(session, seen)
    if seen.before != seen.after:
        return f"-> {mode_text(seen.after)}"
    return value_text(session, seen.value.value if isinstance(seen.value, Returned) else seen.value)


def backward_text(session: Session, seen: Seen) -> str:
    """What a backward that came back has done."""
    if not session.is_backward(seen):
        return value_text(session, seen.value)
    reached = [
        (name, leaf) for name, leaf in session.leaves.values() if any(leaf is one for one in seen.reached)
    ]
    count = f"{len(reached)} gradient{'' if len(reached) == 1 else 's'}"
    parts = [f"Ok with {count}"]
    parts += [f"{name}.grad = {_numbers(leaf.grad)}" for name, leaf in reached[:REPEATS]]
    parts += [f"no gradient on {name}" for name in seen.missing[:REPEATS]]
    return ", ".join(parts)


def value_text(session: Session, value: Value) -> str:
    """A tensor's numbers and whether it is tracked, or a plain value; "" for anything else."""
    tensor = session.tensor_of(value)
    if tensor is None:
        return "" if not isinstance(value, bool | int | float | str | None) else _short(repr(value))
    query = session.gradient_query
    answer = bool(tensor.requires_grad) is not (query == "stop_gradient")
    return f"{_numbers(tensor)}, {query} {str(answer).lower()}"


def _numbers(tensor: Value) -> str:
    if tensor.numel() > FEW:
        return f"tensor of shape {list(tensor.shape)}"
    return _short(str(_rounded(tensor.detach().tolist())))


def _rounded(values: Value) -> Value:
    if isinstance(values, list):
        return [_rounded(one) for one in values]
    return round(values, 6) if isinstance(values, float) else values


def _short(text: str) -> str:
    return text if len(text) <= TEXT else f"{text[: TEXT - 3]}..."


def remarks(session: Session) -> Iterator[str]:
    """How the run ended."""
    trace = session.trace
    if trace.stopped:
        yield f"stopped: {trace.stopped}"
    elif trace.error is not None:
        yield f"ended by {first_sentence(trace.error)}"
    else:
        yield "ended without an error"
