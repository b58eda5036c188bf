"""From an expression to what it may stand for."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.facts.tables import Facts, load
from gradguard.inventory.senses import (
    Called,
    Local,
    Made,
    Optimizer,
    Path,
    Saved,
    Scope,
    Sense,
    Senses,
    Space,
)
from gradguard.ir import nodes as ir

_DEEPEST = 20
SETTING = ("set", "switch")
_TRANSPARENT = ("functools.partial", "contextlib.ContextDecorator")
_BUILT_INS = ("staticmethod", "property")


class Resolver:
    """Looks expressions up, with the framework tables at hand."""

    def __init__(self, facts: Facts) -> None:
        """Takes the merged tables."""
        self.facts = facts
        # A project hands these names on from modules of its own; what a user adds may be an everyday word.
        self._handed_on = {name.rpartition(".")[2]: effect for name, effect in load().guards.items()}

    def effect(self, path: Path) -> str | None:
        """The effect of a guard class, None if the path is none."""
        known = self.facts.guards.get(path.name)
        if known is not None:
            return known
        module, _, last = path.name.rpartition(".")
        return self._handed_on.get(last) if module else None

    def senses(self, expr: ir.Expr | None, scope: Scope, left: int = _DEEPEST) -> Senses:
        """All that an expression may stand for; nothing if it is of no interest."""
        if expr is None or left == 0:
            return ()
        match expr:
            case ir.Name(id=name):
                return scope.look_up(name) or ()
            case ir.Attr(base=base, name=name):
                return tuple(self._attributes(self.senses(base, scope, left - 1), name))
            case ir.Call():
                return self._called(expr, scope, left - 1)
            case ir.Choice(then=then, other=other):
                return self._union((then, other), scope, left)
            case ir.Logic(op="and", operands=operands):
                return self.senses(operands[-1], scope, left - 1)
            case ir.Logic(op="or", operands=operands) | ir.Sequence(items=operands):
                return self._union(operands, scope, left)
            case ir.Mapping(items=items):
                return self._union(tuple(value for _, value in items), scope, left)
            case ir.Item(base=base) | ir.Walrus(value=base) | ir.Star(value=base):
                return self.senses(base, scope, left - 1)
            case ir.Lambda(function=function):
                return (Local(function, scope),)
            case _:
                return ()

    def _union(self, parts: tuple[ir.Expr, ...], scope: Scope, left: int) -> Senses:
        return tuple(dict.fromkeys(sense for part in parts for sense in self.senses(part, scope, left - 1)))

    def _attributes(self, bases: Senses, name: str) -> Iterator[Sense]:
        for base in bases:
            match base:
                case Path(name=path):
                    yield Path(f"{path}.{name}")
                case Space():
                    yield from base.get(name)
                case Made(effect=effect) if name == "prev" and effect in SETTING:
                    yield Saved()

    def _called(self, call: ir.Call, scope: Scope, left: int) -> Senses:
        func = call.func
        if isinstance(func, ir.Name) and scope.look_up(func.id) is None:
            return self._built_in(func.id, call, scope, left)
        found: dict[Sense, None] = {}
        for sense in self.senses(func, scope, left):
            found.update(dict.fromkeys(self._result(sense, call, scope, left)))
        return tuple(found)

    def _built_in(self, name: str, call: ir.Call, scope: Scope, left: int) -> Senses:
        match call.args:
            case (ir.Arg(value=base), ir.Arg(value=ir.Const(value=str(attribute))), *_) if name == "getattr":
                return tuple(self._attributes(self.senses(base, scope, left), attribute))
            case (ir.Arg(value=inner),) if name in _BUILT_INS:
                return self.senses(inner, scope, left)
            case _:
                return ()

    def _result(self, sense: Sense, call: ir.Call, scope: Scope, left: int) -> Iterator[Sense]:
        match sense:
            case Path(name=name) if name in _TRANSPARENT and call.args:
                yield from self.senses(call.args[0].value, scope, left)
            case Path(name=name) if self.facts.has("queries.grad_enabled", name):
                yield Saved()
            case Path(name=name) if self.facts.starts("optimizers.prefixes", name):
                yield Optimizer()
            case Path(name=name):
                effect = self.effect(sense)
                if effect is not None:
                    given = () if effect in SETTING else self._functions_given(call, scope, left)
                    yield from given or (Made(name, effect, call.at, call),)
            case Made():
                yield from self._functions_given(call, scope, left)
            case Local():
                yield Called(sense, call.at)
            case Space():
                yield sense
                yield Called(sense, call.at)

    def _functions_given(self, call: ir.Call, scope: Scope, left: int) -> tuple[Local, ...]:
        """The functions of the file that are the first argument: a guard that is called gives them back."""
        given = self.senses(call.args[0].value, scope, left) if call.args else ()
        return tuple(sense for sense in given if isinstance(sense, Local))


def dotted(expr: ir.Expr) -> str:
    """`a.b.c` of a chain of attributes on a name, "" of anything else."""
    parts: list[str] = []
    while isinstance(expr, ir.Attr):
        parts.append(expr.name)
        expr = expr.base
    if not isinstance(expr, ir.Name):
        return ""
    return ".".join((expr.id, *reversed(parts)))
