"""The keys of `[tool.gradguard]`: what each may hold, and what it becomes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gradguard.settings.errors import SettingsError, did_you_mean

OUTPUT_FORMATS = ("full", "concise", "json", "json-lines", "sarif", "github", "gitlab", "junit")


def read_table(table: Mapping[str, Any], where: str) -> dict[str, Any]:
    """The values of a configuration table by field name, checked and frozen.

    Raises SettingsError for an unknown key or a value of the wrong kind; `where` names the file in the
    message.
    """
    values: dict[str, Any] = {}
    for key, value in table.items():
        read = _KEYS.get(key)
        if read is None:
            raise SettingsError(f"unknown key `{key}` in {where}{did_you_mean(key, _KEYS)}")
        try:
            values[key.replace("-", "_")] = read(value)
        except _WrongKind as error:
            raise SettingsError(f"`{key}` in {where} must be {error}") from None
        except ValueError as error:
            raise SettingsError(f"{where}: {error}") from None
    return values


class _WrongKind(Exception):
    """The argument says what the value must be."""


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise _WrongKind("a list of strings")
    return tuple(value)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise _WrongKind("a string")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise _WrongKind("true or false")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _WrongKind("a whole number, 0 for one a processor")
    return value


def _one_of(*choices: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if not isinstance(value, str) or value not in choices:
            listed = ", ".join(f"`{choice}`" for choice in choices)
            hint = did_you_mean(value, choices) if isinstance(value, str) else ""
            raise _WrongKind(f"one of {listed}{hint}")
        return value

    return read


def _ignores(value: object) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise _WrongKind("a table from path patterns to lists of rules")
    return tuple((pattern, _texts(rules)) for pattern, rules in value.items())


def _tables(value: object) -> Mapping[str, object]:
    if not isinstance(value, dict) or not all(isinstance(table, dict) for table in value.values()):
        raise _WrongKind("a table of tables, one a framework")
    from gradguard.facts.tables import check_table

    for name, table in value.items():
        check_table(name, table)
    return value


_KEYS: Mapping[str, Callable[[Any], object]] = {
    "select": _texts,
    "extend-select": _texts,
    "ignore": _texts,
    "extend-ignore": _texts,
    "per-file-ignores": _ignores,
    "preview": _truth,
    "min-confidence": _one_of("likely", "certain"),
    "exclude": _texts,
    "extend-exclude": _texts,
    "force-exclude": _truth,
    "respect-gitignore": _truth,
    "output-format": _one_of(*OUTPUT_FORMATS),
    "optimizer-subclasses": _one_of("skip", "check"),
    "profiles": _texts,
    "replay": _truth,
    "replay-on": _one_of("embedded", "torch"),
    "show-refuted": _truth,
    "cache-dir": _text,
    "no-cache": _truth,
    "jobs": _count,
    "frameworks": _tables,
}
