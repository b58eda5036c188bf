"""Statements and blocks."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.ir import nodes as ir
from gradguard.lower.rust.context import Context, Node, label_of, named, text
from gradguard.lower.rust.expressions import block, expression
from gradguard.lower.rust.patterns import pattern

_ITEMS = frozenset(
    [
        "function_item",
        "struct_item",
        "enum_item",
        "impl_item",
        "trait_item",
        "mod_item",
        "use_declaration",
        "const_item",
        "static_item",
        "type_item",
        "macro_definition",
        "extern_crate_declaration",
        "foreign_mod_item",
        "union_item",
        "function_signature_item",
    ]
)
# Read as statements wherever they stand: what a block's last one gives is `()`, or never read.
_LOOPS = frozenset(
    [
        "while_expression",
        "for_expression",
        "assignment_expression",
        "compound_assignment_expr",
        "return_expression",
        "break_expression",
        "continue_expression",
        "loop_expression",
    ]
)

_STATEMENTS = frozenset(("expression_statement", "let_declaration", "empty_statement"))


def statements(context: Context, node: Node) -> tuple[ir.Body, ir.Expr | None]:
    """The statements of a block and the expression that is its value, None for `()`."""
    body: list[ir.Stmt] = []
    value: ir.Expr | None = None
    children = [child for child in named(node) if child.type != "label"]
    for index, child in enumerate(children):
        is_last = index == len(children) - 1
        if is_last and (child.type == "loop_expression" or child.type not in _ITEMS | _LOOPS | _STATEMENTS):
            value = expression(context, child)
            break
        if is_last and child.type == "expression_statement" and _is_open(child):
            value = expression(context, named(child)[0])
            break
        body.extend(statement(context, child))
    return tuple(body), value


def _is_open(node: Node) -> bool:
    """Whether an expression statement has no semicolon and gives the block its value."""
    inner = named(node)
    if not inner or node.children[-1].type == ";":
        return False
    return inner[0].type == "loop_expression" or inner[0].type not in _LOOPS


def statement(context: Context, node: Node) -> ir.Body:
    """The statements that a node stands for."""
    if node.type == "expression_statement":
        inner = named(node)
        return statement(context, inner[0]) if inner else ()
    if node.type in _ITEMS:
        from gradguard.lower.rust.items import item

        return item(context, node)
    lower = _LOWER.get(node.type)
    if lower is not None:
        return lower(context, node)
    value = expression(context, node)
    return (ir.Evaluate(value, value.at),)


def _let(context: Context, node: Node) -> ir.Body:
    at = context.at(node)
    written = node.child_by_field_name("pattern")
    target = pattern(context, written)
    value = node.child_by_field_name("value")
    lowered = expression(context, value) if value is not None else None
    alternative = node.child_by_field_name("alternative")
    orelse: ir.Body = ()
    if alternative is not None:
        inner = block(context, alternative)
        orelse = (ir.Evaluate(inner, inner.at),)
    return (ir.Let(target, lowered, orelse, at),)


def _assign(context: Context, node: Node) -> ir.Body:
    at = context.at(node)
    left = node.child_by_field_name("left")
    value = expression(context, node.child_by_field_name("right"))
    return (ir.Assign((_target(context, left),), value, at),)


def _target(context: Context, node: Node | None) -> ir.Expr:
    if node is not None and (text(node) == "_" or node.type in ("tuple_pattern", "tuple_expression")):
        if text(node) == "_":
            return ir.Name("_", context.at(node))
        items = tuple(_target(context, child) for child in named(node))
        return ir.Sequence("tuple", items, context.at(node))
    return expression(context, node)


def _update(context: Context, node: Node) -> ir.Body:
    at = context.at(node)
    target = expression(context, node.child_by_field_name("left"))
    value = expression(context, node.child_by_field_name("right"))
    op = text(node.child_by_field_name("operator")).removesuffix("=")
    return (ir.Update(target, op, value, at),)


def _return(context: Context, node: Node) -> ir.Body:
    at = context.at(node)
    inner = named(node)
    return (ir.Return(expression(context, inner[0]) if inner else None, at),)


def _break(context: Context, node: Node) -> ir.Body:
    at = context.at(node)
    inner = [child for child in named(node) if child.type != "label"]
    value = expression(context, inner[0]) if inner else None
    return (ir.Break(at, label_of(node), value),)


def _continue(context: Context, node: Node) -> ir.Body:
    return (ir.Continue(context.at(node), label_of(node)),)


def _body(context: Context, node: Node) -> ir.Body:
    inner = block(context, node.child_by_field_name("body"))
    return (ir.Evaluate(inner, inner.at),)


def _loop(context: Context, node: Node) -> ir.Body:
    at = context.at(node)
    return (ir.While(ir.Const(True, at), _body(context, node), (), at, label_of(node)),)


def loop_value(context: Context, node: Node) -> ir.Expr:
    """A `loop` where a value stands."""
    at = context.at(node)
    return ir.Loop(_body(context, node), label_of(node), at)


def _while(context: Context, node: Node) -> ir.Body:
    condition = node.child_by_field_name("condition")
    at = context.at(node, condition)
    if condition is None or condition.type not in ("let_condition", "let_chain"):
        test = expression(context, condition)
        return (ir.While(test, _body(context, node), (), at, label_of(node)),)
    parts = named(condition) if condition.type == "let_chain" else [condition]
    inner = _guarded(context, node, parts, at)
    return (ir.While(ir.Const(True, at), (inner,), (), at, label_of(node)),)


def _guarded(context: Context, node: Node, parts: list[Node], at: int) -> ir.Stmt:
    """The body of `while let`: it runs where the patterns match, and the loop ends where they do not."""
    if not parts:
        inner = block(context, node.child_by_field_name("body"))
        return ir.Evaluate(inner, inner.at)
    first, *rest = parts
    leave = ir.Scope((ir.Break(at),), None, at)
    if first.type == "let_condition":
        subject = expression(context, first.child_by_field_name("value"))
        taken = pattern(context, first.child_by_field_name("pattern"))
        then = ir.Case(taken, (), None, (_guarded(context, node, rest, at),), False, at)
        other = ir.Case(ir.Name("_", at), (), None, (ir.Evaluate(leave, at),), True, at)
        return ir.Evaluate(ir.Branches(subject, (then, other), at), at)
    test = expression(context, first)
    inside = ir.Scope((_guarded(context, node, rest, at),), None, at)
    return ir.Evaluate(ir.Choice(test, inside, leave, at), at)


def _for(context: Context, node: Node) -> ir.Body:
    source = node.child_by_field_name("value")
    at = context.at(node, source)
    target = pattern(context, node.child_by_field_name("pattern"))
    values = expression(context, source)
    return (ir.For(target, values, _body(context, node), (), False, at, label_of(node)),)


def _nothing(context: Context, node: Node) -> ir.Body:
    return ()


_LOWER: dict[str, Callable[[Context, Node], ir.Body]] = {
    "let_declaration": _let,
    "assignment_expression": _assign,
    "compound_assignment_expr": _update,
    "return_expression": _return,
    "break_expression": _break,
    "continue_expression": _continue,
    "loop_expression": _loop,
    "while_expression": _while,
    "for_expression": _for,
    "empty_statement": _nothing,
}
