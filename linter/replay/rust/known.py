"""The mark of what a table of names does not know."""

from __future__ import annotations

from gradguard.replay.value import Value

MISSING: Value = object()
