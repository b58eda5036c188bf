"""A function whose body is lowered when it is first looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradguard.ir.nodes import Body, Function

_HELD = ("name", "params", "decorators", "is_async", "is_generator", "at", "returns")


class LaterFunction(Function):
    """As any function of the IR, but for when its body is made.

    Two are equal only if they are one: comparing bodies would lower them.
    """

    __slots__ = ("_body", "_make", "_text")

    def __init__(self, header: Function, is_generator: bool, text: str, make: Callable[[], Body]) -> None:
        """Takes what stands in the header, the text of the whole function, and what lowers the body."""
        for name in _HELD:
            object.__setattr__(self, name, getattr(header, name))
        object.__setattr__(self, "is_generator", is_generator)
        object.__setattr__(self, "_text", text)
        object.__setattr__(self, "_make", make)
        object.__setattr__(self, "_body", None)

    @property
    def body(self) -> Body:  # type: ignore[override]
        """The statements of the function."""
        made: Body | None = self._body
        if made is None:
            made = self._make()
            object.__setattr__(self, "_body", made)
        return made

    @property
    def unread(self) -> str | None:
        """The text of the function, as long as its body is not lowered."""
        text: str = self._text
        return text if self._body is None else None

    def __eq__(self, other: object) -> bool:
        """Whether both are the same object."""
        return self is other

    def __hash__(self) -> int:
        """By the handle, which no other function of the file has."""
        return hash(self.at)

    def __reduce__(self) -> Any:  # noqa: ANN401
        """Pickled as a plain function, body and all."""
        return (
            Function,
            (
                self.name,
                self.params,
                self.body,
                self.decorators,
                self.is_async,
                self.is_generator,
                self.at,
                self.returns,
            ),
        )
