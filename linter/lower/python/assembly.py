"""A class or a function from its parts, the bodies of long functions left for later."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gradguard.ir.nodes import Body, ClassDef, FunctionDef
from gradguard.lower.later import LaterFunction
from gradguard.lower.parts import Part, Parts
from gradguard.lower.python.parsing import lower_text
from gradguard.lower.unreadable import Unreadable


def lower_parts(parts: Parts, base: int, rows_before: int) -> Body:
    """The statements of a chunk whose handles start at `base` and whose rows follow so many others.

    Raises `Unreadable`.
    """
    members = [statement for part in parts.members for statement in _lower_part(part, base, rows_before)]
    if not parts.header:
        return tuple(members)
    (statement,) = lower_text(parts.header, base, rows_before).body
    assert isinstance(statement, ClassDef)
    return (replace(statement, body=tuple(members)),)


def _lower_part(part: Part, base: int, rows_before: int) -> Body:
    if not part.header:
        return _statements(part, part.text, base, rows_before)
    (statement,) = _statements(part, part.header, base, rows_before)
    assert isinstance(statement, FunctionDef)
    later = LaterFunction(statement.function, part.is_generator, part.text, _body_of(part, base, rows_before))
    return (FunctionDef(later, statement.at),)


def _body_of(part: Part, base: int, rows_before: int) -> Callable[[], Body]:
    def make() -> Body:
        try:
            (statement,) = _statements(part, part.text, base, rows_before)
        except Unreadable:
            return ()
        assert isinstance(statement, FunctionDef)
        return statement.function.body

    return make


def _statements(part: Part, text: str, base: int, rows_before: int) -> Body:
    """What a text of the part lowers to, numbered as the part of the chunk that it is."""
    wrapper = int(part.is_wrapped)
    body = lower_text(text, base + part.first_node - wrapper, rows_before + part.row - 1 - wrapper).body
    if not wrapper:
        return body
    (around,) = body
    assert isinstance(around, ClassDef)
    return around.body
