"""Guards as the reading of a file finds them, before positions are asked for."""

from __future__ import annotations

from dataclasses import dataclass

from gradguard.inventory.senses import Made, Scope
from gradguard.inventory.spread import Reach
from gradguard.ir import nodes as ir


@dataclass(frozen=True, slots=True)
class Found:
    """One guard: the node that shows it, and its reach. `frame` numbers the function body that it stands in,
    `decorated` is set where it lies around that body."""

    made: Made
    form: str
    at: int
    function: str | None
    reach: Reach
    scope: Scope
    frame: int
    decorated: bool = False


@dataclass(frozen=True, slots=True)
class Loose:
    """A guard that was made and not entered where it was made. `how` is dropped, named or handed."""

    made: Made
    how: str
    name: str
    function: str | None
    scope: Scope
    frame: int
    body: ir.Body
