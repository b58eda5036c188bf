"""A class or a function from its parts, functions left for later."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from gradguard.ir.nodes import Body, ClassDef, Function, FunctionDef
from gradguard.lower.later import LaterFunction, Make
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
    sketch = part.function
    if sketch is None:
        return _statements(part, part.text, base, rows_before)
    at = base + part.first_node
    whole: Function | Make = partial(_function, part, part.text, base, rows_before)
    header: Function | Make = whole
    if sketch.header:
        header = partial(_function, part, sketch.header, base, rows_before)
        header = header() if sketch.is_decorated else header
    elif sketch.is_decorated:
        header = whole = _function(part, part.text, base, rows_before)
    later = LaterFunction(sketch, at, part.text, header, whole)
    return (FunctionDef(later, at),)


def _function(part: Part, text: str, base: int, rows_before: int) -> Function:
    """The function that a text of the part lowers to; one that libcst cannot parse does nothing."""
    try:
        (statement,) = _statements(part, text, base, rows_before)
    except Unreadable:
        return Function("", (), (), (), False, False, base + part.first_node)
    assert isinstance(statement, FunctionDef)
    return statement.function


def _statements(part: Part, text: str, base: int, rows_before: int) -> Body:
    """What a text of the part lowers to, numbered as the part of the chunk that it is."""
    body = lower_text(text, base + part.first_node - part.wrapping, rows_before + part.rows_before).body
    if not part.wrapping:
        return body
    (around,) = body
    assert isinstance(around, ClassDef)
    return around.body
