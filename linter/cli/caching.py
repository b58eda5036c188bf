"""The caches of a run, as settings and options name them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from gradguard.settings.model import Settings

if TYPE_CHECKING:
    from gradguard.cache.memory import Memory


class Caches:
    """One memory for each group of files that have their settings in common, opened when asked for."""

    def __init__(self, *, off: bool = False) -> None:
        """Opens nothing yet. Where caching is `off`, nothing is ever opened."""
        self._off = off
        self.memories: dict[Settings, Memory] = {}

    def memory_for(self, settings: Settings) -> Memory | None:
        """The memory for the files that these settings hold for; None where they want no cache.

        What an installed torch does depends on more than the files that are read: it is never kept.
        """
        if self._off or settings.no_cache or settings.replay_on == "torch":
            return None
        if settings not in self.memories:
            from gradguard.cache.memory import Memory

            self.memories[settings] = Memory(cache_folder_of(settings), settings, os.getcwd())
        return self.memories[settings]

    def save(self) -> list[str]:
        """Write down what the run has learned; the folders that are no caches, in which nothing is written."""
        if not self.memories:
            return []
        from gradguard.cache.folder import is_foreign

        for memory in self.memories.values():
            memory.save()
        return [folder for folder in dict.fromkeys(map(cache_folder_of, self.memories)) if is_foreign(folder)]


def cache_folder_of(settings: Settings) -> str:
    """Where the cache lies: relative to the configuration, else to the working folder."""
    return os.path.join(settings.root, settings.cache_dir)
