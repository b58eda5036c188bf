"""Expressions."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.ir import nodes as ir
from gradguard.lower.rust.context import DEEPEST, Context, Node, label_of, named, text
from gradguard.lower.rust.literals import literal
from gradguard.lower.rust.macros import macro
from gradguard.lower.rust.patterns import always_matches, bound_names, pattern

_COMPARISONS = frozenset(("==", "!=", "<", "<=", ">", ">="))


def expression(context: Context, node: Node | None) -> ir.Expr:
    """The expression of a node; `()` for none."""
    if node is None:
        return ir.Const(None, ir.NOWHERE)
    lower = _LOWER.get(node.type)
    if lower is None or context.depth > DEEPEST:
        return ir.Opaque((), context.at(node))
    context.depth += 1
    try:
        return lower(context, node)
    finally:
        context.depth -= 1


def _name(context: Context, node: Node) -> ir.Expr:
    head, separator, rest = path_text(node).partition("::")
    if separator:
        head = context.bounds.get(head, head)
    return ir.Name(f"{head}{separator}{rest}", context.at(node))


def path_text(node: Node | None) -> str:
    """A path without its type arguments: `Vec::new` of `Vec::<f64>::new`."""
    if node is None:
        return ""
    match node.type:
        case "scoped_identifier" | "scoped_type_identifier":
            head = path_text(node.child_by_field_name("path"))
            name = text(node.child_by_field_name("name"))
            return f"{head}::{name}" if head else name
        case "generic_type" | "generic_type_with_turbofish":
            return path_text(node.child_by_field_name("type"))
        case "bracketed_type":
            inner = node.named_children[0] if node.named_children else None
            if inner is not None and inner.type == "qualified_type":
                inner = inner.child_by_field_name("type")
            return path_text(inner)
        case _:
            return text(node)


def _field(context: Context, node: Node) -> ir.Expr:
    base = expression(context, node.child_by_field_name("value"))
    return ir.Attr(base, text(node.child_by_field_name("field")), context.at(node))


def _call(context: Context, node: Node) -> ir.Expr:
    func = node.child_by_field_name("function")
    args = node.child_by_field_name("arguments")
    lowered = expression(context, func)
    values = tuple(ir.Arg(expression(context, child)) for child in named(args)) if args is not None else ()
    return ir.Call(lowered, values, _at_call(context, node, func))


def _at_call(context: Context, node: Node, func: Node | None) -> int:
    """The handle of a call. Of a chain that is broken over rows, a call stands where its method's name is."""
    if func is not None and func.type == "generic_function":
        func = func.child_by_field_name("function")
    name = func.child_by_field_name("field") if func is not None and func.type == "field_expression" else None
    if name is None or name.start_point[0] == node.start_point[0]:
        return context.at(node)
    return context.at(node, start=name)


def _generic(context: Context, node: Node) -> ir.Expr:
    return expression(context, node.child_by_field_name("function"))


def _unary(context: Context, node: Node) -> ir.Expr:
    inner = expression(context, _only(node))
    sign = node.children[0].type
    if sign == "!":
        return ir.Logic("not", (inner,), context.at(node))
    if sign == "-" and isinstance(inner, ir.Const) and isinstance(inner.value, int | float):
        return ir.Const(-inner.value, context.at(node))
    return ir.Op("neg" if sign == "-" else sign, (inner,), context.at(node))


def _reference(context: Context, node: Node) -> ir.Expr:
    return ir.Op("&", (expression(context, node.child_by_field_name("value")),), context.at(node))


def _binary(context: Context, node: Node) -> ir.Expr:
    left = expression(context, node.child_by_field_name("left"))
    right = expression(context, node.child_by_field_name("right"))
    op = text(node.child_by_field_name("operator"))
    at = context.at(node)
    if op in ("&&", "||"):
        return ir.Logic("and" if op == "&&" else "or", (left, right), at)
    if op in _COMPARISONS:
        return ir.Compare(op, left, right, at)
    return ir.Op(op, (left, right), at)


