"""A function that is lowered when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable

from gradguard.ir.nodes import Body, Expr, Function, Param
from gradguard.lower.parts import Sketch

Make = Callable[[], Function]


class LaterFunction(Function):
    """As any function of the IR, but for when it is made: first what is in its header, then its body.

    Two are equal only if they are one: comparing bodies would lower them.
    """

    __slots__ = ("_header", "_text", "_whole")
    _header: Function | Make
    _text: str
    _whole: Function | Make

    def __init__(
        self, sketch: Sketch, at: int, text: str, header: Function | Make, whole: Function | Make
    ) -> None:
        """Takes what is known of the function, its text, and what lowers its header and all of it.

        The header of a function with decorators is made already.
        """
        known = {
            "name": sketch.name,
            "at": at,
            "is_async": sketch.is_async,
            "is_generator": sketch.is_generator,
            "decorators": header.decorators if isinstance(header, Function) else (),
        }
        for slot, value in {**known, "_header": header, "_whole": whole, "_text": text}.items():
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
        made = self._whole
        if not isinstance(made, Function):
            made = made()
            object.__setattr__(self, "_whole", made)
            object.__setattr__(self, "_header", made)
        return made.body

    @property
    def text(self) -> str:
        """The rows of the function, with those that a wrapper needs."""
        return self._text

    def _made_header(self) -> Function:
        made = self._header
        if not isinstance(made, Function):
            made = made()
            object.__setattr__(self, "_header", made)
        return made

    def __eq__(self, other: object) -> bool:
        """Whether both are the same object."""
        return self is other

    def __hash__(self) -> int:
        """By the handle, which no other function of the file has."""
        return hash(self.at)
