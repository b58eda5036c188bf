"""GRD301: a guard that is made and guards nothing."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import GuardUnused
from gradguard.judge.draft import Draft
from gradguard.rule import Rule

_MESSAGES = {
    "statement": "`{guard}` is made and dropped at once, so recording stays as it was",
    "unread": "`{guard}` is bound to `{subject}` and never entered, so recording stays as it was",
    "class": "`{guard}` on the class `{subject}` guards only its construction, not its methods",
    "manager": "`{guard}` above the context manager `{subject}` guards nothing inside its with block",
    "and": "`and` drops `{guard}` here: only the last context manager is entered",
    "dropped": "`{guard}` is dropped at once, so recording stays as it was",
}
_HELP = {
    "statement": "write `with {guard}():` around the code, or put it on the function as a decorator",
    "unread": "enter it: `with {subject}:`",
    "class": "put the guard on the methods that need it",
    "manager": "put `with {guard}():` around the `yield`",
    "and": "separate the context managers with a comma",
    "dropped": "bind it to a name: `let _guard = ...`",
}


def check(event: GuardUnused) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    words = {"guard": event.guard.name, "subject": event.subject}
    yield Draft(event.site, _MESSAGES[event.how].format(**words), help=_HELP[event.how].format(**words))


RULE = Rule(
    "GRD301",
    "guard-without-effect",
    "a guard that is made and guards nothing",
    listens=(GuardUnused,),
    check=check,
)