def _cast(context: Context, node: Node) -> ir.Expr:
    return expression(context, node.child_by_field_name("value"))


def _propagate(context: Context, node: Node) -> ir.Expr:
    return ir.Propagate(expression(context, _only(node)), context.at(node))


def _await(context: Context, node: Node) -> ir.Expr:
    return ir.Await(expression(context, _only(node)), context.at(node))


def _tuple(context: Context, node: Node) -> ir.Expr:
    return ir.Sequence("tuple", tuple(expression(context, child) for child in named(node)), context.at(node))


def _array(context: Context, node: Node) -> ir.Expr:
    at = context.at(node)
    length = node.child_by_field_name("length")
    items = [child for child in named(node) if child != length]
    values = tuple(expression(context, child) for child in items)
    if length is not None:
        return ir.Call(ir.Name("repeat!", at), tuple(map(ir.Arg, values)), at)
    return ir.Sequence("list", values, at)


def _index(context: Context, node: Node) -> ir.Expr:
    base, index = [*named(node), None, None][:2]
    return ir.Item(expression(context, base), expression(context, index), context.at(node))


def _structure(context: Context, node: Node) -> ir.Expr:
    at = context.at(node)
    args = []
    body = node.child_by_field_name("body")
    for child in named(body) if body is not None else ():
        match child.type:
            case "field_initializer":
                name = child.child_by_field_name("field")
                args.append(ir.Arg(expression(context, child.child_by_field_name("value")), text(name)))
            case "shorthand_field_initializer":
                word = text(_only(child))
                args.append(ir.Arg(ir.Name(word, context.at(child)), word))
            case "base_field_initializer":
                args.append(ir.Arg(expression(context, _only(child)), None, "**"))
    if not args:
        args.append(ir.Arg(ir.Const(None, at), "", "*"))
    return ir.Call(ir.Name(path_text(node.child_by_field_name("name")), at), tuple(args), at)


def _closure(context: Context, node: Node) -> ir.Expr:
    from gradguard.lower.rust.items import parameters

    at = context.at(node)
    params, opening = parameters(context, node.child_by_field_name("parameters"))
    value = expression(context, node.child_by_field_name("body"))
    moves = any(child.type == "move" for child in node.children)
    marks: tuple[ir.Expr, ...] = (ir.Name("move", at),) if moves else ()
    body = (*opening, ir.Return(value, value.at))
    return ir.Lambda(ir.Function("<closure>", params, body, marks, False, False, at), at)


def block(context: Context, node: Node | None) -> ir.Scope:
    """A block: its statements, and its value."""
    from gradguard.lower.rust.statements import statements

    if node is None:
        return ir.Scope((), None, ir.NOWHERE)
    at = context.at(node)
    if context.depth > DEEPEST:
        return ir.Scope((), None, at)
    context.depth += 1
    try:
        body, value = statements(context, node)
    finally:
        context.depth -= 1
    return ir.Scope(body, value, at, label_of(node))


def _loop_value(context: Context, node: Node) -> ir.Expr:
    from gradguard.lower.rust.statements import loop_value

    return loop_value(context, node)


def _wrapped_block(context: Context, node: Node) -> ir.Expr:
    return block(context, next((child for child in node.named_children if child.type == "block"), None))


def _if(context: Context, node: Node) -> ir.Expr:
    condition = node.child_by_field_name("condition")
    alternative = node.child_by_field_name("alternative")
    parts = named(condition) if condition is not None and condition.type == "let_chain" else [condition]
    return _chained(context, node, parts, node.child_by_field_name("consequence"), alternative)


def _chained(
    context: Context, node: Node, parts: list[Node], then: Node | None, other: Node | None
) -> ir.Expr:
    """`if a && let P = b { .. } else { .. }`, condition by condition."""
    if not parts:
        return block(context, then)
    first, *rest = parts
    if first is not None and first.type == "let_condition":
        at = context.at(first)
        subject = expression(context, first.child_by_field_name("value"))
        taken = pattern(context, first.child_by_field_name("pattern"))
        inner = _chained(context, node, rest, then, other)
        left = ir.Case(taken, bound_names(taken), None, (_as_statement(inner),), always_matches(taken), at)
        return ir.Branches(subject, (left, _otherwise(_else(context, other))), at)
    at = context.at(node, first)
    test = expression(context, first)
    inner = _chained(context, node, rest, then, other)
    return ir.Choice(test, inner, _else(context, other), at)


