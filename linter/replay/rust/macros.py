"""Macro calls, and how values are written out."""

from __future__ import annotations

import re

from gradguard.ir import nodes as ir
from gradguard.replay.limits import LONGEST
from gradguard.replay.rust import arithmetic
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import (
    Leaving,
    Map,
    Panic,
    Plain,
    Struct,
    Variant,
    Vec,
    Wild,
    bare,
    opened,
)
from gradguard.replay.value import Value
from gradguard.runtime.tenferro import EagerTensor

PRINTING = frozenset(("println!", "eprintln!", "print!", "eprint!"))
_LOGGING = PRINTING | {"dbg!", "trace!", "debug!", "info!", "warn!", "error!", "log!", "event!"}
_LEAVING = frozenset(("panic!", "unreachable!", "todo!", "unimplemented!"))
_ERRORS = frozenset(("anyhow!", "eyre!", "format_err!", "err!"))
_PLACE = re.compile(r"\{\{|\}\}|\{(?P<name>\w*)(?::(?P<how>[^{}]*))?\}")
_TEXT = 200
_FILL = 3


class Printed(str):
    """A line that the program prints."""

    __slots__ = ()


def run(frame: Frame, expr: ir.Call, name: str) -> Value:
    """A macro call by the name of the macro."""
    from gradguard.replay.rust.evaluate import look

    if name in ("assert!", "debug_assert!", "ensure!") and expr.args:
        return _asserted(frame, expr, name)
    values = [(arg.name, look(frame, arg.value)) for arg in expr.args]
    plain = [value for kind, value in values if kind != "captured"]
    if name == "repeat!":
        return _repeated(frame, plain)
    if name in ("assert_eq!", "debug_assert_eq!", "assert_ne!", "debug_assert_ne!") and len(plain) >= 2:
        same = arithmetic.equal(plain[0], plain[1])
        if same is not None and same is not ("eq" in name):
            sides = f"left: {written(plain[0], debug=True)}, right: {written(plain[1], debug=True)}"
            message = f"assertion `left {'==' if 'eq' in name else '!='} right` failed, {sides}"
            raise Panic(message)
        return None
    text = _filled(frame, expr, plain)
    if name in _LEAVING:
        raise Panic(text or name.rstrip("!"))
    if name == "bail!":
        raise Leaving(Variant("Err", (text,)))
    if name in _ERRORS or name == "format!":
        return text
    if name in _LOGGING:
        frame.session.told.add(frame.site(expr.at))
    if name in PRINTING:
        return Printed(text)
    if name == "dbg!" and plain:
        return plain[0]
    return None if name in ("write!", "writeln!") else Wild(name)


def _asserted(frame: Frame, expr: ir.Call, name: str) -> Value:
    from gradguard.replay.rust.evaluate import look

    test = opened(look(frame, expr.args[0].value))
    if test is False:
        text = _filled(frame, expr, [look(frame, arg.value) for arg in expr.args[1:]])
        if name == "ensure!":
            raise Leaving(Variant("Err", (text or "condition failed",)))
        raise Panic(text or "assertion failed")
    if isinstance(test, Wild):
        frame.session.invent()
    return None


def _repeated(frame: Frame, values: list[Value]) -> Value:
    count = bare(values[1]) if len(values) > 1 else _FILL
    if isinstance(count, int) and count <= LONGEST:
        return Vec([values[0]] * max(count, 0))
    frame.session.invent()
    return Vec([values[0]] * _FILL if values else [], open=True)


def _filled(frame: Frame, expr: ir.Call, values: list[Value]) -> str:
    """The text of a format string with its places filled."""
    index = next((i for i, value in enumerate(values) if isinstance(bare(value), str)), None)
    if index is None:
        return ""
    rest = iter(values[index + 1 :])
    given = values[index + 1 :]

    def fill(found: re.Match[str]) -> str:
        if found[0] in ("{{", "}}"):
            return found[0][0]
        name, how = found["name"], found["how"] or ""
        if name.isdigit():
            value = given[int(name)] if int(name) < len(given) else Wild()
        elif name:
            scope = frame.scope_of(name)
            value = scope[name] if scope is not None else Wild(name)
        else:
            value = next(rest, Wild())
        return written(value, debug="?" in how, digits=_digits(how))

    text = str(bare(values[index]))
    return _PLACE.sub(fill, text.replace('\\"', '"').replace("\\n", " "))[:_TEXT].strip()


def _digits(how: str) -> int | None:
    found = re.search(r"\.(\d+)", how)
    return min(int(found[1]), 12) if found else None


def written(value: Value, *, debug: bool = False, digits: int | None = None, depth: int = 3) -> str:
    """A value as `{}` or `{:?}` writes it."""
    value = opened(value) if not debug else bare(value)
    if depth == 0:
        return "…"
    match value:
        case None:
            return "()"
        case bool():
            return str(value).lower()
        case float():
            return _float(value, debug, digits)
        case int():
            return str(value)
        case str():
            return f'"{value}"' if debug else str(value)
        case Vec(items=items):
            inner = ", ".join(written(one, debug=debug, digits=digits, depth=depth - 1) for one in items[:8])
            return f"[{inner}]"
        case tuple():
            return (
                f"({', '.join(written(one, debug=debug, digits=digits, depth=depth - 1) for one in value)})"
            )
        case Variant(name=name, items=items):
            inside = ", ".join(written(one, debug=debug, digits=digits, depth=depth - 1) for one in items)
            return f"{name}({inside})" if items else name
        case Plain(array=array):
            return written(Vec(array.flatten(order="F").tolist()), debug=debug, depth=depth)
        case EagerTensor():
            return written(Vec(value._inner._array.flatten().tolist()), debug=debug, depth=depth)
        case Struct(owner=owner):
            return owner.name if owner is not None else "{..}"
        case Map():
            return "{..}"
        case _:
            return "?"


def _float(value: float, debug: bool, digits: int | None) -> str:
    if digits is not None:
        return f"{value:.{digits}f}"
    if value != value or value in (float("inf"), float("-inf")):
        return {"nan": "NaN", "inf": "inf", "-inf": "-inf"}[str(value)]
    short = round(value, 6)
    if short == int(short) and abs(short) < 1e15:
        return f"{int(short)}.0" if debug else str(int(short))
    return repr(short)
