"""Guards of a Rust file: values that hold recording off while they live."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gradguard.facts.crates import Crate
from gradguard.inventory.found import Found
from gradguard.inventory.senses import Made, Scope
from gradguard.inventory.spread import Reach, Rest, reach
from gradguard.ir import nodes as ir
from gradguard.ir.walk import children, walk

_DROPS = ("drop", "mem::drop", "std::mem::drop", "core::mem::drop")
_NO_SCOPE = Scope()
_NOBODY = ir.Name("_", ir.NOWHERE)


@dataclass(slots=True, eq=False)
class RustReading:
    """The guards of one file, found by `read`. `paths` are the imported names, `givers` the functions of the
    file that return a guard."""

    crates: tuple[Crate, ...]
    found: list[Found] = field(default_factory=list)
    made: set[int] = field(default_factory=set)
    _paths: dict[str, str] = field(default_factory=dict)
    _givers: set[str] = field(default_factory=set)
    _pending: list[tuple[Any, _Frame]] = field(default_factory=list)
    _frames: int = 0

    def read(self, body: ir.Body) -> None:
        """Read the definitions of a file."""
        for node in walk(body):
            if isinstance(node, ir.Import) and node.bound:
                self._paths[node.bound] = "::".join(filter(None, (node.module, node.name)))
        self._find_givers(body)
        self._pending.extend((statement, _Frame(0, None, "")) for statement in body)
        while self._pending:
            self._descend(*self._pending.pop())

    def _find_givers(self, body: ir.Body) -> None:
        functions = [
            node for node in walk(body) if isinstance(node, ir.Function) and node.name != "<closure>"
        ]
        grown = True
        while grown:
            fresh = {one.name for one in functions if self._returns_guard(one)} - self._givers
            self._givers |= fresh
            grown = bool(fresh)

    def _returns_guard(self, function: ir.Function) -> bool:
        return any(
            isinstance(node, ir.Return) and node.value is not None and any(self._makers(node.value))
            for node in walk(function.body, into_functions=False)
        )

    def _descend(self, node: Any, frame: _Frame) -> None:
        match node:
            case ir.FunctionDef(function=function) | ir.Lambda(function=function):
                self._frames += 1
                name = f"{frame.prefix}{function.name}"
                inner = _Frame(self._frames, name, f"{name}::")
                self._block(function.body, None, function.at, inner)
            case ir.ClassDef(name=name, body=body):
                inner = _Frame(frame.number, frame.name, f"{frame.prefix}{name}::")
                self._pending.extend((one, inner) for one in body)
            case ir.Scope(body=body, value=value, at=at):
                self._block(body, value, at, frame)
            case _:
                self._pending.extend((child, frame) for child in children(node))

    def _block(self, body: ir.Body, value: ir.Expr | None, end: int, frame: _Frame) -> None:
        """A block in braces, whose locals live to its end."""
        tail: ir.Body = () if value is None else (ir.Evaluate(value, value.at),)
        whole = body + tail
        for number, statement in enumerate(whole):
            rest = Rest(whole, number + 1, None, _closing(end))
            self._statement(statement, rest, frame)
            self._pending.append((statement, frame))

    def _statement(self, statement: ir.Stmt, rest: Rest, frame: _Frame) -> None:
        branching = _branches_of(statement)
        if branching is not None:
            self._temporary(branching.subject, Reach(branching.cases, branching.at), frame)
        match statement:
            case ir.Let(target=target, value=value) if value is not None:
                self._bound(target, value, rest, frame)
            case ir.For(iter=iterable, body=body, at=at):
                self._temporary(iterable, Reach(body, at), frame)
            case ir.Evaluate(value=value) | ir.Assign(targets=(ir.Name(id="_"),), value=value):
                self._dropped(value, frame)
            case ir.Return(value=value) if value is not None:
                self._kept(value, Reach((), None), frame)
            case ir.Assign(targets=(target,), value=value):
                # Where the name was declared, and its guard ends, lies further out.
                reached = reach(rest, lambda _: False, lambda one: _lets_go(one, target))
                self._kept(value, reached, frame)

    def _bound(self, target: ir.Expr, value: ir.Expr, rest: Rest, frame: _Frame) -> None:
        """`let target = value`: the guard lives to the end of the block, or until its name lets go of it."""
        pairs = _matched(target, value)
        if pairs is not None:
            for inner, part in pairs:
                self._bound(inner, part, rest, frame)
            return
        borrowed = isinstance(value, ir.Op) and value.op == "&"
        if isinstance(target, ir.Name) and target.id == "_" and not borrowed:
            self._dropped(value, frame)
            return
        for made in self._makers(value):
            reached = reach(rest, lambda _: True, lambda one: _lets_go(one, target))
            self._note(made, "helper" if made.helper else "let", reached, frame)

    def _temporary(self, expr: ir.Expr, reached: Reach, frame: _Frame) -> None:
        """What a match or a loop is about lives as long as the whole statement."""
        for made in self._makers(expr):
            self._note(made, "temporary", reached, frame)

    def _dropped(self, value: ir.Expr, frame: _Frame) -> None:
        for made in self._makers(value):
            self._note(made, "object", Reach((), made.at), frame)

    def _kept(self, value: ir.Expr, reached: Reach, frame: _Frame) -> None:
        for made in self._makers(value):
            self._note(made, "object", reached, frame)

    def _note(self, made: Made, form: str, reached: Reach, frame: _Frame) -> None:
        if made.at in self.made:
            return
        self.made.add(made.at)
        if made.effect:
            # A guard that takes a closure lives as long as the closure runs.
            (function,) = _closures_of(made.call)
            form, reached = "closure", Reach(function.body, made.at)
        self.found.append(Found(made, form, made.at, frame.name, reached, _NO_SCOPE, frame.number))

    def _makers(self, expr: ir.Expr) -> Iterator[Made]:
        """The calls in an expression that make a guard, those in blocks of their own left out."""
        pending: list[Any] = [expr]
        while pending:
            node = pending.pop()
            match node:
                case ir.Scope(value=value):
                    pending.extend([value] if value is not None else [])
                    continue
                case ir.Lambda():
                    continue
                case ir.Call(func=ir.Attr(name="then"), args=(ir.Arg(value=ir.Lambda(function=function)),)):
                    pending.extend(
                        one.value for one in function.body if isinstance(one, ir.Return) and one.value
                    )
                    continue
                case ir.Branches(cases=cases):
                    pending.extend(one for case in cases for one in case.body)
                    continue
                case ir.Call():
                    made = self._made(node)
                    if made is not None:
                        yield made
            pending.extend(children(node))

    def _made(self, call: ir.Call) -> Made | None:
        name, path = self._named(call.func)
        if not name:
            return None
        method = isinstance(call.func, ir.Attr)
        for crate in self.crates:
            if crate.has("guards.methods", name) if method else crate.has("guards.functions", path):
                return Made(_told(call.func), "", call.at, call)
            closing = crate.has("guards.closures", path) or crate.has("guards.enabling", path)
            if not method and closing and len(_closures_of(call)) == 1:
                return Made(_told(call.func), "closure", call.at, call)
        return Made(_told(call.func), "", call.at, call, helper=True) if name in self._givers else None

    def _named(self, func: ir.Expr) -> tuple[str, str]:
        """The last part of what is called, and its whole path through the imports."""
        match func:
            case ir.Attr(name=name):
                return name, ""
            case ir.Name(id=path):
                first, colons, rest = path.partition("::")
                whole = self._paths.get(first, first) + colons + rest
                return path.rpartition("::")[2], whole
            case _:
                return "", ""


@dataclass(frozen=True, slots=True)
class _Frame:
    number: int
    name: str | None
    prefix: str


def read_rust(roots: frozenset[str], body: ir.Body, crates: tuple[Crate, ...]) -> RustReading:
    """The guards of a Rust file, of the crates that the first segments of its paths lead to."""
    reading = RustReading(tuple(crate for crate in crates if any(crate.owns(root) for root in roots)))
    reading.read(body)
    return reading


def _closing(end: int) -> ir.With:
    """What stands for the end of a block, as the end of a with statement does."""
    return ir.With((), (), False, end)


def _branches_of(statement: ir.Stmt) -> ir.Branches | None:
    """The `match` or `if let` that gives a statement its value."""
    match statement:
        case ir.Let(value=value) | ir.Assign(value=value) | ir.Evaluate(value=value) | ir.Return(value=value):
            while isinstance(value, ir.Propagate):
                value = value.value
            return value if isinstance(value, ir.Branches) else None
        case _:
            return None


def _lets_go(statement: ir.Stmt, holder: ir.Expr) -> bool:
    """Whether a statement ends what a name holds: `drop(g);`, `g = None;`, `g.take();`, `g;`."""
    if not isinstance(holder, ir.Name):
        return False
    match statement:
        case ir.Evaluate(value=ir.Call(func=ir.Name(id=path), args=(ir.Arg(value=ir.Name(id=name)),))):
            return path in _DROPS and name == holder.id
        case ir.Evaluate(value=ir.Call(func=ir.Attr(base=ir.Name(id=name), name="take"))):
            return name == holder.id
        case ir.Evaluate(value=ir.Name(id=name)) | ir.Assign(targets=(ir.Name(id=name),)):
            return name == holder.id
        case _:
            return False


def _matched(target: ir.Expr, value: ir.Expr) -> list[tuple[ir.Expr, ir.Expr]] | None:
    """The parts of a value with the parts of the pattern that take them; None if they are not taken apart."""
    match target, value:
        case ir.Sequence(items=names), ir.Sequence(items=values) if len(names) == len(values):
            return list(zip(names, values, strict=True))
        case ir.Call(args=names), ir.Call(args=values):
            taken = {arg.name or number: arg.value for number, arg in enumerate(names)}
            return [(taken.get(arg.name or number, _NOBODY), arg.value) for number, arg in enumerate(values)]
        case _:
            return None


def _closures_of(call: ir.Call | None) -> list[ir.Function]:
    return [arg.value.function for arg in call.args if isinstance(arg.value, ir.Lambda)] if call else []


def _told(func: ir.Expr) -> str:
    """What is called, as written where that is short."""
    match func:
        case ir.Name(id=path):
            return path
        case ir.Attr(base=ir.Name(id=base), name=name):
            return f"{base}.{name}"
        case ir.Attr(name=name):
            return name
        case _:
            return ""