def _else(context: Context, node: Node | None) -> ir.Expr:
    if node is None:
        return ir.Const(None, ir.NOWHERE)
    return expression(context, _only(node))


def _otherwise(value: ir.Expr) -> ir.Case:
    return ir.Case(ir.Name("_", value.at), (), None, (_as_statement(value),), True, value.at)


def _as_statement(value: ir.Expr) -> ir.Stmt:
    return ir.Evaluate(value, value.at)


def _match(context: Context, node: Node) -> ir.Expr:
    subject = node.child_by_field_name("value")
    at = context.at(node, subject)
    value = expression(context, subject)
    body = node.child_by_field_name("body")
    arms = [child for child in named(body) if child.type == "match_arm"] if body is not None else []
    return ir.Branches(value, tuple(_arm(context, arm) for arm in arms), at)


def _arm(context: Context, node: Node) -> ir.Case:
    written = node.child_by_field_name("pattern")
    at = context.at(node, written)
    condition = written.child_by_field_name("condition") if written is not None else None
    inner = written
    if written is not None and written.type == "match_pattern":
        parts = [child for child in written.children if child.is_named or child.type == "_"]
        inner = parts[0] if parts else None
    taken = pattern(context, inner)
    guard = expression(context, condition) if condition is not None else None
    value = expression(context, node.child_by_field_name("value"))
    catches = guard is None and always_matches(taken)
    return ir.Case(taken, bound_names(taken), guard, (_as_statement(value),), catches, at)


def _statement_in_place(context: Context, node: Node) -> ir.Expr:
    """A loop, jump or assignment where a value stands: a block of that one statement."""
    from gradguard.lower.rust.statements import statement

    return ir.Scope(statement(context, node), None, context.at(node))


def _only(node: Node) -> Node | None:
    """The one part of a node that is no comment, label or keyword."""
    inner = [child for child in named(node) if child.type not in ("label", "mutable_specifier")]
    return inner[0] if inner else None


def _inside(context: Context, node: Node) -> ir.Expr:
    return expression(context, _only(node))


def _unit(context: Context, node: Node) -> ir.Expr:
    return ir.Const(None, context.at(node))


def _range(context: Context, node: Node) -> ir.Expr:
    return ir.Slice(tuple(expression(context, child) for child in named(node)), context.at(node))


_LOWER: dict[str, Callable[[Context, Node], ir.Expr]] = {
    **dict.fromkeys(("identifier", "self", "scoped_identifier", "metavariable", "super", "crate"), _name),
    **dict.fromkeys(
        ("integer_literal", "float_literal", "boolean_literal", "string_literal", "char_literal"), literal
    ),
    "raw_string_literal": literal,
    "field_expression": _field,
    "call_expression": _call,
    "generic_function": _generic,
    "unary_expression": _unary,
    "reference_expression": _reference,
    "binary_expression": _binary,
    "type_cast_expression": _cast,
    "try_expression": _propagate,
    "await_expression": _await,
    "tuple_expression": _tuple,
    "array_expression": _array,
    "index_expression": _index,
    "struct_expression": _structure,
    "closure_expression": _closure,
    "block": block,
    **dict.fromkeys(("unsafe_block", "async_block", "const_block", "try_block"), _wrapped_block),
    "loop_expression": _loop_value,
    "if_expression": _if,
    "match_expression": _match,
    "macro_invocation": macro,
    "parenthesized_expression": _inside,
    "unit_expression": _unit,
    "range_expression": _range,
    **dict.fromkeys(
        (
            "return_expression",
            "break_expression",
            "continue_expression",
            "while_expression",
            "for_expression",
            "assignment_expression",
            "compound_assignment_expr",
        ),
        _statement_in_place,
    ),
}
