"""Whether a write is safe: elements of the target, and of what is read, must not coincide."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gradguard.runtime import messages
from gradguard.runtime.dtypes import Array


def check_internal_overlap(target: Array) -> None:
    """Refuse to write where several elements share one place, as in an expanded tensor.

    Raises:
        RuntimeError: they do.
    """
    for stride, extent in zip(target.strides, target.shape, strict=True):
        if stride == 0 and extent > 1:
            raise RuntimeError(messages.OVERLAP)


def check_partial_overlap(target: Array, sources: Sequence[Array]) -> None:
    """Refuse to write over part of what is read; the very same elements are fine (torch 2.13).

    Raises:
        RuntimeError: a source overlaps the target in part.
    """
    for source in sources:
        if source is target or not np.may_share_memory(target, source):
            continue
        if not (_dense(target) and _dense(source)):
            # torch does not decide these either.
            continue
        if (
            target.__array_interface__["data"] == source.__array_interface__["data"]
            and target.nbytes == source.nbytes
            and target.strides == source.strides
        ):
            continue
        raise RuntimeError(messages.PARTIAL_OVERLAP)


def _dense(array: Array) -> bool:
    return bool(array.flags.c_contiguous or array.flags.f_contiguous)
