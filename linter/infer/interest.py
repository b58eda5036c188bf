"""Which functions are worth a run of their own, told from their text as long as it is not lowered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from gradguard.infer.outlines import Patterns, code_of, holds, word
from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.sift.tokens import Clues

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
_WORDS = Patterns(
    "backward",
    r"grad\b",
    r"grad_\b",
    "inference_mode",
    "_grad_enabled",
    "update_params",
    "register_hook",
    "minimize",
    word("yield"),
    word("await"),
    r"@[^\n]*(?:[gG]rad|[iI]nference|[gG]uard|[eE]val)",
)
_NAMED = re.compile(r"darg\w*(?![.\w])")
"""A name that holds "grad" and is no attribute, in a text read from its end: so the pattern starts with a literal."""
_PLAIN_GUARD = re.compile(
    r"\bwith\s+(?:\w+\.)*(?:no_grad|enable_grad)\(\)\s*:|^[ \t]*@(?:\w+\.)*no_grad\(\)[ \t]*$", re.MULTILINE
)
_FREEZING = re.compile(
    r"for\s+(?:\w+\s*,\s*)?(\w+)\s+in\s[^\n]*parameters\([^\n]*\)\s*:\s+\1\.requires_grad\s*=\s*(?:True|False)\b"
)
_SUSPENDED = re.compile(r"\b(?:yield|await|async)\b|enter_context|contextmanager|fixture|__enter__")
_DEFERRED = re.compile(
    r"\b(?:map|filter|starmap|Thread|submit|run_in_executor|to_thread)\b|[pP]ool|[eE]xecutor"
)
_FOR = re.compile(r"\bfor\b")
_FOR_STATEMENT = re.compile(r"^[ \t]*for\b[^\n]*:[ \t]*$", re.MULTILINE)
_SETTING = re.compile(r"\bself\.(\w+)\s*(?:=(?!=)|[-+*/%@&|^]=|//=|\*\*=|<<=|>>=)")


def speaks_of_interest(text: str) -> bool:
    """Whether a function with this text may be interesting."""
    return holds(text, _WORDS) or ("grad" in text and _NAMED.search(text[::-1]) is not None)


def is_interesting(function: ir.Function) -> bool:
    """Whether a function holds a guard, a switch or a place that asks for a gradient; this lowers it."""
    return holds_interest(function.body) or is_guarded(function.decorators)


def holds_interest(body: ir.Body) -> bool:
    """Whether statements hold a guard, a switch or a place that asks for a gradient."""
    for node in walk(body):
        match node:
            case ir.Attr(name=name) if name in SINKS or name in MODES or name.endswith("grad"):
                return True
            case ir.Name(id=name) if name in MODES or name in ("grad", "backward") or "grad" in name:
                return True
            case ir.Const(value="grad" | "requires_grad"):
                return True
            case ir.Arg(name="requires_grad") | ir.Yield() | ir.Await():
                return True
    return False


def is_guarded(decorators: tuple[ir.Expr, ...]) -> bool:
    """Whether one of the decorators may be a guard."""
    return any(_may_be_guard(node) for node in walk(decorators))


def may_report_alone(text: str, clues: Clues) -> bool:
    """Whether a function that leads to no gradient may still hold a fault: of the guard itself, or of a flag.

    One guard in the plainest form, a block or a decorator, is none; nor are the usual lines that freeze. `clues`
    are those of its file.
    """
    rest, guards = _PLAIN_GUARD.subn("", code_of(text))
    if guards > 1 or _SUSPENDED.search(rest) or clues.hold(_FREEZING.sub("", rest)):
        return True
    return guards == 1 and (_DEFERRED.search(rest) is not None or _has_comprehension(rest))


def _has_comprehension(code: str) -> bool:
    return len(_FOR.findall(code)) > len(_FOR_STATEMENT.findall(code))


def may_name_gradients(function: ir.Function) -> bool:
    """Whether a function may speak of gradients at all."""
    return function.text is None or "grad" in function.text


def may_loop(function: ir.Function) -> bool:
    """Whether a function may hold an update loop."""
    return may_name_gradients(function) and (function.text is None or _FOR.search(function.text) is not None)


def settings(function: ir.Function) -> Iterator[str]:
    """The attributes of `self` that a method may set."""
    if function.text is not None:
        yield from (match[1] for match in _SETTING.finditer(function.text))
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
