"""gradguard finds training code that runs, prints a loss, and trains nothing.

    import gradguard

    report = gradguard.check_paths(["src", "train.py"])
    for finding in report.findings:
        print(finding.span.filename, finding.span.start.row, finding.code, finding.message)

    findings = gradguard.check_text(text, filename="train.py")

`check_paths` reads files and folders as the command `gradguard check` does; `check_text` looks at a text at
hand. Both take the options of the command as keywords. `Finding`, `Report` and what they hold are frozen
dataclasses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gradguard.api import check_paths, check_text
    from gradguard.findings import (
        Edit,
        Failure,
        Finding,
        Fix,
        GuardRecord,
        Position,
        Replay,
        Report,
        Span,
        WitnessStep,
    )
    from gradguard.settings.errors import SettingsError

__version__ = "0.1.0"

__all__ = [
    "Edit",
    "Failure",
    "Finding",
    "Fix",
    "GuardRecord",
    "Position",
    "Replay",
    "Report",
    "SettingsError",
    "Span",
    "WitnessStep",
    "check_paths",
    "check_text",
]

_HOMES = {"check_paths": "api", "check_text": "api", "SettingsError": "settings.errors"}


def __getattr__(name: str) -> Any:
    # The command line imports this package too; it must not pay for what it does not use.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES.get(name, 'findings')}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
