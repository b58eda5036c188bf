"""The parts of a class or a function, read by libcst."""

from __future__ import annotations

from gradguard.ir.nodes import Body, ClassDef, Function, FunctionDef
from gradguard.lower.assembly import Lowerer
from gradguard.lower.parts import Part, Parts, header_of
from gradguard.lower.python.parsing import lower_text
from gradguard.lower.unreadable import Unreadable


def _class_header(parts: Parts, base: int) -> ClassDef:
    (statement,) = lower_text(parts.header, base, parts.rows_before).body
    assert isinstance(statement, ClassDef)
    return statement


def _header(part: Part, at: int) -> Function:
    return _lower_function(part, header_of(part) or part.text, at)


def _function(part: Part, at: int) -> Function:
    return _lower_function(part, part.text, at)


def _lower_function(part: Part, text: str, at: int) -> Function:
    """The function that a text of the part lowers to; one that libcst cannot parse does nothing."""
    try:
        (statement,) = _lower(part, text, at)
    except Unreadable:
        return Function("", (), (), (), False, False, at)
    assert isinstance(statement, FunctionDef)
    return statement.function


def _statements(part: Part, at: int) -> Body:
    return _lower(part, part.text, at)


def _lower(part: Part, text: str, at: int) -> Body:
    """What a text of the part lowers to, numbered as the part of the chunk that it is."""
    body = lower_text(text, at - part.wrapping, part.rows_before).body
    if not part.wrapping:
        return body
    (around,) = body
    assert isinstance(around, ClassDef)
    return around.body


LOWERER = Lowerer(_statements, _header, _function, _class_header)
