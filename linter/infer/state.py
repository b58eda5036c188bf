"""The state of an abstract run: scopes and objects, facts, and the grad mode."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from gradguard.infer.modes import ON, Mode
from gradguard.infer.values import Alternatives, Tensor, Test, Track

Fields = dict[Hashable, Any]


DEEPEST = 8


class Layer:
    """The objects written since a fork, on top of what was there before. A layer is not changed once a fork has
    put others on top of it. `highest` is the highest id allocated in it or below."""

    __slots__ = ("below", "depth", "entries", "highest")

    def __init__(self, entries: dict[int, Fields], below: Layer | None) -> None:
        """A layer of these objects over another."""
        self.entries = entries
        self.below = below
        self.depth: int = below.depth + 1 if below is not None else 0
        self.highest: int = below.highest if below is not None else 0

    def find(self, identity: int) -> Fields | None:
        """The fields of an object, from the highest layer that has it."""
        layer: Layer | None = self
        while layer is not None:
            found = layer.entries.get(identity)
            if found is not None:
                return found
            layer = layer.below
        return None

    def on_top(self) -> Layer:
        """A new, empty layer over this one; deep piles are pressed into one layer over the lowest."""
        if not self.entries and self.below is not None:
            return Layer({}, self.below)
        if self.depth < DEEPEST:
            return Layer({}, self)
        pile: list[Layer] = []
        layer: Layer = self
        while layer.below is not None:
            pile.append(layer)
            layer = layer.below
        pressed: dict[int, Fields] = {}
        for one in reversed(pile):
            pressed.update(one.entries)
        below = Layer(pressed, layer)
        below.highest = self.highest
        return Layer({}, below)


class State:
    """What holds at a point of the program.

    The heap maps an object's id to its fields, in layers; scopes are objects too. `facts` are conditions decided
    on this path. `changed` holds the present form of tensors that were changed in place, by origin. Copies share
    objects until one side writes.
    """

    __slots__ = ("changed", "facts", "layer", "mode", "owned")

    def __init__(
        self,
        layer: Layer | None = None,
        facts: dict[str, bool] | None = None,
        mode: Mode = ON,
        changed: dict[int, Tensor] | None = None,
    ) -> None:
        """An empty state unless told otherwise."""
        self.layer = layer if layer is not None else Layer({}, None)
        self.facts = facts if facts is not None else {}
        self.mode = mode
        self.changed = changed if changed is not None else {}
        self.owned: set[int] = set()

    def fork(self) -> State:
        """An independent copy."""
        self.owned = set()
        copy = State(self.layer.on_top(), dict(self.facts), self.mode, dict(self.changed))
        self.layer = self.layer.on_top()
        return copy

    def become(self, other: State) -> None:
        """Take over everything from `other`, which must not be used any more."""
        self.layer, self.facts, self.mode = other.layer, other.facts, other.mode
        self.changed, self.owned = other.changed, other.owned

    def has(self, identity: int) -> bool:
        """Whether an object is in the heap."""
        return self.layer.find(identity) is not None

    def allocate(self, identity: int, fields: Fields | None = None) -> None:
        """Put a new object into the heap."""
        self.layer.entries[identity] = fields if fields is not None else {}
        if identity > self.layer.highest:
            self.layer.highest = identity
        self.owned.add(identity)

    def fields(self, identity: int) -> Fields:
        """The fields of an object, for reading."""
        return self.layer.find(identity) or {}

    def read(self, identity: int, key: Hashable) -> Any:
        """A field's value, or None where there is none."""
        fields = self.layer.find(identity)
        return None if fields is None else fields.get(key)

    def write(self, identity: int, key: Hashable, value: Any) -> None:
        """Set a field; an object shared with other states is copied first."""
        if identity not in self.owned:
            self.layer.entries[identity] = dict(self.layer.find(identity) or {})
            self.owned.add(identity)
        self.layer.entries[identity][key] = value

    def drop(self, identity: int, key: Hashable) -> None:
        """Remove a field."""
        if key in self.fields(identity):
            self.write(identity, key, None)
            self.layer.entries[identity].pop(key, None)

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
    """Whether a value is a tensor without a graph."""
    return isinstance(value, Tensor) and value.track is Track.UNTRACKED


def parted(a: State, b: State) -> tuple[Layer | None, dict[int, Fields], dict[int, Fields]]:
    """The layer that two states have in common, and what each wrote since."""
    mine: set[int] = set()
    layer: Layer | None = a.layer
    while layer is not None:
        mine.add(id(layer))
        layer = layer.below
    common: Layer | None = b.layer
    while common is not None and id(common) not in mine:
        common = common.below
    return common, _written(a.layer, common), _written(b.layer, common)


def _written(layer: Layer | None, common: Layer | None) -> dict[int, Fields]:
    pile: list[Layer] = []
    while layer is not None and layer is not common:
        pile.append(layer)
        layer = layer.below
    if len(pile) == 1:
        return pile[0].entries
    written: dict[int, Fields] = {}
    for one in reversed(pile):
        written.update(one.entries)
    return written
