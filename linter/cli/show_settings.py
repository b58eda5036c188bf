"""Settings as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import fields

from gradguard.rule import Rule
from gradguard.settings.choose import check_entries, chosen_codes
from gradguard.settings.files import shown_path
from gradguard.settings.model import Settings

_NOT_KEYS = frozenset({"root", "file", "selections"})


def settings_text(settings: Settings, rules: Sequence[Rule]) -> str:
    """The settings in the form of a configuration file, and which rules are on."""
    check_entries(settings, rules)
    return "".join(f"{line}\n" for line in _lines(settings, rules))


def _lines(settings: Settings, rules: Sequence[Rule]) -> Iterator[str]:
    origin = shown_path(settings.file) if settings.file else "no configuration file"
    yield f"# from {origin}, patterns start at {shown_path(settings.root)}"
    on = chosen_codes(settings, rules)
    yield f"# rules that run: {' '.join(sorted(on)) or 'none'}"
    off = sorted({rule.code for rule in rules} - on)
    yield f"# rules that do not run: {' '.join(off) or 'none'}"
    for item in fields(settings):
        if item.name in _NOT_KEYS:
            continue
        key, value = item.name.replace("_", "-"), getattr(settings, item.name)
        yield f"# {key}: not set" if value is None else f"{key} = {_value(_as_table(item.name, value))}"


def _as_table(name: str, value: object) -> object:
    return dict(value) if name == "per_file_ignores" and isinstance(value, tuple) else value


def _value(value: object) -> str:
    match value:
        case dict():
            listed = ", ".join(f"{_value(key)} = {_value(entry)}" for key, entry in value.items())
            return f"{{ {listed} }}" if listed else "{}"
        case tuple() | list():
            return "[" + ", ".join(_value(entry) for entry in value) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False, default=str)
