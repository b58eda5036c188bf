"""Which functions are worth a run of their own, told from their text as long as it is not lowered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk

SINKS = frozenset(
    [
        "backward",
        "grad",
        "requires_grad",
        "requires_grad_",
        "manual_backward",
        "update_params",
        "register_hook",
        "minimize",
    ]
)
MODES = frozenset(["no_grad", "inference_mode", "set_grad_enabled", "enable_grad"])
_WORDS = re.compile(
    r"backward|grad\b|grad_\b|(?<![.\w])\w*grad|inference_mode|_grad_enabled|update_params|register_hook|minimize"
    r"|\byield\b|\bawait\b|@[^\n]*(?:[gG]rad|[iI]nference|[gG]uard|[eE]val)"
)
_LOOP = re.compile(r"\bfor\b[^\0]*\.grad|\bfor\b[^\0]*[\"']grad[\"']|grad[^\0]*\bfor\b")
_SETTING = re.compile(r"\bself\.(\w+)\s*(?:=(?!=)|[-+*/%@&|^]=|//=|\*\*=|<<=|>>=)")


def is_interesting(function: ir.Function) -> bool:
    """Whether a function holds a guard, a switch or a place that asks for a gradient."""
    if function.unread is not None and _WORDS.search(function.unread) is None:
        return False
    for node in walk(function.body):
        match node:
            case ir.Attr(name=name) if name in SINKS or name in MODES or name.endswith("grad"):
                return True
            case ir.Name(id=name) if name in MODES or name in ("grad", "backward") or "grad" in name:
                return True
            case ir.Const(value="grad" | "requires_grad"):
                return True
            case ir.Arg(name="requires_grad") | ir.Yield() | ir.Await():
                return True
    return any(_may_be_guard(node) for node in walk(function.decorators))


def may_loop(function: ir.Function) -> bool:
    """Whether a function may hold an update loop."""
    return function.unread is None or _LOOP.search(function.unread) is not None


def settings(function: ir.Function) -> Iterator[str]:
    """The attributes of `self` that a method may set."""
    if function.unread is not None:
        yield from (match[1] for match in _SETTING.finditer(function.unread))
        return
    for node in walk(function.body):
        match node:
            case ir.Assign(targets=targets):
                yield from (name for target in targets for name in _attribute(target))
            case ir.Update(target=target):
                yield from _attribute(target)


def _attribute(target: ir.Expr) -> Iterator[str]:
    match target:
        case ir.Attr(base=ir.Name(id="self"), name=name):
            yield name


def _may_be_guard(node: Any) -> bool:
    """Whether a name in a decorator speaks of a guard."""
    name = node.id if isinstance(node, ir.Name) else node.name if isinstance(node, ir.Attr) else ""
    return any(word in name.lower() for word in ("grad", "inference", "guard", "eval"))
