"""The type of what a program passes and nobody checks before an operation runs, as in torch."""

from typing import Any, TypeAlias

Unchecked: TypeAlias = Any
