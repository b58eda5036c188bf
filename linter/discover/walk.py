"""Which files to check: those named, and those found in the folders named."""

from __future__ import annotations

import glob
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from gradguard.discover.gitignore import MARKS, IgnoreRules, rules_for
from gradguard.findings import Failure
from gradguard.settings.model import Settings

SUFFIXES = (".py", ".pyi", ".ipynb", ".rs")
_GLOB_CHARACTERS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Target:
    """A file to check: its absolute path and the name to show for it."""

    path: str
    filename: str


@dataclass(frozen=True, slots=True)
class Targets:
    """The files to check in a steady order, and the paths that could not be looked at."""

    files: tuple[Target, ...]
    failures: tuple[Failure, ...]


def find_targets(
    paths: Iterable[str], settings_in: Callable[[str], Settings], working_folder: str | None = None
) -> Targets:
    """Find what `paths` (files, folders, glob patterns) ask for.

    `settings_in` gives the settings that hold in a folder. A file that is named is taken whatever it is
    called, unless excluding is forced; in folders the suffix, the exclusions and git's ignore rules decide.
    Links to folders are not followed (a folder that is named may be one); a file met under two names is
    checked once.
    """
    search = _Search(settings_in, os.path.abspath(working_folder or os.getcwd()))
    for path in paths:
        search.add(path)
    return Targets(tuple(_without_aliases(search.found, search.links)), tuple(search.failures))


@dataclass
class _Search:
    settings_in: Callable[[str], Settings]
    working_folder: str
    found: dict[str, Target] = field(default_factory=dict)
    links: set[str] = field(default_factory=set)
    failures: list[Failure] = field(default_factory=list)

    def add(self, path: str) -> None:
        """Take in one path of the command line."""
        absolute = os.path.normpath(os.path.join(self.working_folder, path))
        try:
            status = os.stat(absolute)
        except (OSError, ValueError) as error:
            self._add_missing(path, absolute, error)
            return
        if self._forced_out(absolute):
            return
        if stat.S_ISDIR(status.st_mode):
            self._walk(path, absolute)
        elif stat.S_ISREG(status.st_mode) or _is_descriptor(absolute):
            self._keep(Target(absolute, self._shown(path, absolute)), os.path.islink(absolute))
        else:
            self.failures.append(Failure(path, "neither a file nor a folder"))

    def _add_missing(self, path: str, absolute: str, error: OSError | ValueError) -> None:
        if _GLOB_CHARACTERS.isdisjoint(path) or isinstance(error, PermissionError):
            self.failures.append(Failure(path, reason(error)))
            return
        matches = sorted(glob.glob(absolute, recursive=True))
        if not matches:
            self.failures.append(Failure(path, "no file or folder matches this pattern"))
        for match in matches:
            if self._left_out(match):
                continue
            shown = self._shown(
                match if os.path.isabs(path) else os.path.relpath(match, self.working_folder), match
            )
            if os.path.isdir(match):
                self._walk(shown, match)
            elif match.endswith(SUFFIXES):
                self._keep(Target(match, shown), os.path.islink(match))

    def _walk(self, shown: str, folder: str) -> None:
        rules, _ = rules_for(folder, self.working_folder)
        name_of = self._namer(shown, folder)
        waiting: list[tuple[str, IgnoreRules]] = [(folder, rules)]
        while waiting:
            current, rules = waiting.pop()
            settings = self.settings_in(current)
            excluded = settings.excluded
            entries = self._entries(current)
            heeded = settings.respect_gitignore and any(entry.name in MARKS for entry in entries)
            inner = rules.entering(current) if heeded else rules
            below: list[tuple[str, IgnoreRules]] = []
            for entry in entries:
                is_folder = entry.is_dir(follow_symlinks=False)
                if not is_folder and not self._is_source(entry, name_of):
                    continue
                if excluded.match_entry(entry.path):
                    continue
                if settings.respect_gitignore and inner.ignores(entry.path, is_folder):
                    continue
                if is_folder:
                    below.append((entry.path, inner))
                else:
                    self._keep(Target(entry.path, name_of(entry.path)), entry.is_symlink())
            waiting.extend(reversed(below))

    def _is_source(self, entry: os.DirEntry[str], name_of: Callable[[str], str]) -> bool:
        if not entry.name.endswith(SUFFIXES):
            return False
        try:
            # A link to nowhere is no file, and holds nothing to check.
            return entry.is_file()
        except OSError as error:
            self.failures.append(Failure(name_of(entry.path), reason(error)))
            return False

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.failures.append(Failure(self._shown(folder, folder), reason(error)))
            return []

    def _keep(self, target: Target, is_link: bool) -> None:
        if target.path not in self.found:
            self.found[target.path] = target
            if is_link:
                self.links.add(target.path)

    def _forced_out(self, path: str) -> bool:
        settings = self.settings_in(os.path.dirname(path))
        return settings.force_exclude and settings.excluded.match_within(path)

    def _left_out(self, path: str) -> bool:
        folder = os.path.dirname(path)
        settings = self.settings_in(folder)
        if settings.excluded.match_within(path):
            return True
        if not settings.respect_gitignore:
            return False
        rules, ignored = rules_for(folder, self.working_folder)
        return ignored or rules.entering(folder).ignores(path, os.path.isdir(path))

    def _namer(self, shown: str, folder: str) -> Callable[[str], str]:
        """What gives the names of paths in `folder`, which is itself shown as `shown`."""
        inside = _below(self.working_folder)
        start = "" if (base := os.path.normpath(shown)) == os.curdir else _below(base)
        depth = len(_below(folder))
        return lambda path: path[len(inside) :] if path.startswith(inside) else start + path[depth:]

    def _shown(self, name: str, absolute: str) -> str:
        inside = _below(self.working_folder)
        return absolute[len(inside) :] if absolute.startswith(inside) else name


def reason(error: OSError | ValueError) -> str:
    """Why a path cannot be looked at, in plain words."""
    match error:
        case FileNotFoundError():
            return "no such file or folder"
        case OSError(strerror=str() as text):
            return text[:1].lower() + text[1:]
        case _:
            return str(error)


def _is_descriptor(path: str) -> bool:
    return path.startswith(("/dev/fd/", "/dev/stdin", "/proc/self/fd/")) and sys.platform != "win32"


def _below(folder: str) -> str:
    """What the paths in a folder start with."""
    return folder.rstrip(os.sep) + os.sep


def _without_aliases(found: dict[str, Target], links: set[str]) -> Iterator[Target]:
    """Each file once: a link is left out where the file that it leads to is checked itself."""
    # Nothing in a path is smaller than this: what is in a folder comes before its longer neighbours.
    for target in sorted(found.values(), key=lambda target: target.path.replace(os.sep, "\0")):
        path = target.path
        if path in links and (real := os.path.realpath(path)) != path and real in found:
            continue
        yield target
