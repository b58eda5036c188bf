"""The output formats by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import cast

from gradguard.findings import Report
from gradguard.report.view import View
from gradguard.rule import Rule
from gradguard.source import Source

# A format's module is imported when it is asked for, so that none pays for the parsers of another.
_MODULES = {
    "full": "gradguard.report.full",
    "concise": "gradguard.report.concise",
    "json": "gradguard.report.json_array",
    "json-lines": "gradguard.report.json_lines",
    "sarif": "gradguard.report.sarif",
    "github": "gradguard.report.github",
    "gitlab": "gradguard.report.gitlab",
    "junit": "gradguard.report.junit",
}

FORMATS: tuple[str, ...] = tuple(_MODULES)


def render(
    report: Report,
    format: str,
    *,
    sources: Mapping[str, Source] | None = None,
    rules: Iterable[Rule] = (),
    color: bool = False,
    width: int = 100,
    root: str = "",
    docs_url: str | None = None,
) -> str:
    """The report as text in one of `FORMATS`, ending in a newline unless it is empty.

    `sources` are the texts by file name for code frames and fingerprints, `rules` the rules for metadata;
    what is missing there is left out of the rendering, never of the findings. See `View` for `root` and
    `docs_url`. Raises ValueError for an unknown format.
    """
    if format not in _MODULES:
        raise ValueError(f"unknown output format {format!r}, known are: {', '.join(FORMATS)}")
    view = View(sources or {}, {rule.code: rule for rule in rules}, color, width, root, docs_url)
    draw = cast(Callable[[Report, View], str], import_module(_MODULES[format]).render)
    return draw(report, view)
