"""Classes and their bases."""

from __future__ import annotations

from typing import Any

from gradguard.infer.frames import Frame
from gradguard.infer.state import State
from gradguard.infer.values import Instance, Klass, Known

MODULE_METHODS = frozenset(
    [
        "parameters",
        "named_parameters",
        "modules",
        "named_modules",
        "children",
        "named_children",
        "train",
        "eval",
        "to",
        "cuda",
        "cpu",
        "half",
        "float",
        "double",
        "bfloat16",
        "requires_grad_",
        "state_dict",
        "load_state_dict",
        "zero_grad",
        "register_buffer",
        "register_parameter",
        "add_module",
        "apply",
        "register_forward_hook",
        "register_forward_pre_hook",
        "register_full_backward_hook",
        "register_backward_hook",
        "share_memory",
        "type",
        "get_submodule",
        "get_parameter",
        "buffers",
        "named_buffers",
        "extend",
        "append",
        "compile",
        "__call__",
    ]
)
_CONTAINER_BASES = ("builtins.list", "builtins.dict", "builtins.tuple", "collections.deque", "builtins.set")


def lineage(klass: Any, depth: int = 0) -> list[Any]:
    """The class and its bases, nearest first (depth first, left to right)."""
    found = [klass]
    if isinstance(klass, Klass) and depth < 8:
        for base in klass.bases:
            for one in lineage(base, depth + 1):
                if one in found:
                    found.remove(one)
                found.append(one)
    return found


def outside_bases(klass: Any) -> list[str]:
    """The dotted names of the bases that are not in the tree, nearest first."""
    return [one.path for one in lineage(klass) if isinstance(one, Known)]


def is_module(frame: Frame, instance: Any) -> bool:
    """Whether an object is a neural network module."""
    if not isinstance(instance, Instance):
        return False
    facts = frame.run.facts
    for path in outside_bases(instance.klass):
        last = path.rsplit(".", 1)[-1]
        if facts.has("modules.base", path) or (facts.starts("modules.prefixes", path) and last[:1].isupper()):
            return True
    return False


def is_optimizer(frame: Frame, klass: Any) -> bool:
    """Whether a class is one of the framework's optimizers or derives from their base class."""
    facts = frame.run.facts
    return any(
        facts.has("optimizers.bases", path) or facts.starts("optimizers.prefixes", path)
        for path in outside_bases(klass)
    )


def member(frame: Frame, state: State, klass: Any, name: str, after: Any = None) -> Any:
    """A class attribute along the lineage (behind `after` for super), None where there is none."""
    line = lineage(klass)
    if after is not None and after in line:
        line = line[line.index(after) + 1 :]
    for one in line:
        if isinstance(one, Klass):
            value = state.read(one.id, name)
            if value is not None:
                return state.resolve(value)
    return None


def has_container(base: Instance) -> bool:
    """Whether an object is a container of the standard library by one of its bases."""
    return any(path in _CONTAINER_BASES for path in outside_bases(base.klass))
