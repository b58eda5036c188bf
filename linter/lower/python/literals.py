"""Names, numbers and strings."""

from __future__ import annotations

import ast
import unicodedata
import warnings
from typing import Any

import libcst as cst

from gradguard.ir.nodes import Const, Expr, Name, Opaque
from gradguard.lower.context import Context, ExpressionTable

_KEYWORDS = {"True": True, "False": False, "None": None}


def spelled(identifier: str) -> str:
    """An identifier as the interpreter compares it."""
    return identifier if identifier.isascii() else unicodedata.normalize("NFKC", identifier)


def _lower_name(node: cst.Name, context: Context) -> Expr:
    name = node.value
    if name in _KEYWORDS:
        return Const(_KEYWORDS[name], context.number(node))
    return Name(spelled(name), context.number(node))


def _lower_integer(node: cst.Integer, context: Context) -> Expr:
    try:
        return Const(int(node.value, 0), context.number(node))
    except ValueError:
        # Python refuses to convert thousands of digits.
        return Opaque((), context.number(node))


def _lower_float(node: cst.Float, context: Context) -> Expr:
    return Const(float(node.value), context.number(node))


def _lower_imaginary(node: cst.Imaginary, context: Context) -> Expr:
    return Const(complex(node.value.replace("_", "")), context.number(node))


def _lower_string(node: cst.SimpleString, context: Context) -> Expr:
    value = string_value(node.value)
    at = context.number(node)
    return Opaque((), at) if value is None else Const(value, at)


def string_value(literal: str) -> str | bytes | None:
    """The value of a string literal as written; None if it has none."""
    quote = literal[-1]
    prefix, _, rest = literal.partition(quote)
    prefix = prefix.lower()
    if "\\" in rest and "r" not in prefix:
        return _evaluated(literal)
    inner = rest[2:-3] if rest.startswith(quote * 2) and len(rest) >= 5 else rest[:-1]
    return inner.encode("latin-1", "replace") if "b" in prefix else inner


def _evaluated(literal: str) -> str | bytes | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = ast.literal_eval(literal)
    except (SyntaxError, ValueError):
        return None
    return value if isinstance(value, str | bytes) else None


def _lower_concatenation(node: cst.ConcatenatedString, context: Context) -> Expr:
    """Adjacent literals: one constant, or opaque when a part is formatted."""
    at = context.number(node)
    parts: list[cst.CSTNode] = []
    rest: cst.CSTNode = node
    while isinstance(rest, cst.ConcatenatedString):
        parts.append(rest.left)
        rest = rest.right
    parts.append(rest)
    values: list[Any] = [string_value(part.value) for part in parts if isinstance(part, cst.SimpleString)]
    if len(values) == len(parts) and len({type(value) for value in values}) == 1 and values[0] is not None:
        return Const(type(values[0])().join(values), at)
    operands = [operand for part in parts for operand in _formatted(part, context)]
    return Opaque(tuple(operands), at)


def _lower_formatted(node: cst.FormattedString, context: Context) -> Expr:
    at = context.number(node)
    return Opaque(tuple(_formatted(node, context)), at)


def _formatted(node: cst.CSTNode, context: Context) -> list[Expr]:
    """The expressions between the braces of a formatted string, those of nested formats included."""
    found: list[Expr] = []
    pending = list(getattr(node, "parts", ()))
    while pending:
        part = pending.pop(0)
        if hasattr(part, "expression"):
            found.append(context.expression(part.expression))
            pending[:0] = part.format_spec or ()
    return found


def _lower_ellipsis(node: cst.Ellipsis, context: Context) -> Expr:
    return Opaque((), context.number(node))


EXPRESSIONS: ExpressionTable = {
    cst.Name: _lower_name,
    cst.Integer: _lower_integer,
    cst.Float: _lower_float,
    cst.Imaginary: _lower_imaginary,
    cst.SimpleString: _lower_string,
    cst.ConcatenatedString: _lower_concatenation,
    cst.FormattedString: _lower_formatted,
    cst.Ellipsis: _lower_ellipsis,
}
