"""Places in the program, without positions."""

from __future__ import annotations

from typing import NamedTuple


class Site(NamedTuple):
    """The node with handle `at` in the module named `module`."""

    module: str
    at: int


class Root(NamedTuple):
    """Where a run of the interpreter started.

    `kind` is module (the top level), function (one run alone with unknown arguments), method (the same, on an
    instance whose constructor ran), init (the constructor itself) or handed (a function that the root `within`
    gave to something unknown, run on its own afterwards). `function_at` and `class_at` are the handles of the
    `Function` and the `ClassDef`.
    """

    kind: str
    module: str
    function_at: int = -1
    class_at: int = -1
    within: Root | None = None
