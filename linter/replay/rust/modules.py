"""Modules of a crate on the embedded runtime: one that is not shown mixes its operands with a parameter."""

from __future__ import annotations

from gradguard.facts.crates import Crate
from gradguard.infer.rust.modules import is_kind
from gradguard.infer.rust.types import Type
from gradguard.replay.rust import tensors
from gradguard.replay.rust.known import MISSING
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import Wild, opened
from gradguard.replay.value import Value
from gradguard.runtime.tenferro import EagerTensor


def method(frame: Frame, crate: Crate, receiver: Value, name: str, args: list[Value]) -> Value:
    """A method that runs a module, makes one of its configuration or goes on building one; MISSING where it is
    none of these."""
    given = opened(args[0]) if args else None
    applied = given if crate.has("modules.applies", name) and _is_module(crate, given) else None
    if isinstance(receiver, EagerTensor) and isinstance(applied, Wild):
        return run(frame, crate, applied, [receiver, *args[1:]], name)
    if not isinstance(receiver, Wild):
        return MISSING
    kind = receiver.kind.name
    if crate.has("modules.runs", name) and args and (is_kind(crate, kind) or _is_given_tensors(args)):
        return run(frame, crate, receiver, args, name)
    if isinstance(applied, Wild):
        return run(frame, crate, applied, args[1:], name)
    if crate.has("modules.builds", name) and is_kind(crate, kind):
        return receiver
    if crate.has("modules.inits", name) and crate.has("types.config", kind):
        return Wild(name, Type(kind.removesuffix("Config")))
    if crate.has("types.config", kind) and name.startswith("with_"):
        return receiver
    return MISSING


def run(frame: Frame, crate: Crate, module: Wild, args: list[Value], name: str) -> Value:
    """What the module's forward gives: a value of its operands and, unless it has none, of a parameter."""
    from gradguard.replay.rust.crates import tensor_in

    found: list[Value] = [one for value in args for one in tensors.operands_in(value)]
    if not crate.has("types.stateless", module.kind.name) or not found:
        found.append(tensor_in(frame, module))
    frame.session.invent()
    label = "loss" if module.kind.name.endswith("Loss") else name
    return tensors.operate(frame.session, label, found)


def made(frame: Frame, crate: Crate, parts: list[str]) -> Value:
    """What a function of the crate makes, if it makes a module or its configuration; else MISSING."""
    if crate.has("modules.makers", "::".join(parts[-2:])):
        return Wild(parts[-1], Type(min(crate.lists["types.module"])))
    kind = parts[-2]
    if is_kind(crate, kind) or crate.has("types.config", kind):
        return Wild(parts[-1], Type(kind))
    return MISSING


def _is_module(crate: Crate, value: Value) -> bool:
    return isinstance(value, Wild) and is_kind(crate, value.kind.name)


def _is_given_tensors(args: list[Value]) -> bool:
    return any(tensors.operands_in(one) for one in args)
