"""Configuration files: where they lie and what they hold."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from gradguard.settings.errors import SettingsError

# In one folder the first of these that speaks of gradguard counts.
FILE_NAMES = (".gradguard.toml", "gradguard.toml", "pyproject.toml")


def file_in(folder: str) -> str | None:
    """The configuration file that lies in `folder` itself."""
    for name in FILE_NAMES:
        path = os.path.join(folder, name)
        if os.path.isfile(path) and (name != "pyproject.toml" or _speaks_of_us(path)):
            return path
    return None


def read_file(path: str) -> Mapping[str, Any]:
    """The table of a configuration file: `[tool.gradguard]` of a pyproject.toml, all of any other.

    Raises SettingsError where it cannot be read.
    """
    shown = shown_path(path)
    try:
        with open(path, "rb") as file:
            document = parse_toml(file.read().decode("utf-8-sig"), shown)
    except OSError as error:
        raise SettingsError(f"cannot read {shown}: {(error.strerror or str(error)).lower()}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"cannot read {shown}: not valid UTF-8") from None
    if os.path.basename(path) != "pyproject.toml":
        return document
    table = document.get("tool", {}).get("gradguard", {})
    if not isinstance(table, dict):
        raise SettingsError(f"`tool.gradguard` in {shown} must be a table")
    return table


def parse_toml(text: str, where: str) -> Mapping[str, Any]:
    """Raises SettingsError that names `where` and the place in it."""
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        document: dict[str, Any] = toml.loads(text)
    except (toml.TOMLDecodeError, RecursionError) as error:
        detail = str(error)
        raise SettingsError(f"{where} is not valid TOML: {detail[:1].lower()}{detail[1:]}") from None
    return document


def shown_path(path: str) -> str:
    """A path for a message: from the working folder where it lies below it."""
    inside = os.getcwd().rstrip(os.sep) + os.sep
    return f"`{path.removeprefix(inside)}`"


def _speaks_of_us(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return False
    # Somebody else's broken pyproject.toml is none of our business, and most need not be parsed at all.
    if b"gradguard" not in text:
        return False
    if re.search(rb"^[ \t]*\[+[ \t]*tool[ \t]*\.[ \t]*['\"]?gradguard", text, re.MULTILINE):
        return True
    document = parse_toml(text.decode("utf-8-sig", "replace"), shown_path(path))
    tool = document.get("tool")
    return isinstance(tool, dict) and "gradguard" in tool
