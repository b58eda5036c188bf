"""Places where a backward is asked of a value that was made in the same function."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planting.freshness import Freshness

Scope = ast.Module | ast.FunctionDef | ast.AsyncFunctionDef
Block = Sequence[ast.stmt]

ENGINES = frozenset({"accelerator", "fabric", "engine", "model_engine", "booster"})
_HARMLESS_KEYWORDS = frozenset({"retain_graph", "create_graph"})
_COUNTS = ("accum", "len", "num", "size", "steps", "batch", "world", "scale", "count")
# What a range that is put under a guard must not hold: its own gradients, or a way back to recording.
_OBSTACLES = frozenset(
    {"backward", "manual_backward", "grad", "enable_grad", "requires_grad", "requires_grad_", "Parameter"}
)
_DEPENDENCIES = 12


@dataclass(frozen=True, slots=True)
class Lines:
    """First and last line of a run of whole statements, from 1."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Site:
    """A backward on the name `loss` in `function` (None at module level).

    `making` holds the statements that compute the loss, where a guard around them certainly leaves it
    without a graph; `forward` the same with the statements before them that it is computed from.
    """

    loss: str
    sink: Lines
    function: ast.FunctionDef | None
    owner: ast.ClassDef | None
    making: Lines | None
    forward: Lines | None


def find_sites(tree: ast.Module, rekindling: frozenset[str] = frozenset()) -> tuple[Site, ...]:
    """All sites of a module in order. `rekindling` are names of functions that switch recording on."""
    found = []
    freshness = Freshness(rekindling | _handing_back(tree))
    for scope, owner in _scopes(tree, None):
        asks = _asks_for_tracking(scope)
        for path in _statement_paths(scope.body):
            statement = path[-1][0][path[-1][1]]
            loss = _loss_of(statement)
            if loss is None:
                continue
            making, forward = (None, None) if asks else _ranges(path, loss, freshness)
            function = scope if isinstance(scope, ast.FunctionDef) else None
            found.append(Site(loss, lines_of(statement), function, owner, making, forward))
    return tuple(sorted(found, key=lambda site: site.sink.first))


def lines_of(first: ast.stmt, last: ast.stmt | None = None) -> Lines:
    """The lines from one statement to the end of another."""
    decorators = getattr(first, "decorator_list", [])
    start = min([first.lineno, *(d.lineno for d in decorators)])
    return Lines(start, (last or first).end_lineno or start)


def own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `node` that run in its scope: nested functions, lambdas and classes are left out."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            yield from own_nodes(child)


def last_name(expr: ast.expr) -> str:
    """`c` of `a.b.c`, the empty string for what has no name."""
    match expr:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def _asks_for_tracking(scope: Scope) -> bool:
    """Whether a function asks if a value has a graph: its backward may then be left out without one."""
    for node in own_nodes(scope):
        match node:
            case (
                ast.Attribute(attr="requires_grad" | "grad_fn", ctx=ast.Load())
                | ast.Constant(value="requires_grad")
            ):
                return True
            case ast.Attribute(attr="is_grad_enabled"):
                return True
    return False


def _handing_back(tree: ast.Module) -> frozenset[str]:
    """Names of functions of the file that may return an argument as it came."""
    found = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        parameters = {argument.arg for argument in (*function.args.posonlyargs, *function.args.args)}
        for node in own_nodes(function):
            if (
                isinstance(node, ast.Return)
                and isinstance(node.value, ast.Name)
                and node.value.id in parameters
            ):
                found.add(function.name)
    return frozenset(found)


def _scopes(node: ast.AST, owner: ast.ClassDef | None) -> Iterator[tuple[Scope, ast.ClassDef | None]]:
    if isinstance(node, ast.Module | ast.FunctionDef):
        yield node, owner
    for child in ast.iter_child_nodes(node):
        inside = (
            child if isinstance(child, ast.ClassDef) else None if isinstance(node, ast.FunctionDef) else owner
        )
        yield from _scopes(child, node if isinstance(node, ast.ClassDef) else inside)


def _statement_paths(
    block: Block, outer: tuple[tuple[Block, int], ...] = ()
) -> Iterator[tuple[tuple[Block, int], ...]]:
    """Each statement of a scope as the blocks and indices that lead to it."""
    for index, statement in enumerate(block):
        path = (*outer, (block, index))
        yield path
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for inner in _blocks(statement):
                yield from _statement_paths(inner, path)


