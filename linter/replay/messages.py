"""Which errors speak of gradients, and which only of shapes that a replay has made up."""

from __future__ import annotations

_TELLING = (
    "does not require grad",
    "backward through the graph a second time",
    "nference tensor",
    "leaf Variable that requires grad",
    "modified by an inplace operation",
    "modified inplace",
    "can't retain_grad",
    "doesn't require gradient",
    "appears to not have been used in the graph",
    "requires_grad flags of leaf",
    "leaf variables",
    "detach views in-place",
    "numpy() on Tensor that requires grad",
    "detached in-place",
    "deepcopy protocol",
    "don't support automatic differentiation",
    "does not track version",
    "context manager protocol",
    "must be bool",
)
_UNTRACKED = (
    "does not require grad",
    "doesn't require gradient",
    "can't retain_grad",
    "None of the",
    "not have been used",
)


def is_gradient_error(error: BaseException) -> bool:
    """Whether an error of the framework is about gradients or modes."""
    text = str(error)
    return any(part in text for part in _TELLING)


def is_untracked_error(error: BaseException) -> bool:
    """Whether an error says that something carries no graph."""
    text = str(error)
    return any(part in text for part in _UNTRACKED)


def first_sentence(error: BaseException) -> str:
    """An error in a line: its type and the first sentence of its message."""
    text = " ".join(str(error).split())
    end = text.find(". ")
    text = (text if end < 0 else text[:end]).rstrip(".")
    return f"{type(error).__name__}: {text[:160]}" if text else type(error).__name__
