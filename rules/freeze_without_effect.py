"""GRD401: a freeze that freezes nothing."""

from __future__ import annotations

from collections.abc import Iterator

from gradguard.infer.events import FlagMisplaced
from gradguard.judge.draft import Draft
from gradguard.rule import Rule

_MESSAGES = {
    "module": "`{subject}.requires_grad` is an attribute that nobody reads: the module's parameters keep their flag",
    "misspelt": "`{name}` is a new attribute: `requires_grad` of `{subject}` stays as it was",
    "uncalled": "`{subject}.requires_grad_` is named and not called",
    "overwritten": "`{subject}.requires_grad_` is a method: this overwrites it and sets no flag",
}
_HELP = {
    "module": "call `{subject}.requires_grad_(False)`",
    "misspelt": "did you mean `requires_grad`?",
    "uncalled": "call it: `{subject}.requires_grad_(False)`",
    "overwritten": "call it: `{subject}.requires_grad_(False)`",
}


def check(event: FlagMisplaced) -> Iterator[Draft]:
    """One draft for each fault that the event tells of."""
    words = {"subject": event.subject or "it", "name": event.name}
    yield Draft(event.site, _MESSAGES[event.how].format(**words), help=_HELP[event.how].format(**words))


RULE = Rule(
    "GRD401",
    "freeze-without-effect",
    "a flag set where it has no effect",
    listens=(FlagMisplaced,),
    check=check,
)
