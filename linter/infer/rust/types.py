"""Rust types, as far as they are written down."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from gradguard.frozen import dataclass

_TOKEN = re.compile(r"'\w+|[A-Za-z_][\w:]*|->|[<>()\[\],;&*+=?]|\d+")
_POINTERS = frozenset(
    [
        "Arc",
        "Rc",
        "Box",
        "RefCell",
        "Cell",
        "Mutex",
        "RwLock",
        "Cow",
        "MutexGuard",
        "Ref",
        "RefMut",
        "AsRef",
        "Borrow",
        "Deref",
        "Into",
    ]
)
_SEQUENCES = frozenset(["Vec", "VecDeque", "HashSet", "BTreeSet", "SmallVec"])
MAPS = frozenset(["HashMap", "BTreeMap", "IndexMap", "FxHashMap", "AHashMap"])
_SKIPPED = frozenset(["&", "*", "mut", "dyn", "impl", "const", "ref"])


@dataclass(frozen=True, slots=True)
class Type:
    """`name` is the last segment of the path, `[]` for all sequences, `()` for tuples; pointers are left
    out."""

    name: str
    args: tuple[Type, ...] = ()
    path: str = ""


NO_TYPE = Type("")


@lru_cache(maxsize=2048)
def parse_type(written: str) -> Type:
    """The type that a text tells; NO_TYPE where it cannot be read."""
    tokens = [
        token for token in _TOKEN.findall(written) if not token.startswith("'") and token not in _SKIPPED
    ]
    try:
        found, _ = _read(tokens, 0)
    except (IndexError, RecursionError):
        return NO_TYPE
    return found


def _read(tokens: list[str], at: int) -> tuple[Type, int]:
    head = tokens[at]
    if head in "([":
        return _bracketed(tokens, at)
    if not (head[0].isalpha() or head[0] == "_"):
        return NO_TYPE, at + 1
    at += 1
    args: list[Type] = []
    path = head.removesuffix("::")
    if at < len(tokens) and tokens[at] == "<":
        args, at = _until(tokens, at + 1, ">")
    elif at < len(tokens) and tokens[at] == "(" and head in ("Fn", "FnMut", "FnOnce"):
        _, at = _until(tokens, at + 1, ")")
        return Type("Fn"), at
    name = path.rsplit("::", 1)[-1]
    if name in _POINTERS and args:
        return args[0], at
    if name in _SEQUENCES and args:
        return Type("[]", (args[0],)), at
    if name.endswith("Iterator") and args:
        return Type("[]", (args[-1],)), at
    if len(name) == 1 and name.isupper():
        return Type("", args=()), at
    return Type(name, tuple(args), path), at


def _bracketed(tokens: list[str], at: int) -> tuple[Type, int]:
    if tokens[at] == "[":
        args, at = _until(tokens, at + 1, "]")
        return Type("[]", tuple(args[:1])), at
    args, at = _until(tokens, at + 1, ")")
    return (args[0] if len(args) == 1 else Type("()", tuple(args))), at


def _until(tokens: list[str], at: int, end: str) -> tuple[list[Type], int]:
    found: list[Type] = []
    while tokens[at] != end:
        if tokens[at] in ",;+=?->":
            at += 1
            continue
        one, at = _read(tokens, at)
        found.append(one)
    return found, at + 1


def written(kind: Type) -> str:
    """A type as a text that `parse_type` reads."""
    if kind.name == "[]":
        return f"[{', '.join(map(written, kind.args))}]"
    if kind.name == "()":
        return f"({', '.join(map(written, kind.args))})"
    inside = f"<{', '.join(map(written, kind.args))}>" if kind.args else ""
    return f"{kind.path or kind.name}{inside}"


def unwrapped(kind: Type) -> Type:
    """The type inside a `Result`; an `Option` keeps its own."""
    while kind.name == "Result" and kind.args:
        kind = kind.args[0]
    return kind


def with_self(kind: Type, owner: str) -> Type:
    """The type with `owner` for `Self`, as it is outside of the implementation."""
    if kind.name == "Self":
        return Type(owner, kind.args, owner)
    return replace(kind, args=tuple(with_self(one, owner) for one in kind.args)) if kind.args else kind
