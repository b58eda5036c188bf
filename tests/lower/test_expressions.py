from __future__ import annotations

from collections.abc import Callable

import pytest

from gradguard.ir.nodes import (
    Arg,
    Attr,
    Await,
    Call,
    Choice,
    Clause,
    Compare,
    Comprehension,
    Const,
    Expr,
    Function,
    Item,
    Lambda,
    Logic,
    Mapping,
    Name,
    Op,
    Opaque,
    Param,
    Return,
    Sequence,
    Slice,
    Star,
    Walrus,
    Yield,
)

A, B, C, D = (Name(letter, 0) for letter in "abcd")
NONE = Const(None, 0)


def pair(*items: Expr) -> Sequence:
    return Sequence("tuple", items, 0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("None", None),
        ("True", True),
        ("False", False),
        ("0", 0),
        ("1_000", 1000),
        ("0x_ff", 255),
        ("0o17", 15),
        ("0b101", 5),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1_0.0_1", 10.01),
        ("2j", 2j),
        ("1_0J", 10j),
        ("-1", -1),
        ("-.5", -0.5),
        ("'a'", "a"),
        ('"it\'s"', "it's"),
        ('""', ""),
        ('""""""', ""),
        ('"""a\nb"""', "a\nb"),
        ('"""a"b"""', 'a"b'),
        (r"'a\tb'", "a\tb"),
        (r"r'a\tb'", r"a\tb"),
        (r"R'\''", r"\'"),
        (r"'\N{BULLET}'", "\u2022"),
        ("u'ä中'", "ä中"),
        ("b'ab'", b"ab"),
        (r"b'\xff'", b"\xff"),
        (r"rb'\xff'", rb"\xff"),
        ("'a' 'b'\\\n 'c'", "abc"),
        ("b'a' b'b'", b"ab"),
        ("r'\\d' '\\n'", "\\d\n"),
    ],
)
def test_literal(expression: Callable[[str], Expr], text: str, value: object) -> None:
    lowered = expression(text)
    assert lowered == Const(value, 0)  # type: ignore[arg-type]
    assert type(lowered.value) is type(value)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "lowered"),
    [
        ("a", A),
        ("ﬁ", Name("fi", 0)),
        ("a.b.c", Attr(Attr(A, "b", 0), "c", 0)),
        ("(a).b", Attr(A, "b", 0)),
        ("a[b]", Item(A, B, 0)),
        ("a[b, c]", Item(A, pair(B, C), 0)),
        ("a[b,]", Item(A, pair(B), 0)),
        ("a[b:c]", Item(A, Slice((B, C, NONE), 0), 0)),
        ("a[:]", Item(A, Slice((NONE, NONE, NONE), 0), 0)),
        ("a[:, ::b]", Item(A, pair(Slice((NONE, NONE, NONE), 0), Slice((NONE, NONE, B), 0)), 0)),
        ("a[...]", Item(A, Opaque((), 0), 0)),
        ("a()", Call(A, (), 0)),
        ("a(b, *c, d=b, **d)", Call(A, (Arg(B), Arg(C, star="*"), Arg(B, "d"), Arg(D, star="**")), 0)),
        (
            "a(b for b in c)",
            Call(A, (Arg(Comprehension("generator", B, (Clause(B, C, ()),), 0)),), 0),
        ),
        ("a + b", Op("+", (A, B), 0)),
        ("a - b - c", Op("-", (Op("-", (A, B), 0), C), 0)),
        ("a - (b - c)", Op("-", (A, Op("-", (B, C), 0)), 0)),
        ("a + b * c", Op("+", (A, Op("*", (B, C), 0)), 0)),
        ("a ** b ** c", Op("**", (A, Op("**", (B, C), 0)), 0)),
        ("a @ b", Op("@", (A, B), 0)),
        ("a // b", Op("//", (A, B), 0)),
        ("a << b >> c", Op(">>", (Op("<<", (A, B), 0), C), 0)),
        ("-a", Op("neg", (A,), 0)),
        ("+a", Op("pos", (A,), 0)),
        ("~a", Op("invert", (A,), 0)),
        ("-True", Op("neg", (Const(True, 0),), 0)),
        ("not a", Logic("not", (A,), 0)),
        ("a and b and c", Logic("and", (A, B, C), 0)),
        ("a and (b and c)", Logic("and", (A, B, C), 0)),
        ("a or b and c", Logic("or", (A, Logic("and", (B, C), 0)), 0)),
        ("a < b", Compare("<", A, B, 0)),
        ("a is not b", Compare("is-not", A, B, 0)),
        ("a not in b", Compare("not-in", A, B, 0)),
        ("a != b", Compare("!=", A, B, 0)),
        ("a < b <= c", Logic("and", (Compare("<", A, B, 0), Compare("<=", B, C, 0)), 0)),
        ("a if b else c", Choice(B, A, C, 0)),
        ("()", pair()),
        ("a, b", pair(A, B)),
        ("(a,)", pair(A)),
        ("[a, *b]", Sequence("list", (A, Star(B, 0)), 0)),
        ("{a, b}", Sequence("set", (A, B), 0)),
        ("{}", Mapping((), 0)),
        ("{a: b, **c}", Mapping(((A, B), (None, C)), 0)),
        ("[a for a in b]", Comprehension("list", A, (Clause(A, B, ()),), 0)),
        ("{a for a in b if c if d}", Comprehension("set", A, (Clause(A, B, (C, D)),), 0)),
        (
            "{a: b for a, b in c}",
            Comprehension("dict", pair(A, B), (Clause(pair(A, B), C, ()),), 0),
        ),
        (
            "(a for b in c for a in b)",
            Comprehension("generator", A, (Clause(B, C, ()), Clause(A, B, ())), 0),
        ),
        ("(a := b)", Walrus("a", B, 0)),
        ("...", None),
        ("f'{a}x'", Opaque((A,), 0)),
        ("f'x'", Opaque((), 0)),
        ("f'{a!r:>{b}}' 'c' f'{c}'", Opaque((A, B, C), 0)),
        ("lambda: a", Lambda(Function("<lambda>", (), (Return(A, 0),), (), False, False, 0), 0)),
        (
            "lambda a, *, b=c: (yield)",
            Lambda(
                Function(
                    "<lambda>",
                    (Param("a"), Param("b", C, None, "keyword")),
                    (Return(Yield(None, False, 0), 0),),
                    (),
                    False,
                    True,
                    0,
                ),
                0,
            ),
        ),
    ],
)
def test_expression(statements: Callable[[str], tuple], text: str, lowered: Expr | None) -> None:
    values = [statement.value for statement in statements(text)]
    assert values == ([] if lowered is None else [lowered])


