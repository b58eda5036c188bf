"""What values were computed from: building their lineages, and the questions asked of them."""

from __future__ import annotations

from collections.abc import Iterable

from gradguard.infer.values import Lineage, Tensor, Track, Unknown

LESSENING = ("-", "sub", "subtract")
STATISTICS = frozenset(
    {
        "max",
        "min",
        "amax",
        "amin",
        "median",
        "nanmedian",
        "quantile",
        "nanquantile",
        "logsumexp",
        "nanmean",
        "nansum",
    }
)
"""Steps besides the linear ones that give a level of what goes in, as baselines are taken."""


def lineage_of(value: Tensor | Unknown) -> Lineage:
    """The lineage of a value; of one that was not computed, what it is itself."""
    if isinstance(value, Unknown):
        return Lineage(root=value.origin, opaque=value.made is not None)
    if value.lineage is not None:
        return value.lineage
    return Lineage(root=value.origin, trained=value.track is Track.LEAF)


def joined(a: Tensor, b: Tensor) -> Lineage:
    """The lineage of a value that is one or the other."""
    first, second = lineage_of(a), lineage_of(b)
    if first is second:
        return first
    return Lineage("either", ((first, 1), (second, 1)), linear=True)


def key_of(node: Lineage) -> int:
    """What makes two nodes the same one: roots are made anew for each use."""
    return -node.root if node.root else id(node)


Signed = dict[tuple[int, int], Lineage]


def summands(
    start: Lineage,
    sign: int = 1,
    stop: Iterable[Lineage] = (),
    *,
    statistics: bool = False,
    cuts: bool = True,
) -> Signed:
    """The nodes that go into a value linearly, each with its sign; `stop` are not looked into.

    With `statistics` levels of values count as linear, without `cuts` what lies behind a cut does not.
    """
    barred = {id(one) for one in stop}
    found: Signed = {}
    pending = [(start, sign)]
    while pending:
        node, sign = pending.pop()
        if (key_of(node), sign) in found:
            continue
        found[key_of(node), sign] = node
        if id(node) in barred or (node.cut and not cuts):
            continue
        if node.linear or (statistics and node.name in STATISTICS):
            pending.extend((parent, sign * factor) for parent, factor in node.parents)
    return found


def ancestors(starts: Iterable[Lineage], stop: Iterable[Lineage] = ()) -> dict[int, Lineage]:
    """All that values were computed from, by key, themselves included; `stop` are left out."""
    barred = {id(one) for one in stop}
    found: dict[int, Lineage] = {}
    pending = list(starts)
    while pending:
        node = pending.pop()
        if id(node) not in barred and key_of(node) not in found:
            found[key_of(node)] = node
            pending.extend(parent for parent, _ in node.parents)
    return found


def recipe(start: Lineage) -> int:
    """The same number for values computed in the same way with the same parameters, of whatever data."""
    known: dict[int, int] = {}
    pending = [start]
    while pending:
        node = pending[-1]
        waiting = [parent for parent, _ in node.parents if id(parent) not in known]
        if waiting and id(node) not in known:
            pending.extend(waiting)
            continue
        pending.pop()
        parts = tuple(known[id(parent)] for parent, _ in node.parents)
        if not parts:
            known[id(node)] = node.root if node.trained else 0
        else:
            known[id(node)] = hash((node.name, parts)) if any(parts) else 0
    return known[id(start)]
