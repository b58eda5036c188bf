"""Checking from Python: paths, or a text at hand."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from gradguard.discover.load import load_file, load_text
from gradguard.discover.walk import Target, find_targets
from gradguard.findings import Finding, Report
from gradguard.run import Opened, check, suspects
from gradguard.settings.keys import read_table
from gradguard.settings.resolve import Overrides, Resolver, selection_of


def check_paths(paths: Iterable[str | os.PathLike[str]], **options: Any) -> Report:
    """Check files and folders as `gradguard check` does.

    `options` are the keys of the configuration with underscores (`select`, `ignore`, `min_confidence`,
    `preview`, `exclude`, `per_file_ignores` as a mapping, ...); they count more than configuration files.
    `config` names a configuration file to use for all, `isolated=True` heeds none.

    Returns the findings in order, the number of files checked, and in `failures` what could not be read or
    parsed (a path that does not exist among them). Raises SettingsError for an unknown option, key or rule.
    """
    resolver = Resolver(_overrides(options))
    targets = find_targets([os.fspath(path) for path in paths], resolver.settings_in)
    opened = [open_target(target, resolver) for target in targets.files]
    # A caller who does not ask for processes may be none that can be started a second time.
    report = check(opened, jobs=max((file.settings.jobs for file in opened), default=1) or 1).report
    return Report(report.findings, targets.failures + report.failures, report.checked)


def check_text(text: str, filename: str = "<text>", **options: Any) -> tuple[Finding, ...]:
    """Check a text as if it were the file `filename`, whose suffix tells the language and whose folder the
    settings.

    A text that cannot be parsed gives a GRD000 among the findings. See `check_paths` for `options` and
    errors.
    """
    from gradguard.report.failures import with_failures

    resolver = Resolver(_overrides(options))
    path = os.path.abspath(filename)
    settings = resolver.settings_in(os.path.dirname(path))
    loaded = load_text(text, filename, "", suspects(settings))
    return with_failures(check([Opened(loaded, path, settings)]).report)


def open_target(target: Target, resolver: Resolver) -> Opened:
    """Load a file together with the settings that hold where it lies."""
    settings = resolver.settings_in(os.path.dirname(target.path))
    return Opened(load_file(target, suspects(settings)), target.path, settings)


def _overrides(options: Mapping[str, Any]) -> Overrides:
    own = dict(options)
    config = own.pop("config", None)
    isolated = bool(own.pop("isolated", False))
    table = {
        name.replace("_", "-"): list(value) if isinstance(value, tuple | set | frozenset) else value
        for name, value in own.items()
    }
    told = read_table(table, "the options")
    return Overrides(selection_of(told), told, os.fspath(config) if config is not None else None, isolated)
