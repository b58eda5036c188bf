from __future__ import annotations

from collections.abc import Callable

import pytest

from gradguard.ir.nodes import (
    Arg,
    Assert,
    Assign,
    Attr,
    Break,
    Call,
    Case,
    ClassDef,
    Const,
    Continue,
    Declare,
    Delete,
    Entry,
    Evaluate,
    For,
    Function,
    FunctionDef,
    Handler,
    If,
    Import,
    Item,
    Match,
    Name,
    Param,
    Raise,
    Return,
    Sequence,
    Star,
    Stmt,
    Try,
    Update,
    While,
    With,
    Yield,
)

A, B, C, D = (Name(letter, 0) for letter in "abcd")
DO = (Evaluate(A, 0),)


def pair(*items: object) -> Sequence:
    return Sequence("tuple", items, 0)  # type: ignore[arg-type]


def function(name: str = "f", **parts: object) -> FunctionDef:
    given: dict = {"params": (), "body": (), "decorators": (), "is_async": False, "is_generator": False}
    return FunctionDef(Function(name=name, at=0, **{**given, **parts}), 0)


@pytest.mark.parametrize(
    ("text", "lowered"),
    [
        ("a = b", Assign((A,), B, 0)),
        ("a = b = c", Assign((A, B), C, 0)),
        ("a.b = c", Assign((Attr(A, "b", 0),), C, 0)),
        ("a[b] = c", Assign((Item(A, B, 0),), C, 0)),
        ("a, *b = c", Assign((pair(A, Star(B, 0)),), C, 0)),
        ("[a, (b, c)] = d", Assign((Sequence("list", (A, pair(B, C)), 0),), D, 0)),
        ("a: b = c", Assign((A,), C, 0)),
        ("a: b", None),
        ("a += b", Update(A, "+", B, 0)),
        ("a.b @= c", Update(Attr(A, "b", 0), "@", C, 0)),
        ("a //= b", Update(A, "//", B, 0)),
        ("a **= b", Update(A, "**", B, 0)),
        ("a >>= b", Update(A, ">>", B, 0)),
        ("'doc'", Evaluate(Const("doc", 0), 0)),
        ("pass", None),
        ("...", None),
        ("del a, b.c", Delete((A, Attr(B, "c", 0)), 0)),
        ("del (a, [b])", Delete((A, B), 0)),
        ("assert a, b", Assert(A, 0)),
        ("raise", Raise(None, 0)),
        ("raise a from b", Raise(A, 0)),
        ("import a.b", Import("a.b", None, "a", 0, 0)),
        ("import a.b as c", Import("a.b", None, "c", 0, 0)),
        ("from a.b import c", Import("a.b", "c", "c", 0, 0)),
        ("from a import (b as c,)", Import("a", "b", "c", 0, 0)),
        ("from . import a", Import("", "a", "a", 1, 0)),
        ("from ...a import b", Import("a", "b", "b", 3, 0)),
        ("from a import *", Import("a", "*", "*", 0, 0)),
        ("while a:\n    break\nelse:\n    a", While(A, (Break(0),), DO, 0)),
        ("while a: continue", While(A, (Continue(0),), (), 0)),
        ("for a, b in c: a\nelse: a", For(pair(A, B), C, DO, DO, False, 0)),
        ("if a: a", If(A, DO, (), 0)),
        ("if a:\n    a\nelif b:\n    pass\nelse:\n    a", If(A, DO, (If(B, (), DO, 0),), 0)),
        ("with a: a", With((Entry(A, None, 0),), DO, False, 0)),
        (
            "with a as b, c as (b, d):\n    a",
            With((Entry(A, B, 0), Entry(C, pair(B, D), 0)), DO, False, 0),
        ),
        ("with (a as b, c,): a", With((Entry(A, B, 0), Entry(C, None, 0)), DO, False, 0)),
        ("with (yield): a", With((Entry(Yield(None, False, 0), None, 0),), DO, False, 0)),
        (
            "try: a\nexcept b as c: pass\nexcept: a\nelse: a\nfinally: a",
            Try(DO, (Handler(B, "c", (), 0), Handler(None, None, DO, 0)), DO, DO, 0),
        ),
        ("try: a\nfinally: pass", Try(DO, (), (), (), 0)),
        ("class A: pass", ClassDef("A", (), (), (), 0)),
        (
            "@a\n@b(c)\nclass A(b, *d, metaclass=c):\n    a: b\n    a = b",
            ClassDef(
                "A",
                (Arg(B), Arg(D, star="*"), Arg(C, "metaclass")),
                (A, Call(B, (Arg(C),), 0)),
                (Assign((A,), B, 0),),
                0,
            ),
        ),
        ("def f(): pass", function()),
        ("def f(): ...", function()),
        (
            "def f(a, /, b: c = d, *, c=a, **d) -> b:\n    return a",
            function(
                params=(
                    Param("a"),
                    Param("b", D, C),
                    Param("c", A, None, "keyword"),
                    Param("d", None, None, "**"),
                ),
                body=(Return(A, 0),),
                returns=B,
            ),
        ),
        ("def f(*a: b): pass", function(params=(Param("a", None, B, "*"),))),
        ("@a.b\ndef f(): return", function(decorators=(Attr(A, "b", 0),), body=(Return(None, 0),))),
        ("async def f(): pass", function(is_async=True)),
        ("def f(): global a, b", function(body=(Declare("global", ("a", "b"), 0),))),
        (
            "def f():\n    def g():\n        nonlocal a\n",
            function(body=(function("g", body=(Declare("nonlocal", ("a",), 0),)),)),
        ),
    ],
)
def test_statement(statements: Callable[[str], tuple], text: str, lowered: Stmt | None) -> None:
    assert statements(text) == (() if lowered is None else (lowered,))


