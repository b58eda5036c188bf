"""Macro calls: their tokens, read again as expressions."""

from __future__ import annotations

import re

from gradguard.ir import nodes as ir
from gradguard.lower.rust.context import Context, Node, named, text
from gradguard.lower.rust.parsing import parse

_HEAD = b"fn m(){f("
_LIST_HEAD = b"fn m(){["
_CAPTURE = re.compile(r"(?<!\{)\{([a-z_]\w*)(?::[^{}]*)?\}")


def macro(context: Context, node: Node) -> ir.Expr:
    """`name!(...)` as a call of the name `name!`; what its tokens name is read where they cannot be
    parsed."""
    from gradguard.lower.rust.expressions import expression

    at = context.at(node)
    name = text(node.child_by_field_name("macro")).rsplit("::", 1)[-1]
    tokens = next((child for child in node.named_children if child.type == "token_tree"), None)
    if tokens is None:
        return ir.Opaque((), at)
    inside = tokens.text[1:-1]
    start = tokens.start_byte + 1 + context.shift
    if name == "vec":
        found = _reparsed(_LIST_HEAD, inside, b"];}", "array_expression")
        if found is not None:
            return expression(context.within(start - len(_LIST_HEAD)), found)
    if name == "matches":
        return _matches(context, node, inside, start, at)
    found = _reparsed(_HEAD, inside, b");}", "arguments")
    func = ir.Name(f"{name}!", at)
    if found is None:
        return ir.Call(func, tuple(ir.Arg(ir.Name(word, at)) for word in _words(tokens)), at)
    inner = context.within(start - len(_HEAD))
    args = [ir.Arg(expression(inner, child)) for child in named(found)]
    seen = {
        arg.value.value
        for arg in args
        if isinstance(arg.value, ir.Const) and isinstance(arg.value.value, str)
    }
    captured = dict.fromkeys(word for one in seen for word in _CAPTURE.findall(one))
    args.extend(ir.Arg(ir.Name(word, at), "captured") for word in captured)
    return ir.Call(func, tuple(args), at)


def _matches(context: Context, node: Node, inside: bytes, start: int, at: int) -> ir.Expr:
    """`matches!(value, pattern if guard)` as the match that it is."""
    from gradguard.lower.rust.expressions import expression

    head = b"fn m(){match (), _ if () {_ =>{}}}"
    comma = _first_comma(inside)
    if comma is None:
        return ir.Opaque((), at)
    head = b"fn m(){match "
    data = head + inside[:comma] + b"{" + inside[comma + 1 :].rstrip(b", \n\t") + b"=>true,_=>false}}"
    root = parse(data)
    found = _find(root, "match_expression")
    if root.has_error or found is None:
        return ir.Opaque(tuple(ir.Name(word, at) for word in _words(node)), at)
    return expression(context.within(start - len(head)), found)


def _first_comma(tokens: bytes) -> int | None:
    depth = 0
    for index, byte in enumerate(tokens):
        if byte in b"([{":
            depth += 1
        elif byte in b")]}":
            depth -= 1
        elif byte == ord(",") and depth == 0:
            return index
    return None


def _reparsed(head: bytes, inside: bytes, tail: bytes, kind: str) -> Node | None:
    root = parse(head + inside + tail)
    return None if root.has_error else _find(root, kind)


def _find(root: Node, kind: str) -> Node | None:
    pending = [root]
    while pending:
        node = pending.pop()
        if node.type == kind:
            return node
        pending.extend(reversed(node.named_children))
    return None


def _words(tokens: Node) -> list[str]:
    """The names in a token tree that no dot precedes."""
    found: dict[str, None] = {}
    pending = [tokens]
    while pending:
        node = pending.pop()
        if node.type == "identifier" and (node.prev_sibling is None or node.prev_sibling.type != "."):
            found[text(node)] = None
        pending.extend(reversed(node.children))
    return list(found)
