"""Turning events into findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gradguard.findings import Finding, WitnessStep
from gradguard.infer.events import Event, UpdateSkips
from gradguard.infer.sites import Root
from gradguard.judge.draft import Draft, distinct
from gradguard.rule import Rule

if TYPE_CHECKING:
    from gradguard.lower.module import Module


@dataclass(frozen=True, slots=True)
class Judged:
    """A finding with what it was made from: the rule's draft, the event, and the root in which it was seen."""

    finding: Finding
    draft: Draft
    event: Event
    root: Root


def judge(
    events: Iterable[tuple[Event, Root]],
    modules: Mapping[str, Module],
    checked: Set[str],
    rules: tuple[Rule, ...],
    settings: Any,
) -> list[Judged]:
    """The findings of the events that lie in a checked file, one for each rule and place."""
    listeners: dict[type, list[Rule]] = {}
    for rule in rules:
        for kind in rule.listens:
            listeners.setdefault(kind, []).append(rule)
    drafts: dict[tuple[str, Any], tuple[Rule, Draft, Event, Root]] = {}
    for event, root in events:
        if isinstance(event, UpdateSkips) and event.in_optimizer and settings.optimizer_subclasses != "check":
            continue
        for rule in listeners.get(type(event), ()):
            if rule.check is None:
                continue
            for draft in rule.check(event):
                key = (rule.code, draft.site)
                kept = drafts.get(key)
                if kept is None or (kept[1].assumed and not draft.assumed):
                    drafts[key] = (rule, draft, event, root)
    return [
        Judged(found, draft, event, root)
        for rule, draft, event, root in drafts.values()
        if draft.site.module in checked and (found := finding(rule, draft, modules)) is not None
    ]


def finding(rule: Rule, draft: Draft, modules: Mapping[str, Module]) -> Finding | None:
    """The finding of a draft: its places told as positions."""
    if draft.site.at < 0:
        return None
    notes = (*draft.notes, *(f"assuming that {text}" for text in draft.assumed))
    return Finding(
        rule.code,
        rule.name,
        draft.message,
        modules[draft.site.module].span(draft.site.at),
        rule.severity,
        "likely" if draft.assumed else "certain",
        tuple(
            WitnessStep(modules[site.module].span(site.at), text)
            for site, text in distinct(draft.steps)
            if site.module in modules
        ),
        notes,
        draft.help,
    )
