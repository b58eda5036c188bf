"""Whether a value is certainly computed by the statements at hand, so that a guard around them covers it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

# Calls that may hand out what they were given, or hold, instead of computing something.
_PASSING = re.compile(
    r"^(to|cuda|cpu|float|half|double|view|reshape|squeeze|unsqueeze|contiguous|expand|flatten|detach|data|get|pop"
    r"|popleft|item|next|getattr|max|min|gather|reduce|all_reduce|wait|result|Variable|tensor|as_tensor|from_numpy"
    r"|zeros|ones|rand|randn|empty|full|zeros_like|ones_like|arange|dict|list|tuple|iter|cast|identity|unwrap|copy"
    r"|backward_passes|train|eval|grad|append|update|deepcopy|requires_grad_?|Parameter|apply)$"
)
_PLACEHOLDERS = frozenset({"zeros", "tensor", "zeros_like", "empty", "full", "ones"})


@dataclass(frozen=True, slots=True)
class Freshness:
    """`rekindling` are names of functions that switch recording on again."""

    rekindling: frozenset[str]

    def covers(self, statements: Sequence[ast.stmt], loss: str) -> bool:
        """Whether all that is bound to `loss` in the statements is computed there, once at least."""
        known: set[str] = set()
        computed = False
        for statement in _simple(statements):
            match statement:
                case ast.Assign(targets=targets, value=value):
                    names = {
                        node.id
                        for target in targets
                        for node in ast.walk(target)
                        if isinstance(node, ast.Name)
                    }
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                    names = {name}
                case ast.AugAssign(target=ast.Name(id=name), value=value):
                    names = {name}
                    if name == loss:
                        computed = True
                    continue
                case _:
                    continue
            if self._is_fresh(value, known):
                known |= names
                computed = computed or loss in names
            elif loss in names and not _is_placeholder(value):
                return False
            else:
                known -= names
        return computed and not _is_bound_otherwise(statements, loss)

    def _is_fresh(self, expr: ast.expr, known: set[str]) -> bool:
        match expr:
            case ast.Name(id=name):
                return name in known
            case ast.BinOp(left=left, right=right):
                return not (isinstance(left, ast.Constant) and isinstance(right, ast.Constant))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return not isinstance(operand, ast.Constant)
            case ast.Attribute(value=inner) | ast.Subscript(value=inner):
                return self._is_fresh(inner, known)
            case ast.IfExp(body=body, orelse=other):
                return self._is_fresh(body, known) and self._is_fresh(other, known)
            case ast.Call(func=func):
                return self._is_fresh_call(func, expr, known)
            case _:
                return False

    def _is_fresh_call(self, func: ast.expr, call: ast.Call, known: set[str]) -> bool:
        name = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
        if name in self.rekindling:
            return False
        if isinstance(func, ast.Attribute) and self._is_fresh(func.value, known):
            return True
        if isinstance(func, ast.Call):
            return bool(call.args)
        if not name or _PASSING.match(name):
            return False
        return bool(call.args or call.keywords) or isinstance(func, ast.Attribute)


def _simple(statements: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in statements:
        yield statement
        for name in ("body", "orelse", "finalbody"):
            yield from _simple(getattr(statement, name, []))
        for handler in getattr(statement, "handlers", []):
            yield from _simple(handler.body)


def _is_placeholder(value: ast.expr) -> bool:
    match value:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in _PLACEHOLDERS
        case _:
            return False


def _is_bound_otherwise(statements: Sequence[ast.stmt], loss: str) -> bool:
    """Whether a loop, a `with ... as`, a walrus or a deletion binds the name too."""
    for statement in statements:
        for node in ast.walk(statement):
            match node:
                case ast.For(target=target) | ast.comprehension(target=target) | ast.NamedExpr(target=target):
                    bound = target
                case ast.withitem(optional_vars=ast.expr() as target):
                    bound = target
                case _:
                    continue
            if any(isinstance(inner, ast.Name) and inner.id == loss for inner in ast.walk(bound)):
                return True
    return False
