"""Which rules run: the longest prefix decides, and the command line speaks after the file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence

from gradguard.rule import Rule
from gradguard.settings.errors import SettingsError, did_you_mean
from gradguard.settings.model import Settings
from gradguard.settings.patterns import PathPatterns

# A file that was not read must not pass for a clean one because its reader asked for other rules.
UNREADABLE = "GRD000"
_PREFIX = re.compile(r"GRD\d{0,3}", re.IGNORECASE)


def chosen_codes(settings: Settings, rules: Sequence[Rule]) -> frozenset[str]:
    """The codes of the rules that `settings` switch on.

    Without a word all stable rules run. A preview rule runs if it is chosen, by whatever entry, and preview
    is on. GRD000 runs unless it is ignored.
    """
    on = {rule.code for rule in rules}
    for said in settings.selections:
        if said.select is not None:
            on = {UNREADABLE}
        chosen = (said.select or ()) + said.extend_select
        for length in range(_LONGEST + 1):
            on |= {rule.code for rule in rules if _is_meant(rule, chosen, length)}
            on -= {rule.code for rule in rules if _is_meant(rule, said.ignore, length)}
    return frozenset(
        rule.code for rule in rules if rule.code in on and (settings.preview or not rule.preview)
    )


def ignored_in(settings: Settings, path: str, rules: Sequence[Rule]) -> frozenset[str]:
    """The codes that `per-file-ignores` switch off for the file at the absolute `path`."""
    off: set[str] = set()
    for pattern, entries in settings.per_file_ignores:
        wanted = not pattern.startswith("!")
        if (
            PathPatterns((pattern.removeprefix("!"),), settings.root).match_within(os.path.abspath(path))
            is wanted
        ):
            off |= {rule.code for rule in rules if any(meets(rule, entry) for entry in entries)}
    return frozenset(off)


def idle_previews(settings: Settings, rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """The preview rules that were asked for by code or name although preview is off."""
    if settings.preview:
        return ()
    asked = {
        entry.upper() for said in settings.selections for entry in (*(said.select or ()), *said.extend_select)
    }
    return tuple(
        rule for rule in rules if rule.preview and not asked.isdisjoint({rule.code, rule.name.upper()})
    )


def check_entries(settings: Settings, rules: Sequence[Rule]) -> None:
    """Raise SettingsError for an entry that means no rule, naming the nearest one."""
    for said in settings.selections:
        for entry in (*(said.select or ()), *said.extend_select, *said.ignore):
            _check_entry(entry, rules)
    for _, entries in settings.per_file_ignores:
        for entry in entries:
            _check_entry(entry, rules)


def meets(rule: Rule, entry: str) -> bool:
    """Whether `entry` (a code, the start of one, a name, or ALL) means `rule`."""
    word = entry.upper()
    return word == "ALL" or word == rule.name.upper() or (_is_prefix(word) and rule.code.startswith(word))


_LONGEST = 6


def _is_meant(rule: Rule, entries: Iterable[str], length: int) -> bool:
    return any(_weight(entry) == length and meets(rule, entry) for entry in entries)


def _weight(entry: str) -> int:
    """How narrow an entry is: 0 for ALL, a prefix by its length, a whole code or a name most."""
    if entry.upper() == "ALL":
        return 0
    return min(len(entry), _LONGEST) if _is_prefix(entry) else _LONGEST


def _is_prefix(entry: str) -> bool:
    return _PREFIX.fullmatch(entry) is not None


def _check_entry(entry: str, rules: Sequence[Rule]) -> None:
    if any(meets(rule, entry) for rule in rules):
        return
    names = [word for rule in rules for word in (rule.code, rule.name)]
    raise SettingsError(f"unknown rule `{entry}`{did_you_mean(entry, names)}")
