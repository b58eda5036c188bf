"""Finding the files that imports name, inside the tree."""

from __future__ import annotations

import os
from collections.abc import Hashable
from dataclasses import dataclass, field

from gradguard.discover.disk import Disk, Seen
from gradguard.ir import nodes as ir

ROOT_MARKS = (".git", "pyproject.toml", "setup.py", "setup.cfg")
CLIMB = 6
INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed packages: one does not lead into another."""
SWITCH = rb"^[\w.]*\bset_grad_enabled\s*\("


@dataclass(slots=True)
class Imports:
    """Resolves imports by looking for files; nothing is opened. `known` are paths that exist without a file,
    `unfollowed` packages that lie outside the tree wherever they are."""

    known: set[str] = field(default_factory=set)
    disk: Disk = field(default_factory=Disk)
    found: dict[Hashable, tuple[str | None, Seen]] = field(default_factory=dict)
    switching: dict[Hashable, tuple[bool, Seen]] = field(default_factory=dict)
    unfollowed: frozenset[str] = frozenset()

    def resolve(self, key: str, module: str, level: int) -> str | None:
        """The path of an imported module, as seen from the file `key`; None where it lies outside the tree."""
        if not level and module.partition(".")[0] in self.unfollowed:
            return None
        folder = os.path.dirname(key)
        place = (folder, module, level)
        result = self.disk.remembered(self.found, place, lambda: self._search(key, folder, module, level))
        return None if result == key else result

    def _search(self, key: str, folder: str, module: str, level: int) -> str | None:
        if level:
            for _ in range(level - 1):
                folder = os.path.dirname(folder)
            return self._in_folder(folder, module)
        if not os.path.isabs(key):
            return None
        for _ in range(CLIMB):
            if os.path.basename(folder) in INSTALLED and not self._is_own(key, folder, module):
                return None
            result = self._in_folder(folder, module)
            if result is not None:
                return result
            if any(self.disk.exists(os.path.join(folder, mark)) for mark in ROOT_MARKS):
                break
            parent = os.path.dirname(folder)
            if parent == folder:
                break
            folder = parent
        return self._in_folder(os.path.join(folder, "src"), module)

    def _is_own(self, key: str, folder: str, module: str) -> bool:
        """Whether a module belongs to the same installed package as the file `key`."""
        own = os.path.relpath(key, folder).split(os.sep, 1)[0]
        return module.partition(".")[0] == own

    def _exists(self, path: str) -> bool:
        return self.disk.is_file(path) or path in self.known

    def _in_folder(self, folder: str, module: str) -> str | None:
        base = os.path.join(folder, *module.split(".")) if module else folder
        for candidate in (os.path.join(base, "__init__.py"), f"{base}.py"):
            if (module or candidate.endswith("__init__.py")) and self._exists(candidate):
                return candidate
        return None

    def submodule(self, folder: str, name: str) -> str | None:
        """The file of `folder.name`."""
        for candidate in (os.path.join(folder, f"{name}.py"), os.path.join(folder, name, "__init__.py")):
            if self._exists(candidate):
                return candidate
        return None

    def folder_of(self, key: str, statement: ir.Import) -> str:
        """The folder that a relative import starts from."""
        folder = os.path.dirname(key)
        for _ in range(statement.level - 1):
            folder = os.path.dirname(folder)
        return os.path.join(folder, *statement.module.split(".")) if statement.module else folder

    def may_switch(self, key: str) -> bool:
        """Whether importing the file may switch the grad mode: it, or a neighbour that a package's own file may
        import, switches at its top level."""
        return self.disk.remembered(self.switching, key, lambda: self._holds_switch(key))

    def _holds_switch(self, key: str) -> bool:
        if self.disk.holds(key, SWITCH):
            return True
        if os.path.basename(key) != "__init__.py":
            return False
        return any(self.disk.holds(path, SWITCH) for path in self.disk.python_files(os.path.dirname(key)))