@pytest.mark.parametrize(
    ("text", "lowered"),
    [
        ("await a", Await(A, 0)),
        ("(yield)", Yield(None, False, 0)),
        ("yield a", Yield(A, False, 0)),
        ("yield a, b", Yield(pair(A, B), False, 0)),
        (
            "[a async for a in b]",
            Comprehension("list", A, (Clause(A, B, (), is_async=True),), 0),
        ),
    ],
)
def test_expression_in_coroutine(statements: Callable[[str], tuple], text: str, lowered: Expr) -> None:
    (definition,) = statements(f"async def f():\n    {text}\n")
    assert definition.function.body[0].value == lowered


def test_yield_from(statements: Callable[[str], tuple]) -> None:
    (definition,) = statements("def f():\n    a = yield from b\n")
    assert definition.function.body[0].value == Yield(B, True, 0)


def test_middle_of_a_comparison_chain_is_one_node(opened: Callable) -> None:
    (statement,) = opened("a < f() < c").body(0)
    first, second = statement.value.operands
    assert first.right is second.left


def test_a_long_sum_is_opaque_but_keeps_all_its_operands(expression: Callable[[str], Expr]) -> None:
    names = [f"x{i}" for i in range(300)]
    lowered = expression(" + ".join(names))
    assert isinstance(lowered, Opaque)
    assert [operand.id for operand in lowered.operands] == names  # type: ignore[union-attr]


def test_long_conjunctions_are_flat(expression: Callable[[str], Expr]) -> None:
    lowered = expression(" and ".join(["a"] * 300))
    assert isinstance(lowered, Logic)
    assert len(lowered.operands) == 300


def test_hexadecimal_numbers_of_any_length(expression: Callable[[str], Expr]) -> None:
    assert expression("0x" + "f" * 9000) == Const(int("f" * 9000, 16), 0)


def test_deep_calls_end_in_an_opaque_leaf(expression: Callable[[str], Expr]) -> None:
    lowered = expression("a" + ".b()" * 120)
    depth = 0
    while not isinstance(lowered, Opaque):
        lowered = lowered.func if isinstance(lowered, Call) else lowered.base  # type: ignore[union-attr]
        depth += 1
    assert depth == 100
