"""Modules of a crate: what makes one, and what running one gives."""

from __future__ import annotations

from typing import Any

from gradguard.facts.crates import Crate
from gradguard.infer.rust import operations, places
from gradguard.infer.rust.session import RustFrame
from gradguard.infer.rust.types import NO_TYPE, parse_type, unwrapped
from gradguard.infer.sites import Site
from gradguard.infer.state import State
from gradguard.infer.values import Closure, Instance, Literal, Unknown
from gradguard.ir import nodes as ir


def method(
    frame: RustFrame, state: State, crate: Crate, receiver: Any, name: str, args: list[Any], site: Site
) -> Any:
    """A method that runs a module, makes one of its configuration or goes on building one; None where it is
    none of these."""
    kind = places.type_of(frame, receiver).name
    if crate.has("modules.runs", name) and args and _may_run(frame, crate, receiver, kind, name, args):
        return run(frame, state, crate, kind, args, name, site)
    if crate.has("modules.applies", name) and args and _is_module(frame, crate, args[0]):
        applied = places.type_of(frame, args[0]).name
        return run(frame, state, crate, applied, [receiver, *args[1:]], name, site)
    if crate.has("modules.builds", name) and is_kind(crate, kind):
        return _built(frame, state, kind, receiver, args, site)
    if crate.has("modules.inits", name) and crate.has("types.config", kind):
        return Unknown(frame.run.fresh(), name, kind.removesuffix("Config"))
    if crate.has("types.config", kind) and name.startswith("with_"):
        return receiver
    return None


def made(frame: RustFrame, crate: Crate, parts: list[str]) -> Any:
    """What a function of the crate makes, if it makes a module; else None."""
    if "::".join(parts[-2:]) not in crate.lists["modules.makers"]:
        return None
    return Unknown(frame.run.fresh(), parts[-1], min(crate.lists["types.module"]))


def is_kind(crate: Crate, name: str) -> bool:
    """Whether a type is one of the crate's modules."""
    return crate.has("types.module", name) or crate.has("types.stateless", name)


def run(
    frame: RustFrame, state: State, crate: Crate, kind: str, operands: list[Any], name: str, site: Site
) -> Any:
    """The result of a module's forward: of its operands and, unless it has none, its parameters."""
    found = operations.tensors_in(frame, state, operands)
    if not crate.has("types.stateless", kind) or not found:
        found.append(frame.run.unknown("parameters"))
    return operations.result_of(frame, state, found, name, site)


def _may_run(frame: RustFrame, crate: Crate, receiver: Any, kind: str, name: str, args: list[Any]) -> bool:
    """Whether a call of forward gives a tensor: a module's does, and one that is given tensors."""
    if is_kind(crate, kind):
        return True
    if not isinstance(receiver, Unknown | Instance) or any(isinstance(one, Literal) for one in args[:1]):
        return False
    info = places.info_of(frame, receiver)
    declared = info.methods.get(name) if info is not None else None
    if declared is not None:
        written = parse_type(declared.returns.id) if isinstance(declared.returns, ir.Name) else NO_TYPE
        return crate.has("types.tensor", unwrapped(written).name)
    if info is not None or (not kind and _defined_otherwise(frame, crate, name)):
        return False
    return any(operations.is_tensor(frame, one) for one in args) or (
        not kind and operations.is_opaque(args[0])
    )


def _defined_otherwise(frame: RustFrame, crate: Crate, name: str) -> bool:
    """Whether the tree has a method of that name which no trait of the crate's asks for."""
    return frame.session.spaces.defines_method(name, besides=crate.lists["types.module"])


def _is_module(frame: RustFrame, crate: Crate, value: Any) -> bool:
    kind = places.type_of(frame, value).name
    if is_kind(crate, kind):
        return True
    info = places.info_of(frame, value)
    return info is not None and bool(info.traits & crate.lists["types.module"])


def _built(frame: RustFrame, state: State, kind: str, receiver: Any, args: list[Any], site: Site) -> Any:
    from gradguard.infer.rust.calls import foreign

    foreign(frame, state, [one for one in args if isinstance(one, Closure)], site)
    return receiver
