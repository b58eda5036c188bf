"""The state of an abstract run: scopes and objects, facts, and the grad mode."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from gradguard.infer.modes import ON, Mode
from gradguard.infer.values import Alternatives, Tensor, Test, Track

Fields = dict[Hashable, Any]


class State:
    """What holds at a point of the program.

    `heap` maps an object's id to its fields; scopes are objects too. `facts` are conditions decided on this path.
    `changed` holds the present form of tensors that were changed in place, by origin. Copies share objects until
    one side writes.
    """

    __slots__ = ("changed", "facts", "heap", "mode", "owned")

    def __init__(
        self,
        heap: dict[int, Fields] | None = None,
        facts: dict[str, bool] | None = None,
        mode: Mode = ON,
        changed: dict[int, Tensor] | None = None,
    ) -> None:
        self.heap = heap if heap is not None else {}
        self.facts = facts if facts is not None else {}
        self.mode = mode
        self.changed = changed if changed is not None else {}
        self.owned: set[int] = set(self.heap)

    def fork(self) -> State:
        """An independent copy."""
        self.owned = set()
        copy = State(dict(self.heap), dict(self.facts), self.mode, dict(self.changed))
        copy.owned = set()
        return copy

    def become(self, other: State) -> None:
        """Take over everything from `other`, which must not be used any more."""
        self.heap, self.facts, self.mode = other.heap, other.facts, other.mode
        self.changed, self.owned = other.changed, other.owned

    def allocate(self, identity: int, fields: Fields | None = None) -> None:
        self.heap[identity] = fields if fields is not None else {}
        self.owned.add(identity)

    def fields(self, identity: int) -> Fields:
        """The fields of an object, for reading."""
        return self.heap.get(identity) or {}

    def read(self, identity: int, key: Hashable) -> Any:
        """A field's value, or None where there is none."""
        fields = self.heap.get(identity)
        return None if fields is None else fields.get(key)

    def write(self, identity: int, key: Hashable, value: Any) -> None:
        if identity not in self.owned:
            self.heap[identity] = dict(self.heap.get(identity) or {})
            self.owned.add(identity)
        self.heap[identity][key] = value

    def drop(self, identity: int, key: Hashable) -> None:
        if key in self.fields(identity):
            self.write(identity, key, None)
            self.heap[identity].pop(key, None)

    def resolve(self, value: Any) -> Any:
        """The present form of a value: alternatives and conditional tensors decided by the facts."""
        while isinstance(value, Alternatives):
            known = self.facts.get(value.key)
            if known is None:
                return value
            value = value.then if known else value.other
        if isinstance(value, Tensor):
            value = self.changed.get(value.origin, value)
            if value.when is not None and value.when.key in self.facts:
                from gradguard.infer.tensors import decided

                value = decided(value, self.facts[value.when.key] == value.when.truth)
        elif isinstance(value, Test) and value.key in self.facts:
            from gradguard.infer.values import Literal

            return Literal(self.facts[value.key] == value.truth)
        return value

    def change(self, before: Tensor, after: Tensor) -> None:
        """Record that the tensor `before` was changed in place into `after`, which keeps its origin."""
        self.changed[before.origin] = after


def is_untracked(value: Any) -> bool:
    return isinstance(value, Tensor) and value.track is Track.UNTRACKED