def _blocks(statement: ast.stmt) -> list[Block]:
    blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    blocks += [handler.body for handler in getattr(statement, "handlers", [])]
    return [block for block in blocks if block]


def _loss_of(statement: ast.stmt) -> str | None:
    """The name that a statement asks a backward of."""
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    call = statement.value
    if not isinstance(call.func, ast.Attribute):
        return None
    receiver, args = call.func.value, call.args
    if call.func.attr == "manual_backward" and len(args) == 1:
        return _scaled_name(args[0])
    if call.func.attr != "backward":
        return None
    if len(args) == 1 and last_name(receiver) in ENGINES:
        return _scaled_name(args[0])
    if args or not {k.arg for k in call.keywords} <= _HARMLESS_KEYWORDS:
        return None
    return _scaled_name(receiver)


def _scaled_name(expr: ast.expr) -> str | None:
    """The name behind reductions and scalings by numbers, which pass on whether there is a graph."""
    match expr:
        case ast.Name(id=name):
            return name
        case ast.Call(func=ast.Attribute(value=inner, attr="mean" | "sum"), args=[], keywords=[]):
            return _scaled_name(inner)
        case ast.Call(func=ast.Attribute(attr="scale"), args=[inner], keywords=[]):
            return _scaled_name(inner)
        case ast.BinOp(left=inner, op=ast.Div() | ast.Mult(), right=factor) if _is_count(factor):
            return _scaled_name(inner)
        case _:
            return None


def _is_count(expr: ast.expr) -> bool:
    if isinstance(expr, ast.Constant):
        return True
    name = last_name(expr.func if isinstance(expr, ast.Call) else expr).lower()
    return any(word in name for word in _COUNTS)


def _ranges(
    path: tuple[tuple[Block, int], ...], loss: str, freshness: Freshness
) -> tuple[Lines | None, Lines | None]:
    for block, index in reversed(path):
        storing = [i for i in range(index) if loss in _stored(block[i])]
        if not storing:
            continue
        roots = [i for i in storing if _defines(block[i], loss)]
        if not roots:
            return None, None
        start, end = roots[-1], storing[-1]
        making = forward = None
        if not _is_obstructed(block[start : end + 1]) and freshness.covers(block[start : end + 1], loss):
            making = lines_of(block[start], block[end])
        wider = _first_dependency(block, start, end)
        if (
            wider < start
            and not _is_obstructed(block[wider : end + 1])
            and freshness.covers(block[wider : end + 1], loss)
        ):
            forward = lines_of(block[wider], block[end])
        return making, forward
    return None, None


def _stored(statement: ast.stmt) -> set[str]:
    nodes = [statement, *own_nodes(statement)]
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _loaded(statement: ast.AST) -> set[str]:
    return {
        node.id
        for node in own_nodes(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def _defines(statement: ast.stmt, name: str) -> bool:
    """Whether a statement certainly binds the name to something that is not made from it."""
    match statement:
        case ast.Assign() | ast.AnnAssign(value=ast.expr()):
            return name in _stored(statement) and name not in _loaded(statement)
        case ast.With(body=body):
            return any(_defines(inner, name) for inner in body)
        case ast.If(body=body, orelse=other) if other:
            return all(any(_defines(inner, name) for inner in branch) for branch in (body, other))
        case _:
            return False


def _is_obstructed(statements: Block) -> bool:
    for statement in statements:
        for node in (statement, *ast.walk(statement)):
            if isinstance(node, ast.Yield | ast.YieldFrom | ast.Await | ast.FunctionDef | ast.ClassDef):
                return True
            if isinstance(node, ast.Attribute | ast.Name) and last_name(node) in _OBSTACLES:
                return True
            if isinstance(node, ast.keyword) and node.arg == "requires_grad":
                return True
            if (
                isinstance(node, ast.Attribute)
                and node.attr == "step"
                and "opt" in last_name(node.value).lower()
            ):
                return True
    return False


def _first_dependency(block: Block, start: int, end: int) -> int:
    """The index of the earliest statement before `start` whose call makes something the loss is made from."""
    needed = set().union(*(_loaded(statement) for statement in block[start : end + 1]))
    first = start
    for index in range(start - 1, max(-1, start - 1 - _DEPENDENCIES), -1):
        statement = block[index]
        if _is_obstructed([statement]) or isinstance(statement, ast.Return):
            break
        if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.With) or not needed & _stored(
            statement
        ):
            continue
        if any(isinstance(node, ast.Call) for node in own_nodes(statement)):
            first = index
            needed |= _loaded(statement)
    return first
