"""GRD401: a freeze that freezes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import FlagMisplaced
from gradguard.judge.draft import Draft
from gradguard.rule import Rule

_MESSAGES = {
    "module": "`{attribute}` is an attribute that nobody reads: the module's parameters keep their flag",
    "misspelt": "`{name}` is a new attribute: `{flag}` stays as it was",
    "uncalled": "`{attribute}` is named and not called",
    "overwritten": "`{attribute}` is a method: this overwrites it and sets no flag",
}
_HELP = {
    "module": "call `{flag}_(False)`",
    "misspelt": "did you mean `requires_grad`?",
    "uncalled": "call it: `{flag}_(False)`",
    "overwritten": "call it: `{flag}_(False)`",
}


def check(event: FlagMisplaced) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    of = f"{event.subject}." if event.subject else ""
    words = {"name": event.name, "attribute": of + event.name, "flag": f"{of}requires_grad"}
    yield Draft(event.site, _MESSAGES[event.how].format(**words), help=_HELP[event.how].format(**words))


RULE = Rule(
    "GRD401",
    "freeze-without-effect",
    "a flag set where it has no effect",
    listens=(FlagMisplaced,),
    check=check,
)
