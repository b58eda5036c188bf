"""From statements that the cheap parser has read to the IR.

The trees are those that the libcst visitor makes, with the same handles.
"""

from __future__ import annotations

import ast

from gradguard.ir.nodes import Body, ClassDef, Function
from gradguard.lower.context import Context
from gradguard.lower.parts import AnyFunction
from gradguard.lower.triage import definitions, displays, expressions, patterns, statements

_EXPRESSIONS = {**expressions.EXPRESSIONS, **displays.EXPRESSIONS, **definitions.EXPRESSIONS}
_STATEMENTS = {**statements.STATEMENTS, **definitions.STATEMENTS, **patterns.STATEMENTS}


def lower_statements(read: list[ast.stmt], base: int) -> Body:
    """The statements, with handles from `base` on."""
    return _context(base).body(read)


def lower_function(node: AnyFunction, base: int) -> Function:
    """A function, with handles from `base` on."""
    return definitions.lower_function(node, _context(base))


def lower_function_header(node: AnyFunction, base: int) -> Function:
    """The same without its statements."""
    return definitions.lower_function(node, _context(base), is_whole=False)


def lower_class_header(node: ast.ClassDef, base: int) -> ClassDef:
    """A class without its statements, with handles from `base` on."""
    return definitions.lower_class(node, _context(base), is_whole=False)


def _context(base: int) -> Context:
    return Context(base, _EXPRESSIONS, _STATEMENTS)
