"""Patterns as expressions.

A binding is a `Name`, a wildcard `Name("_")`, a tuple or slice a `Sequence`, `..` a `Star`; `Some(p)` and
`Holder { n: p }` are calls (the latter with named arguments), `a | b` an `Op`, `x @ p` a `Walrus`, `ref
x` the unary `Op("&")`. Literals are `Const`, paths are names that start with a capital or hold "::".
"""

from __future__ import annotations

from gradguard.ir import nodes as ir
from gradguard.lower.rust.context import DEEPEST, Context, Node, named, text


def pattern(context: Context, node: Node | None) -> ir.Expr:
    """The expression that stands for a pattern; a wildcard for None."""
    if node is None:
        return ir.Name("_", ir.NOWHERE)
    if context.depth > DEEPEST:
        return ir.Opaque((), context.at(node))
    context.depth += 1
    try:
        return _pattern(context, node)
    finally:
        context.depth -= 1


def _pattern(context: Context, node: Node) -> ir.Expr:
    at = context.at(node)
    match node.type:
        case "identifier" | "shorthand_field_identifier" | "scoped_identifier" | "self":
            return ir.Name(text(node), at)
        case "_":
            return ir.Name("_", at)
        case "mut_pattern" | "reference_pattern" | "match_pattern" | "ref_pattern" | "box_pattern":
            return _inner(context, node, at)
        case "tuple_pattern" | "slice_pattern":
            kind = "tuple" if node.type == "tuple_pattern" else "list"
            return ir.Sequence(kind, tuple(pattern(context, child) for child in _elements(node)), at)
        case "tuple_struct_pattern":
            func = ir.Name(_path(node.child_by_field_name("type")), at)
            inner = _elements(node)[1:]
            return ir.Call(func, tuple(ir.Arg(pattern(context, child)) for child in inner), at)
        case "struct_pattern":
            return _structure(context, node, at)
        case "or_pattern":
            return ir.Op("|", tuple(pattern(context, child) for child in _elements(node)), at)
        case "captured_pattern":
            name, *inner = _elements(node)
            return ir.Walrus(text(name), pattern(context, inner[0] if inner else None), at)
        case "remaining_field_pattern":
            return ir.Star(ir.Name("_", at), at)
        case "integer_literal" | "float_literal" | "string_literal" | "boolean_literal" | "char_literal":
            from gradguard.lower.rust.literals import literal

            return literal(context, node)
        case _:
            return ir.Opaque((), at)


def _inner(context: Context, node: Node, at: int) -> ir.Expr:
    inner = [child for child in _elements(node) if child.type != "mutable_specifier"]
    if not inner:
        return ir.Name("_", at)
    found = pattern(context, inner[0])
    return ir.Op("&", (found,), at) if node.type == "ref_pattern" else found


def _elements(node: Node) -> list[Node]:
    """The parts of a pattern: its named children, and `_`, which has no name in the grammar."""
    parts = [child for child in node.children if child.is_named or child.type == "_"]
    return [child for child in parts if child.type not in ("line_comment", "block_comment")]


def _structure(context: Context, node: Node, at: int) -> ir.Expr:
    args: list[ir.Arg] = []
    for child in named(node):
        if child.type != "field_pattern":
            continue
        name = child.child_by_field_name("name")
        inner = child.child_by_field_name("pattern")
        by_reference = any(part.type == "ref" for part in child.children)
        found = pattern(context, inner if inner is not None else name)
        args.append(ir.Arg(ir.Op("&", (found,), found.at) if by_reference else found, text(name)))
    if not args:
        args.append(ir.Arg(ir.Star(ir.Name("_", at), at), "", "*"))
    return ir.Call(ir.Name(_path(node.child_by_field_name("type")), at), tuple(args), at)


def _path(node: Node | None) -> str:
    """A path without its type arguments."""
    if node is not None and node.type in ("generic_type", "generic_type_with_turbofish"):
        node = node.child_by_field_name("type")
    return text(node).replace(" ", "")


def bound_names(expr: ir.Expr) -> tuple[str, ...]:
    """The names that a pattern binds."""
    match expr:
        case ir.Name(id=name):
            return () if not is_binding(name) else (name,)
        case ir.Sequence(items=items) | ir.Op(operands=items):
            return tuple(name for item in items for name in bound_names(item))
        case ir.Call(args=args):
            return tuple(name for arg in args for name in bound_names(arg.value))
        case ir.Walrus(target=target, value=value):
            return (target, *bound_names(value))
        case _:
            return ()


def is_binding(name: str) -> bool:
    """Whether a name in a pattern binds, rather than naming a constant or a variant."""
    return name != "_" and "::" not in name and not name[:1].isupper()


def always_matches(expr: ir.Expr) -> bool:
    """Whether a pattern matches whatever comes."""
    match expr:
        case ir.Name(id=name):
            return name == "_" or is_binding(name)
        case ir.Star():
            return True
        case ir.Sequence(kind="tuple", items=items):
            return all(always_matches(item) for item in items)
        case ir.Op(op="&", operands=(inner,)):
            return always_matches(inner)
        case ir.Walrus(value=value):
            return always_matches(value)
        case _:
            return False
