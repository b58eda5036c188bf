"""Loading the framework tables and asking them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module, resources
from typing import Any

BUILT_IN = (
    "torch",
    "lightning",
    "accelerate",
    "deepspeed",
    "amp",
    "mmengine",
    "fastai",
    "pyro",
    "transformers",
    "paddle",
)

# section -> keys that hold lists of names; [guards] is a table of dotted names to effects instead
LISTS: dict[str, tuple[str, ...]] = {
    "queries": ("grad_enabled", "inference"),
    "backward": ("methods", "functions", "gradient", "receivers", "takers", "hooks"),
    "transforms": ("prefixes",),
    "leaves": ("constructors", "wrappers", "copies", "factories"),
    "cuts": ("methods", "attributes", "integers", "numbers", "plain", "plain_attributes"),
    "tensor": ("views", "view_attributes", "identities", "reductions", "linear", "saving"),
    "modules": (
        "base", "prefixes", "containers", "parameter_free", "losses", "factories", "factory_methods", "passing",
    ),
    "optimizers": ("prefixes", "bases", "schedulers"),
    "threads": ("constructors", "pools", "handing"),
    "misspelt": ("guards", "flags"),
    "assume": ("criteria", "loaders", "data", "models", "accessors"),
    "guarded": ("methods", "decorated"),
    "hooks": ("on", "off", "trainer_bases", "differentiated", "enabling"),
}  # fmt: skip
SCALARS = {"profile": str, "packages": list, "rebinds_in_place": bool, "followed": bool}
EFFECTS = ("off", "on", "inference", "set", "switch")


class FactsError(ValueError):
    """A framework table has an unknown key or a value of the wrong kind."""


@dataclass(frozen=True)
class Facts:
    """All tables merged. `lists["cuts.methods"]` is a frozenset of names; `guards` maps a dotted name to its effect.

    `unfollowed` are packages that the tables tell more of than their sources would: those are never followed.
    """

    guards: Mapping[str, str] = field(default_factory=dict)
    lists: Mapping[str, frozenset[str]] = field(default_factory=dict)
    prefixes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    packages: frozenset[str] = frozenset()
    profiles: Mapping[str, str] = field(default_factory=dict)
    rebinding: frozenset[str] = frozenset()
    unfollowed: frozenset[str] = frozenset()
    guards_roots: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    rust: tuple[tuple[str, Mapping[str, Any]], ...] = ()

    def has(self, table: str, name: str) -> bool:
        """Whether a table lists the name."""
        return name in self.lists[table]

    def starts(self, table: str, name: str) -> bool:
        """Whether `name` starts with one of the prefixes of the table."""
        return name.startswith(self.prefixes[table])

    def profile(self, package: str) -> str:
        """The runtime profile of a top-level package, torch where nothing else is said."""
        return self.profiles.get(package, "torch")


def read_table(name: str) -> dict[str, Any]:
    """The built-in table `name`."""
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    text = resources.files("gradguard.facts").joinpath(f"{name}.toml").read_text("utf-8")
    return dict(toml.loads(text))


def check_table(name: str, table: Mapping[str, Any]) -> None:
    """Raise FactsError, naming the nearest right key, unless every key of a framework table is known."""
    if table.get("language") == "rust":
        from gradguard.facts.crates import LISTS as lists
        from gradguard.facts.crates import SCALARS as scalars
    else:
        lists, scalars = LISTS, SCALARS
    known = [*scalars, "guards", *lists]
    for key, value in table.items():
        if key not in known:
            raise FactsError(_unknown(f"frameworks.{name}.{key}", key, known))
        if key in scalars:
            if not isinstance(value, scalars[key]):
                raise FactsError(f"`frameworks.{name}.{key}` must be a {scalars[key].__name__}")
        elif not isinstance(value, Mapping):
            raise FactsError(f"`frameworks.{name}.{key}` must be a table")
        elif key == "guards" and "guards" not in lists:
            for guard, effect in value.items():
                if effect not in EFFECTS:
                    raise FactsError(
                        f"`frameworks.{name}.guards.{guard}` must be one of {', '.join(EFFECTS)}"
                    )
        else:
            for inner, names in value.items():
                if inner not in lists[key]:
                    raise FactsError(_unknown(f"frameworks.{name}.{key}.{inner}", inner, lists[key]))
                if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
                    raise FactsError(f"`frameworks.{name}.{key}.{inner}` must be a list of names")


def _unknown(path: str, key: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, list(known), 1, 0.5)
    return f"unknown key `{path}`" + (f", did you mean `{near[0]}`?" if near else "")


def merge(tables: Iterable[Mapping[str, Any]]) -> Facts:
    """One Facts of all tables, later ones adding to earlier ones."""
    guards: dict[str, str] = {}
    lists: dict[str, set[str]] = {
        f"{section}.{key}": set() for section, keys in LISTS.items() for key in keys
    }
    packages: set[str] = set()
    profiles: dict[str, str] = {}
    rebinding: set[str] = set()
    unfollowed: set[str] = set()
    for table in tables:
        guards.update(table.get("guards", {}))
        names = table.get("packages", [])
        packages.update(names)
        profiles.update(dict.fromkeys(names, table.get("profile", "torch")))
        if table.get("rebinds_in_place"):
            rebinding.update(names)
        if table.get("followed") is False:
            unfollowed.update(names)
        for section, keys in LISTS.items():
            for key in keys:
                lists[f"{section}.{key}"].update(table.get(section, {}).get(key, ()))
    frozen = {name: frozenset(values) for name, values in lists.items()}
    roots = frozenset(guard.split(".", 1)[0] for guard in guards)
    prefixes = {name: tuple(sorted(values)) for name, values in frozen.items()}
    return Facts(
        guards,
        frozen,
        prefixes,
        frozenset(packages),
        profiles,
        frozenset(rebinding),
        frozenset(unfollowed),
        roots,
    )


@lru_cache(maxsize=1)
def _built_in() -> tuple[dict[str, Any], ...]:
    return tuple(read_table(name) for name in BUILT_IN)


def load(extra: Mapping[str, Any] | None = None) -> Facts:
    """The built-in tables, and the user's own `[tool.gradguard.frameworks.NAME]` tables on top.

    Raises FactsError for an unknown key.
    """
    extra = extra or {}
    for name, table in extra.items():
        if not isinstance(table, Mapping):
            raise FactsError(f"`frameworks.{name}` must be a table")
        check_table(name, table)
    rust = tuple((name, table) for name, table in extra.items() if table.get("language") == "rust")
    python = [table for table in extra.values() if table.get("language") != "rust"]
    return replace(merge((*_built_in(), *python)), rust=rust, words=_words(python))


def _words(tables: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """The names that a user's tables give to guards and to what asks for a gradient."""
    names = [name for table in tables for name in table.get("guards", {})]
    for table in tables:
        for listed in table.get("backward", {}).values():
            names.extend(listed)
    return frozenset(name.rpartition(".")[2] for name in names)
