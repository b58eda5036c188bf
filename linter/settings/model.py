"""The settings as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

from gradguard.settings.patterns import PathPatterns

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".gradguard_cache",
    ".hg",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pyenv",
    ".pytest_cache",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)


@dataclass(frozen=True, slots=True)
class Selection:
    """One say in which rules run: a file's, or the command line's.

    Each entry is a rule's code, the start of one (`GRD1`), a rule's name, or `ALL`. `select` None adds to
    what was said before; anything else starts anew.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()


NOTHING_SAID = Selection()


@dataclass(frozen=True, slots=True)
class Settings:
    """What is in force for a group of files.

    `root` is the folder that relative patterns start from, `file` the configuration file ("" for none).
    `selections` hold what was said of rules, the last word last. `min_confidence` is likely or certain,
    `optimizer_subclasses` skip or check, `output_format` None where nobody asked for one.
    `per_file_ignores` are pairs of a path pattern and the rules ignored there. `frameworks` is the user's
    `[tool.gradguard.frameworks]` as read: the tables by framework.
    """

    root: str
    file: str = ""
    selections: tuple[Selection, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    preview: bool = False
    min_confidence: str = "likely"
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    respect_gitignore: bool = True
    output_format: str | None = None
    optimizer_subclasses: str = "skip"
    profiles: tuple[str, ...] = ()
    replay: bool = True
    replay_on: str = "embedded"
    show_refuted: bool = False
    cache_dir: str = ".gradguard_cache"
    no_cache: bool = False
    jobs: int = 0
    frameworks: Mapping[str, object] = field(default_factory=dict, hash=False)

    @property
    def excluded(self) -> PathPatterns:
        """What a walk leaves out."""
        return PathPatterns(self.exclude + self.extend_exclude, self.root)

    def fingerprint(self) -> str:
        """A digest of everything that findings depend on, the same in every process."""
        import hashlib
        import json

        said = {name: getattr(self, name) for name in _ANALYSIS}
        return hashlib.sha256(json.dumps(said, sort_keys=True, default=str).encode()).hexdigest()


# What only decides which findings are shown, and where from and how, leaves the analysis as it is.
_ANALYSIS = tuple(
    item.name
    for item in fields(Settings)
    if item.name in {"optimizer_subclasses", "profiles", "replay", "replay_on", "show_refuted", "frameworks"}
)
