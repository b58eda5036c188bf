"""A function that is lowered when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.ir.nodes import Body, Expr, Function, Param
from gradguard.lower.parts import Part

Make = Callable[[Part, int], Function]


class LaterFunction(Function):
    """As any function of the IR, but for when it is made: first what is in its header, then its body.

    Two are equal only if they are one: comparing bodies would lower them.
    """

    __slots__ = ("_header", "_make", "_make_header", "_part", "_whole")
    _part: Part
    _header: Function | None
    _whole: Function | None
    _make_header: Make
    _make: Make

    def __init__(self, part: Part, at: int, make_header: Make, make: Make) -> None:
        """Takes the part that the function is, its handle, and what lowers its header and all of it.

        The header of a function with decorators is made at once.
        """
        sketch = part.function
        assert sketch is not None
        header = make_header(part, at) if sketch.is_decorated else None
        known = {
            "name": sketch.name,
            "at": at,
            "is_async": sketch.is_async,
            "is_generator": sketch.is_generator,
            "decorators": header.decorators if header is not None else (),
            "_part": part,
            "_header": header,
            "_whole": None,
            "_make_header": make_header,
            "_make": make,
        }
        for slot, value in known.items():
            object.__setattr__(self, slot, value)

    @property
    def params(self) -> tuple[Param, ...]:
        """The parameters of the function."""
        return self._made_header().params

    @property
    def returns(self) -> Expr | None:
        """What the function says it returns."""
        return self._made_header().returns

    @property
    def body(self) -> Body:
        """The statements of the function."""
        if self._whole is None:
            made = self._make(self._part, self.at)
            object.__setattr__(self, "_whole", made)
            object.__setattr__(self, "_header", made)
            return made.body
        return self._whole.body

    @property
    def text(self) -> str:
        """The rows of the function, with those that a wrapper needs."""
        return self._part.text

    def _made_header(self) -> Function:
        if self._header is None:
            object.__setattr__(self, "_header", self._make_header(self._part, self.at))
        assert self._header is not None
        return self._header

    def __eq__(self, other: object) -> bool:
        """Whether both are the same object."""
        return self is other

    def __hash__(self) -> int:
        """By the handle, which no other function of the file has."""
        return hash(self.at)
