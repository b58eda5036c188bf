"""The settings that hold in a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gradguard.settings.errors import SettingsError
from gradguard.settings.files import file_in, parse_toml, read_file, shown_path
from gradguard.settings.keys import read_table
from gradguard.settings.model import NOTHING_SAID, Selection, Settings

_OF_SELECTION = ("select", "extend_select", "ignore", "extend_ignore")
_ADDED = ("extend_exclude", "per_file_ignores")


@dataclass(frozen=True, slots=True)
class Overrides:
    """What the caller says himself; it counts more than any file.

    `values` are fields of `Settings` (lists that extend are added to the file's), `selection` what is said
    of rules. `config` is a configuration file that stands in for all others; `isolated` heeds none.
    """

    selection: Selection = NOTHING_SAID
    values: Mapping[str, Any] = field(default_factory=dict)
    config: str | None = None
    isolated: bool = False


class Resolver:
    """Finds the settings of folders, reading each configuration file once.

    Raises SettingsError where a file cannot be followed.
    """

    def __init__(self, overrides: Overrides | None = None, working_folder: str | None = None) -> None:
        """Relative paths of `overrides` start from `working_folder`, by default the process's."""
        self._overrides = overrides or Overrides()
        self._working_folder = os.path.abspath(working_folder or os.getcwd())
        self._files: dict[str, str | None] = {}
        self._known: dict[str | None, Settings] = {}
        if self._overrides.config and self._overrides.isolated:
            raise SettingsError("`--config` and `--isolated` contradict each other")

    def settings_in(self, folder: str) -> Settings:
        """The settings for files that lie in the absolute `folder`."""
        file = self._file_for(folder)
        if file not in self._known:
            self._known[file] = self._settings_of(file)
        return self._known[file]

    def _file_for(self, folder: str) -> str | None:
        if self._overrides.isolated:
            return None
        if self._overrides.config:
            return os.path.join(self._working_folder, self._overrides.config)
        return self._nearest(folder)

    def _nearest(self, folder: str) -> str | None:
        if folder not in self._files:
            parent = os.path.dirname(folder)
            self._files[folder] = file_in(folder) or (None if parent == folder else self._nearest(parent))
        return self._files[folder]

    def _settings_of(self, file: str | None) -> Settings:
        if file is None:
            return self._overridden(Settings(self._working_folder))
        # Patterns of a file that the command line names start where those of the command line do.
        root = self._working_folder if self._overrides.config else os.path.dirname(file)
        told = read_table(read_file(file), shown_path(file))
        settings = with_values(Settings(root, file), told, selection_of(told))
        return self._overridden(settings)

    def _overridden(self, settings: Settings) -> Settings:
        return with_values(settings, self._overrides.values, self._overrides.selection)


def selection_of(told: Mapping[str, Any]) -> Selection:
    """What a table says of rules."""
    return Selection(
        told.get("select"),
        told.get("extend_select", ()),
        told.get("ignore", ()) + told.get("extend_ignore", ()),
    )


def with_values(settings: Settings, values: Mapping[str, Any], selection: Selection) -> Settings:
    """`settings` after somebody else has spoken."""
    own = {name: value for name, value in values.items() if name not in _OF_SELECTION}
    for name in _ADDED:
        if name in own:
            own[name] = getattr(settings, name) + tuple(own[name])
    if selection != NOTHING_SAID:
        own["selections"] = (*settings.selections, selection)
    return replace(settings, **own)


def inline_values(entries: Sequence[str]) -> dict[str, Any]:
    """The values of `key = value` lines in TOML, as `--config` takes them. Raises SettingsError."""
    return read_table(parse_toml("\n".join(entries), "`--config`"), "`--config`") if entries else {}
