"""What a format needs besides the report itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradguard.rule import Rule
from gradguard.source import Source


@dataclass(frozen=True, slots=True)
class View:
    """How and with what a report is drawn.

    `sources` holds the texts by the file names that findings use, `rules` the rules by code (both may lack
    some), `root` the folder that reported paths are made relative to where a format asks for relative paths
    ("" leaves them as they are), `docs_url` the address below which a page a rule code stands.
    """

    sources: Mapping[str, Source] = field(default_factory=dict)
    rules: Mapping[str, Rule] = field(default_factory=dict)
    color: bool = False
    width: int = 100
    root: str = ""
    docs_url: str | None = None

    def url(self, code: str) -> str | None:
        """The address of the page of rule `code`, or None where no documentation site is configured."""
        return f"{self.docs_url.rstrip('/')}/{code}" if self.docs_url else None
