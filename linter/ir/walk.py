"""Walking the tree."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, cast

from gradguard.ir import nodes as ir

_FIELDS: dict[type, tuple[str, ...]] = {}


def _fields(kind: type) -> tuple[str, ...]:
    names = _FIELDS.get(kind)
    if names is None:
        names = _FIELDS[kind] = tuple(f.name for f in fields(cast(Any, kind)) if f.name != "at")
    return names


def children(node: Any) -> Iterator[Any]:
    """The nodes directly inside a node."""
    for name in _fields(type(node)):
        value = getattr(node, name)
        if isinstance(value, tuple):
            yield from _inside(value)
        elif hasattr(value, "__dataclass_fields__"):
            yield value


def _inside(value: tuple[Any, ...]) -> Iterator[Any]:
    for one in value:
        if isinstance(one, tuple):
            yield from _inside(one)
        elif hasattr(one, "__dataclass_fields__"):
            yield one


def walk(root: Any, *, into_functions: bool = True) -> Iterator[Any]:
    """Every node of a tree (or of a tuple of trees), parents first."""
    pending = [root] if not isinstance(root, tuple) else list(reversed(list(_inside(root))))
    while pending:
        node = pending.pop()
        yield node
        if not into_functions and isinstance(node, ir.Function):
            continue
        pending.extend(reversed(list(children(node))))


def names_read(body: ir.Body) -> set[str]:
    """The names that a body does more with than assign to."""
    total: dict[str, int] = {}
    targets: dict[str, int] = {}
    for node in walk(body):
        match node:
            case ir.Name(id=name):
                total[name] = total.get(name, 0) + 1
            case ir.Assign(targets=assigned):
                for target in assigned:
                    if isinstance(target, ir.Name):
                        targets[target.id] = targets.get(target.id, 0) + 1
    return {name for name, number in total.items() if number > targets.get(name, 0)}
