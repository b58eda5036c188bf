from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import pytest

from gradguard.ir.nodes import Body, Evaluate, Expr
from gradguard.lower.module import Module, open_module
from gradguard.source import Source


def without_handles(node: Any) -> Any:
    if isinstance(node, tuple):
        return tuple(without_handles(inner) for inner in node)
    if not is_dataclass(node) or isinstance(node, type):
        return node
    changes = {field.name: without_handles(getattr(node, field.name)) for field in fields(node)}
    return replace(node, **{name: 0 if name == "at" else value for name, value in changes.items()})


def nodes_below(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        for inner in node:
            yield from nodes_below(inner)
    elif is_dataclass(node):
        yield node
        for field in fields(node):
            yield from nodes_below(getattr(node, field.name))


@pytest.fixture(scope="session")
def opened() -> Callable[[str], Module]:
    return lambda text: open_module(Source("file.py", "", text))


@pytest.fixture(scope="session")
def statements(opened: Callable[[str], Module]) -> Callable[[str], Body]:
    """The lowered statements of a text, with every handle set to 0."""

    def lower(text: str) -> Body:
        module = opened(text)
        return tuple(without_handles(made) for chunk in module.chunks for made in module.body(chunk.index))

    return lower


@pytest.fixture(scope="session")
def expression(statements: Callable[[str], Body]) -> Callable[[str], Expr]:
    def lower(text: str) -> Expr:
        (statement,) = statements(text)
        assert isinstance(statement, Evaluate)
        return statement.value

    return lower


@pytest.fixture(scope="session")
def below() -> Callable[[Any], Iterator[Any]]:
    return nodes_below
