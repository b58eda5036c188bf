"""The grad mode at a point of the program."""

from __future__ import annotations

from dataclasses import replace

from gradguard.frozen import dataclass
from gradguard.infer.sites import Site


@dataclass(frozen=True, slots=True)
class When:
    """A condition: the fact `key` is `truth`."""

    key: str
    truth: bool = True

    def negated(self) -> When:
        """The opposite condition."""
        return When(self.key, not self.truth)


@dataclass(frozen=True, slots=True)
class GuardSite:
    """The guard that set a mode: its name as written, its form (with, decorator, call, helper, entered), the place,
    the call depth of the function that holds it, and whether its effect hangs on an argument (`varies`)."""

    name: str
    form: str
    site: Site
    depth: int = 0
    function: str = ""
    varies: bool = False


@dataclass(frozen=True, slots=True)
class Mode:
    """`grad` and `inference` as torch keeps them; `grad` is None where it is unknown, with `when` naming the
    condition under which it is on, if one is known. `guard` set the mode."""

    grad: bool | None = True
    inference: bool = False
    guard: GuardSite | None = None
    when: When | None = None

    @property
    def records(self) -> bool | None:
        """Whether operations are recorded: True, False, or None for unknown."""
        if self.inference:
            return False
        return self.grad

    def switched(self, effect: str, guard: GuardSite, when: When | None = None) -> Mode:
        """The mode inside a guard. `effect` is off, on, inference or normal (`inference_mode(False)`)."""
        match effect:
            case "off":
                if when is not None:
                    return (
                        self
                        if self.grad is False
                        else replace(self, grad=None, guard=guard, when=when.negated())
                    )
                return replace(
                    self, grad=False, guard=self.guard if self.records is False else guard, when=None
                )
            case "inference":
                if when is not None:
                    return (
                        self
                        if self.grad is False
                        else replace(self, grad=None, guard=guard, when=when.negated())
                    )
                return Mode(False, True, guard)
            case "on":
                if when is not None:
                    return self if self.grad is True else replace(self, grad=None, guard=guard, when=when)
                return replace(self, grad=True, guard=self.guard if self.inference else guard, when=None)
            case "normal":
                return Mode(True, False, guard)
            case "unknown":
                return self if self.records is False else replace(self, grad=None, guard=guard, when=when)
        return self


ON = Mode()
