"""A class or a function from its parts, functions left for later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gradguard.frozen import dataclass
from gradguard.ir.nodes import Body, ClassDef, Function, FunctionDef
from gradguard.lower.later import LaterFunction
from gradguard.lower.parts import Part, Parts


@dataclass(frozen=True, slots=True)
class Lowerer:
    """How one parser's reading of parts is lowered: the statements of a part, the function that a part is, without
    its statements and with them, and the class around its parts, each with the handle of its first node."""

    statements: Callable[[Part, int], Body]
    header: Callable[[Part, int], Function]
    function: Callable[[Part, int], Function]
    class_header: Callable[[Parts, int], ClassDef]


def lower_parts(parts: Parts, base: int, lowerer: Lowerer) -> Body:
    """The statements of a chunk whose handles start at `base`; raises `Unreadable`."""
    members = [statement for part in parts.members for statement in _lower_part(part, base, lowerer)]
    if not parts.is_class:
        return tuple(members)
    return (replace(lowerer.class_header(parts, base), body=tuple(members)),)


def _lower_part(part: Part, base: int, lowerer: Lowerer) -> Body:
    at = base + part.first_node
    if part.function is None:
        return lowerer.statements(part, at)
    later = LaterFunction(part, at, lowerer.header, lowerer.function)
    return (FunctionDef(later, at),)
