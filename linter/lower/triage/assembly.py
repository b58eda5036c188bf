"""The parts of a class or a function, as the cheap parser has read them."""

from __future__ import annotations

import ast

from gradguard.ir.nodes import Body, ClassDef, Function
from gradguard.lower.assembly import Lowerer
from gradguard.lower.chunks import parse
from gradguard.lower.parts import Part, Parts
from gradguard.lower.triage.lowering import (
    lower_class_header,
    lower_function,
    lower_function_header,
    lower_statements,
)


def _statements(part: Part, at: int) -> Body:
    return lower_statements(part.read(), at)


def _header(part: Part, at: int) -> Function:
    return lower_function_header(part.head(), at)


def _function(part: Part, at: int) -> Function:
    return lower_function(part.node(), at)


def _class_header(parts: Parts, base: int) -> ClassDef:
    (header,) = parse(parts.header).body
    assert isinstance(header, ast.ClassDef)
    return lower_class_header(header, base)


LOWERER = Lowerer(_statements, _header, _function, _class_header)
