"""Rust crates that differentiate, as tables of their own: a method's name means something only in a file that
uses the crate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

BUILT_IN = ("tenferro", "tch", "candle", "burn")

# section -> keys that hold lists of names; functions are told as `Type::function` or by their whole path
LISTS: dict[str, tuple[str, ...]] = {
    "types": (
        "tensor",
        "leaf",
        "runtime",
        "session",
        "guard",
        "table",
        "plain",
        "module",
        "stateless",
        "config",
    ),
    "guards": ("methods", "functions", "closures", "enabling"),
    "leaves": ("methods", "functions", "markers"),
    "constants": ("methods", "functions"),
    "sessions": ("methods",),
    "queries": ("methods",),
    "cuts": ("methods",),
    "modules": ("runs", "applies", "makers", "builds", "inits"),
    "tensor": ("plain", "identities", "whole"),
    "backward": ("methods", "takers"),
    "assume": ("data",),
    "gradient": ("reads", "lookups", "layers"),
}
SCALARS = {"language": str, "profile": str, "packages": list, "unchecked": bool}


@dataclass(frozen=True, eq=False)
class Crate:
    """One crate. `packages` are the names its paths start with; `unchecked`: backward answers with a table,
    and says nothing of an untracked value."""

    name: str
    packages: frozenset[str]
    profile: str
    unchecked: bool
    lists: Mapping[str, frozenset[str]] = field(default_factory=dict)
    layers: tuple[str, ...] = ()

    def has(self, table: str, name: str) -> bool:
        """Whether `name` is in the list `table`, such as `cuts.methods`."""
        return name in self.lists[table]

    def owns(self, root: str) -> bool:
        """Whether a path that starts with `root` leads into the crate."""
        return root in self.packages


def crate_of(name: str, table: Mapping[str, Any]) -> Crate:
    """The crate that a checked table tells of."""
    lists = {
        f"{section}.{key}": frozenset(table.get(section, {}).get(key, ()))
        for section, keys in LISTS.items()
        for key in keys
    }
    return Crate(
        name,
        frozenset(table.get("packages", ())),
        table.get("profile", name),
        bool(table.get("unchecked", False)),
        lists,
        tuple(table.get("gradient", {}).get("layers", ())),
    )


@lru_cache(maxsize=1)
def _built_in() -> tuple[Crate, ...]:
    from gradguard.facts.tables import read_table

    return tuple(crate_of(name, read_table(name)) for name in BUILT_IN)


def load_crates(extra: Iterable[tuple[str, Mapping[str, Any]]] = ()) -> tuple[Crate, ...]:
    """The built-in crates and the user's own."""
    return (*_built_in(), *(crate_of(name, table) for name, table in extra))