def test_async_blocks(statements: Callable[[str], tuple]) -> None:
    (definition,) = statements("async def f():\n    async with a: a\n    async for a in b: a\n")
    assert definition.function.body == (
        With((Entry(A, None, 0),), DO, True, 0),
        For(A, B, DO, (), True, 0),
    )


def test_one_row_of_several_statements(statements: Callable[[str], tuple]) -> None:
    assert statements("a = b; a; pass; import c, d as a") == (
        Assign((A,), B, 0),
        *DO,
        Import("c", None, "c", 0, 0),
        Import("d", None, "a", 0, 0),
    )


@pytest.mark.parametrize(
    ("body", "is_generator"),
    [
        ("yield", True),
        ("a = yield from b", True),
        ("return [(yield)]", True),
        ("with a:\n        yield b", True),
        ("return lambda: (yield)", False),
        ("def g(): yield", False),
        ("class G:\n        def g(): yield", False),
        ("return (a for a in b)", False),
        ("def g(a=(yield)): pass", True),
    ],
)
def test_generator(statements: Callable[[str], tuple], body: str, is_generator: bool) -> None:
    (definition,) = statements(f"def f():\n    {body}\n")
    assert definition.function.is_generator is is_generator


@pytest.mark.parametrize(
    ("pattern", "test", "captures", "catches_all"),
    [
        ("1", Const(1, 0), (), False),
        ("-1", Const(-1, 0), (), False),
        ("'a'", Const("a", 0), (), False),
        ("None", Const(None, 0), (), False),
        ("a.b", Attr(A, "b", 0), (), False),
        ("_", None, (), True),
        ("x", None, ("x",), True),
        ("1 as x", Const(1, 0), ("x",), False),
        ("(x)", None, ("x",), True),
        ("1 | 2", None, (), False),
        ("[x] | (_, x)", None, ("x",), False),
        ("1 | x", None, ("x",), True),
        ("[x, *_, [y, *z]]", None, ("x", "y", "z"), False),
        ("x, y", None, ("x", "y"), False),
        ("A(x, b=y)", None, ("x", "y"), False),
        ("{'k': x, **rest}", None, ("x", "rest"), False),
        ("{}", None, (), False),
        ("[x] as y", None, ("x", "y"), False),
    ],
)
def test_pattern(
    statements: Callable[[str], tuple], pattern: str, test: object, captures: tuple, catches_all: bool
) -> None:
    lowered = statements(f"match a, b:\n    case {pattern}: a\n")
    assert lowered == (Match(pair(A, B), (Case(test, captures, None, DO, catches_all, 0),), 0),)  # type: ignore[arg-type]


def test_a_guarded_pattern_does_not_catch_all(statements: Callable[[str], tuple]) -> None:
    ((*_, match),) = (statements("match a:\n    case x if b: pass\n    case _: a\n"),)
    assert match.cases == (Case(None, ("x",), B, (), False, 0), Case(None, (), None, DO, True, 0))


def test_long_elif_chain(statements: Callable[[str], tuple]) -> None:
    (branch,) = statements("if a: a\n" + "elif b: a\n" * 150)
    length = 0
    while branch.other:
        (branch,) = branch.other
        length += 1
    assert length == 150
