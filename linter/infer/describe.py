"""Naming expressions in the user's own words."""

from __future__ import annotations

from gradguard.ir.nodes import Attr, Await, Call, Const, Expr, Item, Name, Op, Sequence, Walrus

_LONGEST = 40


def describe(expr: Expr | None) -> str:
    """A short text for an expression, as a user would say it; "" where none is short."""
    text = _text(expr, 4)
    return text if len(text) <= _LONGEST else ""


def _text(expr: Expr | None, depth: int) -> str:
    if depth == 0:
        return ""
    match expr:
        case Name(id=name):
            return name
        case Attr(base=base, name=name):
            inner = _text(base, depth - 1)
            return f"{inner}.{name}" if inner else name
        case Item(base=base, index=Const(value=value)):
            inner = _text(base, depth - 1)
            return f"{inner}[{value!r}]" if inner else ""
        case Item(base=base):
            inner = _text(base, depth - 1)
            return f"{inner}[...]" if inner else ""
        case Call(func=func, args=args):
            inner = _text(func, depth - 1)
            return f"{inner}({'...' if args else ''})" if inner else ""
        case Await(value=value) | Walrus(value=value):
            return _text(value, depth - 1)
        case Op(op=op, operands=(left, right)):
            a, b = _text(left, depth - 2), _text(right, depth - 2)
            return f"{a} {op} {b}" if a and b else ""
        case Const(value=value) if isinstance(value, int | float | str | type(None)):
            return repr(value)
        case Sequence(items=items) if len(items) == 1:
            return _text(items[0], depth - 1)
        case _:
            return ""


def last_name(expr: Expr | None) -> str:
    """The last name of a dotted expression: `criterion` of `self.criterion`."""
    match expr:
        case Name(id=name) | Attr(name=name):
            return name
        case Item(base=base):
            return last_name(base)
        case Call(func=func):
            return last_name(func)
        case _:
            return ""
