"""What `copy.copy` and `copy.deepcopy` make of objects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gradguard.infer.frames import Frame
from gradguard.infer.state import State
from gradguard.infer.values import Dict, Instance, List, Tensor, Tuple


def copied(frame: Frame, state: State, value: Any) -> Any:
    """An object with the same fields; anything else is its own copy."""
    value = state.resolve(value)
    if isinstance(value, Instance):
        return Instance(_allocated(frame, state, value.id), value.klass, value.args)
    return value


def deeply_copied(frame: Frame, state: State, value: Any) -> Any:
    """The same with copies of all that the fields hold."""
    return _deeply(frame, state, value, {})


def _deeply(frame: Frame, state: State, value: Any, made: dict[int, Any]) -> Any:
    value = state.resolve(value)
    match value:
        case Tuple(items=items):
            return Tuple(tuple([_deeply(frame, state, item, made) for item in items]))
        case Tensor():
            inference = value.inference if state.mode.inference else None
            return replace(value, origin=frame.run.fresh(), inference=inference)
        case Instance() | List() | Dict():
            if value.id not in made:
                made[value.id] = replace(value, id=_allocated(frame, state, value.id))
                for key, field in list(state.fields(made[value.id].id).items()):
                    state.write(made[value.id].id, key, _deeply(frame, state, field, made))
            return made[value.id]
        case _:
            return value


def _allocated(frame: Frame, state: State, identity: int) -> int:
    """A new object with the fields of another. A copy of an inference tensor is an ordinary one."""
    copy = frame.run.fresh()
    state.allocate(copy, {key: field for key, field in state.fields(identity).items() if key != "#inference"})
    return copy
