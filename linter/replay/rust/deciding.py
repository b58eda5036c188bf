"""What the replay does where nobody knows which way the program goes."""

from __future__ import annotations

from collections.abc import Sequence

from gradguard.ir import nodes as ir
from gradguard.ir.walk import walk
from gradguard.replay.rust.session import Frame
from gradguard.replay.rust.values import Wild, opened
from gradguard.replay.value import Value

_LEAVING = frozenset(("panic!", "bail!", "unreachable!", "todo!"))


def truth(frame: Frame, value: Value, then: Value = (), other: Value = ()) -> bool:
    """Whether a test holds; `then` and `other` are the code on either side. An unknown one keeps its answer."""
    value = opened(value)
    if not isinstance(value, Wild):
        return bool(value)
    known = answer(value)
    if known is None:
        known = choose(frame, [then, other]) == 0
        settle(value, known)
    return known


def answer(value: Value) -> bool | None:
    """What is known of an unknown test by now."""
    value = opened(value)
    if not isinstance(value, Wild):
        return bool(value)
    fields = value.fields
    if "<truth>" in fields:
        return bool(fields["<truth>"])
    if "<not>" in fields:
        inner = answer(fields["<not>"])
        return None if inner is None else not inner
    if "<of>" in fields:
        return is_known_as(fields["<of>"], fields["<key>"])
    for op, decisive in (("<and>", False), ("<or>", True)):
        if op in fields:
            parts = [answer(part) for part in fields[op]]
            return decisive if decisive in parts else None if None in parts else not decisive
    return None


def settle(value: Value, holds: bool) -> None:
    """An unknown test was answered: what follows from it for its parts."""
    value = opened(value)
    if not isinstance(value, Wild):
        return
    fields = value.fields
    fields["<truth>"] = holds
    if "<not>" in fields:
        settle(fields["<not>"], not holds)
    elif "<of>" in fields:
        note_variant(fields["<of>"], fields["<key>"], holds=holds)
    elif ("<and>" in fields and holds) or ("<or>" in fields and not holds):
        for part in fields.get("<and>") or fields["<or>"]:
            settle(part, holds)


def is_known_as(value: Value, key: Value) -> bool | None:
    """Whether an unknown value is a constant or variant, as far as the run has settled it."""
    value = opened(value)
    if not isinstance(value, Wild):
        return None
    if "<is>" in value.fields:
        return bool(value.fields["<is>"] == key)
    return False if key in value.fields.get("<is not>", ()) else None


def note_variant(value: Value, key: Value, *, holds: bool) -> None:
    """An unknown value was found to be a constant or variant, or not to be."""
    value = opened(value)
    if not isinstance(value, Wild):
        return
    if holds:
        value.fields["<is>"] = key
    else:
        value.fields.setdefault("<is not>", set()).add(key)


def choose(frame: Frame, ways: Sequence[Value]) -> int:
    """Which of several ways to take when all are possible: the one that leads to what the run is about."""
    session = frame.session
    session.trace.chose = True
    session.invent()
    leading = [index for index, way in enumerate(ways) if leads(frame, way)]
    if leading and len(leading) < len(ways):
        return leading[0]
    leaving = [index for index, way in enumerate(ways) if diverges(way)]
    if leaving and len(leaving) < len(ways):
        staying = [index for index in range(len(ways)) if index not in leaving]
        if any(site not in session.reached for site in session.goals):
            return staying[0] if session.policy.truth else staying[-1]
        return leaving[0]
    return 0 if session.policy.truth else len(ways) - 1


def leads(frame: Frame, tree: Value) -> bool:
    """Whether some code holds a place that the run is about and has not come by yet."""
    session = frame.session
    key = (id(tree), frame.module)
    found = session.contains.get(key)
    if found is None:
        goals = {site.at for site in session.goals if site.module == frame.module}
        session.kept.append(tree)
        found = frozenset(node.at for node in walk(tree) if getattr(node, "at", ir.NOWHERE) in goals)
        session.contains[key] = found
    return any(frame.site(at) not in session.reached for at in found)


def diverges(tree: Value) -> bool:
    """Whether some code ends in a jump."""
    match tree:
        case (*_, last):
            return diverges(last)
        case ir.Evaluate(value=value):
            return diverges(value)
        case ir.Scope(body=body, value=value):
            return diverges(value) if value is not None else diverges(body)
        case ir.Break() | ir.Continue() | ir.Return():
            return True
        case ir.Call(func=ir.Name(id=name)):
            return name in _LEAVING or name == "Err"
        case _:
            return False
