"""Every chunk of some of the standard library is lowered, and its positions agree with those of `ast`."""

from __future__ import annotations

import ast
import sysconfig
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gradguard.ir import nodes as ir
from gradguard.lower.module import Module, Unreadable, open_module
from gradguard.source import Source

LIBRARY = Path(sysconfig.get_path("stdlib"))
SAME_SPAN: dict[type, tuple[str, ...]] = {
    ir.Name: ("Name",),
    ir.Attr: ("Attribute",),
    ir.Call: ("Call",),
    ir.Item: ("Subscript",),
    ir.Op: ("BinOp", "UnaryOp"),
    ir.Choice: ("IfExp",),
    ir.Mapping: ("Dict",),
    ir.Lambda: ("Lambda",),
    ir.Await: ("Await",),
    ir.Yield: ("Yield", "YieldFrom"),
    ir.Walrus: ("NamedExpr",),
    ir.Assign: ("Assign", "AnnAssign"),
    ir.Update: ("AugAssign",),
    ir.Raise: ("Raise",),
    ir.Assert: ("Assert",),
    ir.Delete: ("Delete",),
    ir.Declare: ("Global", "Nonlocal"),
    ir.Evaluate: ("Expr",),
}
SAME_EXTENT: dict[type, tuple[str, ...]] = {
    ir.FunctionDef: ("FunctionDef", "AsyncFunctionDef"),
    ir.ClassDef: ("ClassDef",),
    ir.With: ("With", "AsyncWith"),
    ir.For: ("For", "AsyncFor"),
    ir.While: ("While",),
    ir.If: ("If",),
    ir.Try: ("Try", "TryStar"),
    ir.Match: ("Match",),
    ir.Handler: ("ExceptHandler",),
}
Place = tuple[int, int, int, int]


def sample(longest: int, count: int) -> list[Path]:
    """Files spread evenly over the library, by name."""
    found = [p for p in sorted(LIBRARY.rglob("*.py")) if "site-packages" not in p.parts]
    short = [path for path in found if path.stat().st_size < longest]
    return short[:: max(1, len(short) // count)]


def readable(path: Path) -> Module | None:
    try:
        return open_module(Source(path.name, str(path), path.read_text(encoding="utf-8")))
    except (Unreadable, UnicodeDecodeError):
        return None


def places_of_ast(lines: list[str]) -> dict[str, set[Place]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse("\n".join(lines))

    def column(row: int, offset: int) -> int:
        return len(lines[row - 1].encode()[:offset].decode()) + 1

    found: dict[str, set[Place]] = defaultdict(set)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.excepthandler):
            first, last = node.lineno, node.end_lineno or node.lineno
            place = (first, column(first, node.col_offset), last, column(last, node.end_col_offset or 0))
            found[type(node).__name__].add(place)
    return found


def differences(module: Module, below: Callable[[Any], Any]) -> list[tuple[str, Place]]:
    expected = places_of_ast(module.lines())
    wrong = []
    for chunk in module.chunks:
        for node in below(module.body(chunk.index)):
            same_span = type(node) in SAME_SPAN
            kinds = SAME_SPAN.get(type(node)) or SAME_EXTENT.get(type(node), ())
            if not kinds:
                continue
            span = module.span(node.at) if same_span else module.extent(node.at)
            place = (span.start.row, span.start.column, span.end.row, span.end.column)
            if not any(place in expected[kind] for kind in kinds):
                wrong.append((type(node).__name__, place))
    return wrong


@pytest.mark.parametrize("path", sample(longest=12_000, count=45), ids=lambda path: path.stem)
def test_positions_agree_with_ast(path: Path, below: Callable[[Any], Any]) -> None:
    module = readable(path)
    if module is None:
        pytest.skip("not a text of this Python")
    assert differences(module, below) == []


def test_hundreds_of_files_are_lowered() -> None:
    lowered = 0
    refused = []
    for path in sample(longest=9_000, count=300):
        module = readable(path)
        if module is None:
            continue
        for chunk in module.chunks:
            try:
                module.body(chunk.index)
            except Unreadable as error:
                refused.append((path.name, str(error)))
        lowered += 1
    assert lowered > 250
    assert refused == []
