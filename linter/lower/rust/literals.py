"""Literals."""

from __future__ import annotations

from gradguard.ir import nodes as ir
from gradguard.lower.rust.context import Context, Node, text

_SUFFIXES = (
    "u8",
    "i8",
    "u16",
    "i16",
    "u32",
    "i32",
    "u64",
    "i64",
    "u128",
    "i128",
    "usize",
    "isize",
    "f32",
    "f64",
    "f16",
)


def literal(context: Context, node: Node) -> ir.Expr:
    """A literal as a constant; opaque where its value cannot be told."""
    at = context.at(node)
    match node.type:
        case "integer_literal":
            return _number(text(node), at, whole=True)
        case "float_literal":
            return _number(text(node), at, whole=False)
        case "boolean_literal":
            return ir.Const(text(node) == "true", at)
        case "string_literal" | "raw_string_literal":
            return ir.Const("".join(text(child) for child in node.named_children), at)
        case "char_literal":
            return ir.Const(text(node).strip("'"), at)
        case _:
            return ir.Opaque((), at)


def _number(written: str, at: int, *, whole: bool) -> ir.Expr:
    plain = written.replace("_", "").lower()
    if not plain.startswith(("0x", "0b", "0o")):
        suffix = next((one for one in _SUFFIXES if plain.endswith(one)), "")
        whole = whole and not suffix.startswith("f")
        plain = plain.removesuffix(suffix)
    else:
        for one in _SUFFIXES:
            if one[0] in "iu" and plain.endswith(one):
                plain = plain.removesuffix(one)
                break
    try:
        return ir.Const(int(plain, 0) if whole else float(plain), at)
    except ValueError:
        return ir.Opaque((), at)
