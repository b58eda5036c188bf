"""Items: functions, types, implementations, modules and imports.

A type is a `ClassDef` whose decorators tell its kind (struct, enum, impl, trait, mod); a struct's fields are
assignments of the name of their type, an impl's base is the trait.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from gradguard.ir import nodes as ir
from gradguard.lower.rust.context import Context, Node, named, text
from gradguard.lower.rust.expressions import expression, path_text
from gradguard.lower.rust.patterns import pattern


def item(context: Context, node: Node) -> ir.Body:
    """The definitions that an item makes."""
    at = context.at(node)
    match node.type:
        case "function_item" | "function_signature_item":
            with _bounded(context, node):
                return (ir.FunctionDef(_function(context, node, at), at),)
        case "struct_item" | "union_item":
            with _bounded(context, node):
                return (_class(node, "struct", _fields(context, node), at),)
        case "enum_item":
            return (_class(node, "enum", _variants(context, node), at),)
        case "impl_item" | "trait_item":
            with _bounded(context, node):
                return (_methods(context, node, at),)
        case "mod_item":
            body = node.child_by_field_name("body")
            name = text(node.child_by_field_name("name"))
            if body is None:
                return (ir.Import(name, None, name, 0, at),)
            return (_class(node, "mod", tuple(_items(context, body)), at),)
        case "use_declaration":
            return tuple(_uses(node.child_by_field_name("argument"), (), at))
        case "const_item" | "static_item":
            name = text(node.child_by_field_name("name"))
            value = expression(context, node.child_by_field_name("value"))
            return (ir.Assign((ir.Name(name, at),), value, at),)
        case "type_item":
            name = text(node.child_by_field_name("name"))
            written = ir.Name(text(node.child_by_field_name("type")), at)
            return (ir.ClassDef(name, (ir.Arg(written),), (ir.Name("type", at),), (), at),)
        case _:
            return ()


@contextmanager
def _bounded(context: Context, node: Node) -> Iterator[None]:
    """Within an item: its type parameters stand for the traits that they must have."""
    before = context.bounds
    context.bounds = {**before, **_bounds(node)}
    try:
        yield
    finally:
        context.bounds = before


def _bounds(node: Node) -> dict[str, str]:
    found: dict[str, str] = {}
    listed = node.child_by_field_name("type_parameters")
    where = next((child for child in node.children if child.type == "where_clause"), None)
    for one in (*(named(listed) if listed is not None else ()), *(named(where) if where is not None else ())):
        name = one.child_by_field_name("name") or one.child_by_field_name("left")
        bounds = one.child_by_field_name("bounds")
        traits = [part for part in named(bounds) if part.type in _TRAITS] if bounds is not None else []
        if name is not None and name.type == "type_identifier" and traits:
            found[text(name)] = path_text(traits[0])
    return found


_TRAITS = frozenset(("type_identifier", "scoped_type_identifier", "generic_type"))
_WORD = re.compile(r"\w+")


def _type_text(context: Context, node: Node | None) -> str:
    """A type as it is written, with a trait in place of a parameter that must have it."""
    if not context.bounds:
        return text(node)
    return _WORD.sub(lambda word: context.bounds.get(word[0], word[0]), text(node))


def _items(context: Context, body: Node) -> Iterator[ir.Stmt]:
    for child in named(body):
        yield from item(context, child)


def _class(node: Node, kind: str, body: ir.Body, at: int) -> ir.ClassDef:
    return ir.ClassDef(text(node.child_by_field_name("name")), (), (ir.Name(kind, at),), body, at)


def _fields(context: Context, node: Node) -> ir.Body:
    body = node.child_by_field_name("body")
    fields: list[ir.Stmt] = []
    if body is None:
        return ()
    if body.type == "ordered_field_declaration_list":
        types = [child for child in named(body) if child.type != "visibility_modifier"]
        pairs = [(str(index), child) for index, child in enumerate(types)]
    else:
        pairs = [
            (text(child.child_by_field_name("name")), child.child_by_field_name("type"))
            for child in named(body)
            if child.type == "field_declaration"
        ]
    for name, written in pairs:
        at = context.at(written)
        fields.append(ir.Assign((ir.Name(name, at),), ir.Name(_type_text(context, written), at), at))
    return tuple(fields)


def _variants(context: Context, node: Node) -> ir.Body:
    body = node.child_by_field_name("body")
    names = (
        [child.child_by_field_name("name") for child in named(body) if child.type == "enum_variant"]
        if body
        else []
    )
    return tuple(ir.Evaluate(ir.Name(text(name), context.at(name)), ir.NOWHERE) for name in names if name)


def _methods(context: Context, node: Node, at: int) -> ir.ClassDef:
    body = node.child_by_field_name("body")
    inside = tuple(_items(context, body)) if body is not None else ()
    if node.type == "trait_item":
        return _class(node, "trait", inside, at)
    trait = node.child_by_field_name("trait")
    bases = (ir.Arg(ir.Name(path_text(trait), at)),) if trait is not None else ()
    name = path_text(node.child_by_field_name("type"))
    return ir.ClassDef(name, bases, (ir.Name("impl", at),), inside, at)


def _function(context: Context, node: Node, at: int) -> ir.Function:
    from gradguard.lower.rust.statements import statements

    params, opening = parameters(context, node.child_by_field_name("parameters"))
    body: list[ir.Stmt] = list(opening)
    block = node.child_by_field_name("body")
    if block is not None:
        inside, value = statements(context, block)
        body.extend(inside)
        if value is not None:
            body.append(ir.Return(value, value.at))
    written = node.child_by_field_name("return_type")
    returns = ir.Name(_type_text(context, written), at) if written is not None else None
    name = text(node.child_by_field_name("name"))
    is_async = any(child.type == "async" for part in node.children for child in (part, *part.children))
    return ir.Function(name, params, tuple(body), (), is_async, False, at, returns)


def parameters(context: Context, node: Node | None) -> tuple[tuple[ir.Param, ...], ir.Body]:
    """The parameters of a function or closure, and the lets that take patterns among them apart."""
    params: list[ir.Param] = []
    opening: list[ir.Stmt] = []
    for child in _written(node):
        at = context.at(child)
        if child.type == "self_parameter":
            params.append(ir.Param("self", annotation=ir.Name("Self", at)))
            continue
        inner, annotation = child, None
        if child.type == "parameter":
            inner = child.child_by_field_name("pattern")
            annotation = ir.Name(_type_text(context, child.child_by_field_name("type")), at)
        target = pattern(context, inner)
        if isinstance(target, ir.Name):
            params.append(ir.Param(target.id, annotation=annotation))
            continue
        name = f"<{len(params)}>"
        params.append(ir.Param(name, annotation=annotation))
        opening.append(ir.Let(target, ir.Name(name, at), (), at))
    return tuple(params), tuple(opening)


def _written(node: Node | None) -> Iterator[Node]:
    if node is None:
        return
    for child in node.children:
        if child.type == "_" or (
            child.is_named and child.type not in ("line_comment", "block_comment", "attribute_item")
        ):
            yield child


def _uses(node: Node | None, head: tuple[str, ...], at: int) -> Iterator[ir.Import]:
    """The single imports of a use declaration; `head` are the path's segments so far."""
    if node is None:
        return
    match node.type:
        case "scoped_use_list":
            inner = (*head, *_segments(node.child_by_field_name("path")))
            yield from _uses(node.child_by_field_name("list"), inner, at)
        case "use_list":
            for child in named(node):
                yield from _uses(child, head, at)
        case "use_as_clause":
            path = (*head, *_segments(node.child_by_field_name("path")))
            yield _use(path, text(node.child_by_field_name("alias")), at)
        case "use_wildcard":
            inside = named(node)
            path = (*head, *(_segments(inside[0]) if inside else ()))
            yield ir.Import("::".join(path), "*", "*", 0, at)
        case "self":
            yield _use(head, head[-1] if head else "self", at)
        case _:
            path = (*head, *_segments(node))
            yield _use(path, path[-1] if path else "", at)


def _segments(node: Node | None) -> tuple[str, ...]:
    return tuple(part for part in path_text(node).split("::") if part)


def _use(path: tuple[str, ...], bound: str, at: int) -> ir.Import:
    return ir.Import("::".join(path[:-1]), path[-1] if path else "", bound, 0, at)
