"""The same findings as `gradguard check`, told by flake8."""

from __future__ import annotations

import ast
import re
import tokenize
from argparse import Namespace
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Protocol

from gradguard import __version__

_PYTHON = (".py", ".pyi")
_NOQA = re.compile("noqa", re.IGNORECASE)


class OptionManager(Protocol):
    """What is asked of flake8's own class of this name, which comes without types."""

    def add_option(self, *names: str, **about: Any) -> None:
        """Register an option as argparse does; `parse_from_config` lets configuration files hold it."""


class Plugin:
    """Checks one file for flake8, which gives its syntax tree, its name and its decoded lines.

    flake8 itself decides on codes (`select`, `ignore`, `per-file-ignores`) and heeds `# noqa`. What else
    `[tool.gradguard]` says of the file holds here too, and the options of flake8's configuration count more.
    """

    name = "gradguard"
    version = __version__
    _options: ClassVar[dict[str, Any]] = {}
    _heeds_noqa: ClassVar[bool] = True

    def __init__(self, tree: ast.AST, filename: str, lines: Sequence[str]) -> None:
        """Takes what flake8 gives. `tree` is not used: asking for it makes flake8 run this once a file."""
        self._text = "".join(lines if self._heeds_noqa else _without_noqa(lines))
        # Whatever flake8 was told to read is Python, a standard input without a name as well.
        self._filename = filename if filename.endswith(_PYTHON) else f"{filename}.py"

    @classmethod
    def add_options(cls, manager: OptionManager) -> None:
        """Register the options, which flake8's configuration files may hold too."""
        manager.add_option(
            "--gradguard-min-confidence",
            choices=("likely", "certain"),
            default=None,
            parse_from_config=True,
            help="Report findings of at least this confidence (default: likely).",
        )
        manager.add_option(
            "--gradguard-preview",
            action="store_true",
            default=None,
            parse_from_config=True,
            help="Let the rules speak that are previews as well.",
        )

    @classmethod
    def parse_options(cls, options: Namespace) -> None:
        """Keep what was said; what was not is left to `[tool.gradguard]`."""
        said = {
            "min_confidence": options.gradguard_min_confidence,
            "preview": options.gradguard_preview,
        }
        cls._options = {name: value for name, value in said.items() if value is not None}
        cls._heeds_noqa = not options.disable_noqa

    def run(self) -> Iterator[tuple[int, int, str, type[Plugin]]]:
        """Row, column from 0 and `CODE [name] message` of each finding."""
        from gradguard.api import check_text

        for finding in check_text(self._text, self._filename, **self._options):
            from gradguard.report.concise import headline

            start = finding.span.start
            yield start.row, start.column - 1, headline(finding), type(self)


def _without_noqa(lines: Sequence[str]) -> list[str]:
    """The lines with the word blanked in comments, for `--disable-noqa`; every column stays where it is."""
    kept = list(lines)
    for token in tokenize.generate_tokens(iter(lines).__next__):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            line = kept[row - 1]
            kept[row - 1] = line[:column] + _NOQA.sub("    ", line[column:])
    return kept
