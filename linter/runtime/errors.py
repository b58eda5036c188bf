"""The one error the engine adds to those of the frameworks it stands in for."""

from __future__ import annotations


class OutOfScope(NotImplementedError, AttributeError):
    """An operation the engine deliberately leaves out; the message names it.

    It is an AttributeError too, so that ``hasattr(torch, "fft")`` answers False.
    """

    def __init__(self, operation: str) -> None:
        """Name the operation, spelled as the program spelled it (``torch.fft``)."""
        super().__init__(f"gradguard.runtime does not implement {operation}")
        self.operation = operation
