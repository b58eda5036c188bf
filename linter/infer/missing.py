"""What a loop says of a gradient that may be missing, told from the tree."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk


def same(a: Any, b: Any) -> bool:
    """Whether two expressions are written alike, wherever they stand."""
    if type(a) is not type(b):
        return False
    if isinstance(a, tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if not hasattr(a, "__dataclass_fields__"):
        return bool(a == b)
    return all(same(getattr(a, f.name), getattr(b, f.name)) for f in fields(a) if f.name != "at")


def gradient_aliases(body: ir.Body) -> list[tuple[str, ir.Expr]]:
    """Names bound to a gradient: `g = p.grad`, `g = getattr(p, "grad", None)`."""
    found = []
    for node in walk(body, into_functions=False):
        match node:
            case ir.Assign(targets=(ir.Name(id=name),), value=value) | ir.Walrus(target=name, value=value):
                parameter = gradient_of(value)
                if parameter is not None:
                    found.append((name, parameter))
    return found


def gradient_of(expr: ir.Expr) -> ir.Expr | None:
    """The parameter of `p.grad`, `p.grad.data`, `getattr(p, "grad", None)`."""
    match expr:
        case ir.Attr(base=base, name="grad"):
            return base
        case ir.Attr(base=ir.Attr(base=base, name="grad"), name="data"):
            return base
        case ir.Call(func=ir.Name(id="getattr"), args=(first, ir.Arg(value=ir.Const(value="grad")), *_)):
            return first.value
        case ir.Walrus(value=value):
            return gradient_of(value)
        case _:
            return None


def _tested(expr: ir.Expr, aliases: list[tuple[str, ir.Expr]]) -> ir.Expr | None:
    """The parameter whose gradient an expression is."""
    parameter = gradient_of(expr)
    if parameter is not None:
        return parameter
    if isinstance(expr, ir.Name):
        return next((p for name, p in aliases if name == expr.id), None)
    return None


def missing(test: ir.Expr, aliases: list[tuple[str, ir.Expr]]) -> tuple[ir.Expr, int] | None:
    """(parameter, handle) where the test is true if the parameter's gradient is missing."""
    match test:
        case ir.Compare(op="is" | "==", left=left, right=ir.Const(value=None)):
            parameter = _tested(left, aliases)
            return (parameter, test.at) if parameter is not None else None
        case ir.Logic(op="or", operands=operands):
            return next((m for o in operands if (m := missing(o, aliases)) is not None), None)
        case ir.Logic(op="not", operands=(operand,)):
            return present(operand, aliases)
        case _:
            return None


def present(test: ir.Expr, aliases: list[tuple[str, ir.Expr]]) -> tuple[ir.Expr, int] | None:
    """(parameter, handle) where the test is true only if the parameter's gradient is there."""
    match test:
        case ir.Compare(op="is-not" | "!=", left=left, right=ir.Const(value=None)):
            parameter = _tested(left, aliases)
            return (parameter, test.at) if parameter is not None else None
        case ir.Logic(op="and", operands=operands):
            return next((m for o in operands if (m := present(o, aliases)) is not None), None)
        case ir.Logic(op="not", operands=(operand,)):
            return missing(operand, aliases)
        case ir.Call(func=ir.Name(id="hasattr"), args=(first, ir.Arg(value=ir.Const(value="grad")))):
            return first.value, test.at
        case ir.Attr() | ir.Name() | ir.Walrus():
            parameter = _tested(test, aliases)
            return (parameter, test.at) if parameter is not None else None
        case _:
            return None
