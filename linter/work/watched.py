"""A module that notes which of its pieces a result has looked at."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.discover.disk import Disk
from gradguard.findings import Span
from gradguard.ir.nodes import CHUNK, Body
from gradguard.lower.module import Module, Place
from gradguard.source import Source
from gradguard.work.facets import of_piece, of_place, of_shape


class Watched(Module):
    """As the module that it is made from, whose results it shares."""

    def __init__(self, module: Module, key: str, disk: Disk) -> None:
        """`key` is the file's path, `disk` what takes the notes."""
        vars(self).update(vars(module))
        self._key = key
        self._disk = disk
        self._known: dict[str, str] = {}

    @property
    def source(self) -> Source:  # type: ignore[override]
        """The source: who asks for it may see anything."""
        self._disk.seen.opened.add(self._key)
        return self.untold_source

    @property
    def untold_source(self) -> Source:
        """The source, for those who look at it for no result."""
        found: Source = vars(self)["source"]
        return found

    def note_opened(self) -> None:
        """Note that the module was opened: it was seen what it consists of."""
        self._note("shape", lambda: of_shape(self))

    def lines(self) -> list[str]:
        """As in `Module`; all of the text was seen."""
        self._disk.seen.opened.add(self._key)
        return super().lines()

    def text(self, index: int) -> str:
        """As in `Module`."""
        self._note_piece(index)
        return super().text(index)

    def body(self, index: int) -> Body:
        """As in `Module`."""
        self._note_piece(index)
        return super().body(index)

    def span(self, at: int) -> Span:
        """As in `Module`; it was seen where the piece stands."""
        self._note_place(at // CHUNK)
        return super().span(at)

    def extent(self, at: int) -> Span:
        """As in `Module`; it was seen where the piece stands."""
        self._note_place(at // CHUNK)
        return super().extent(at)

    def _told(self, place: Place) -> Span:
        return self.untold_source.span(*place)

    def _note_piece(self, index: int) -> None:
        self._note(f"piece {index}", lambda: of_piece(Module.text(self, index)))

    def _note_place(self, index: int) -> None:
        self._note_piece(index)
        self._note(f"place {index}", lambda: of_place(self.chunks[index]))

    def _note(self, name: str, value: Callable[[], str]) -> None:
        if self._key in self._disk.seen.opened:
            # Anything may have been seen of it, which says more.
            return
        if name not in self._known:
            self._known[name] = value()
        self._disk.seen.facets.add((self._key, name, self._known[name]))
