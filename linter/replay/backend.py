"""The framework that a replay runs on: the embedded runtime, or torch itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType

from gradguard.replay.trace import Modes
from gradguard.replay.value import Value


@dataclass(frozen=True)
class Backend:
    """`torch` is the module that stands for torch; `profile` is the embedded runtime's, "" on real torch."""

    torch: ModuleType
    profile: str

    @property
    def embedded(self) -> bool:
        """Whether this is the embedded runtime."""
        return bool(self.profile)

    def modes(self) -> Modes:
        """The modes of the running thread."""
        return Modes(self.torch.is_grad_enabled(), self.torch.is_inference_mode_enabled())

    def is_tensor(self, value: Value) -> bool:
        """Whether a value is one of the framework's tensors."""
        return isinstance(value, self.torch.Tensor)

    @contextmanager
    def ordinary(self) -> Iterator[None]:
        """Run the block with recording on and inference mode off, whatever the program has set."""
        with self.torch.inference_mode(False), self.torch.enable_grad():
            yield

    @contextmanager
    def in_mode_of(self, tensor: Value) -> Iterator[None]:
        """Run the block in a mode in which what is made from `tensor` is tracked exactly when `tensor` is."""
        if tensor.is_inference():
            with self.torch.inference_mode():
                yield
        elif tensor.requires_grad:
            with self.ordinary():
                yield
        else:
            with self.torch.inference_mode(False), self.torch.no_grad():
                yield

    @contextmanager
    def thread(self) -> Iterator[None]:
        """Run the block in the modes of a new thread, and leave none of its own behind."""
        if self.embedded:
            from gradguard.runtime import fresh_modes
            from gradguard.runtime.profiles import PROFILES

            with fresh_modes(PROFILES[self.profile]):
                yield
            return
        before = self.modes()
        try:
            with self.torch.inference_mode(False):
                self.torch.set_grad_enabled(True)
                yield
        finally:
            self.torch.set_grad_enabled(before.grad)


def embedded(profile: str = "torch") -> Backend:
    """The embedded runtime under a profile."""
    import gradguard.runtime.torch as facade

    return Backend(facade, profile)


def real() -> Backend:
    """Installed torch; raises ImportError where there is none."""
    from importlib import import_module

    return Backend(import_module("torch"), "")
