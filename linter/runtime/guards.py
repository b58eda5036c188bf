"""The four guards of torch, as context managers and as decorators.

What each does on construction, entry and exit was observed on torch 2.13: a ``no_grad``
object remembers one previous mode only, ``set_grad_enabled`` acts when it is built, and
``inference_mode`` restores when the object it holds is dropped.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Generator

from gradguard.runtime.modes import modes
from gradguard.runtime.unchecked import Unchecked


class _DecoratorContextManager:
    def __enter__(self) -> None:
        raise NotImplementedError

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        raise NotImplementedError

    def __call__(self, orig_func: Unchecked) -> Callable[..., Unchecked]:
        func = orig_func
        if inspect.isclass(orig_func):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You "
                "should only decorate functions or methods. To preserve the current behavior of "
                "class decoration, you can directly decorate the `__init__` method and nothing "
                "else.",
                FutureWarning,
                stacklevel=2,
            )

            def construct(*args: Unchecked, **kwargs: Unchecked) -> Unchecked:
                return orig_func(*args, **kwargs)

            func = construct
        return _guarded(self.clone, func)

    def clone(self) -> _DecoratorContextManager:
        """Return a guard of the same kind, for one call of a decorated function."""
        return self.__class__()


def _guarded(fresh_guard: Callable[[], Unchecked], func: Unchecked) -> Callable[..., Unchecked]:
    if inspect.isgeneratorfunction(func):
        return _guarded_generator(fresh_guard, func)

    @functools.wraps(func)
    def decorate_context(*args: Unchecked, **kwargs: Unchecked) -> Unchecked:
        with fresh_guard():
            return func(*args, **kwargs)

    return decorate_context


def _guarded_generator(fresh_guard: Callable[[], Unchecked], func: Unchecked) -> Callable[..., Unchecked]:
    # The guard stands around each resumption only: the consumer between two of them must
    # run in its own mode.
    @functools.wraps(func)
    def generator_context(
        *args: Unchecked, **kwargs: Unchecked
    ) -> Generator[Unchecked, Unchecked, Unchecked]:
        gen = func(*args, **kwargs)
        try:
            with fresh_guard():
                response = gen.send(None)
            while True:
                try:
                    request = yield response
                except GeneratorExit:
                    with fresh_guard():
                        gen.close()
                    raise
                except BaseException as error:
                    with fresh_guard():
                        response = gen.throw(error)
                else:
                    with fresh_guard():
                        response = gen.send(request)
        except StopIteration as stop:
            return stop.value

    return generator_context


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    # ``torch.no_grad(x)`` decorates x, whatever it is: the result is a function.
    def __new__(cls, orig_func: Unchecked = None) -> Unchecked:
        if orig_func is None:
            return super().__new__(cls)
        return cls()(orig_func)


class no_grad(_NoParamDecoratorContextManager):
    """Switch recording off for a block, or for the calls of a decorated function."""

    def __init__(self) -> None:
        """Remember nothing yet: leaving before entering switches grad off (torch 2.13)."""
        self.prev = False

    def __enter__(self) -> None:
        """Switch the grad mode off."""
        self.prev = modes.grad
        modes.grad = False

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        """Put back the mode found by the last entry."""
        modes.grad = self.prev


class enable_grad(_NoParamDecoratorContextManager):
    """Switch recording on for a block; inside inference mode nothing is recorded even so."""

    def __enter__(self) -> None:
        """Switch the grad mode on."""
        self.prev = modes.grad
        modes.grad = True

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        """Put back the mode found by the last entry."""
        modes.grad = self.prev


class set_grad_enabled(_DecoratorContextManager):
    """Set the grad mode at once, and put the earlier one back on leaving a with-block."""

    def __init__(self, mode: bool) -> None:
        """Set the grad mode.

        Raises:
            TypeError: ``mode`` is not a bool.
        """
        self.prev = modes.grad
        self.mode = mode
        self._set(mode)

    @staticmethod
    def _set(mode: bool) -> None:
        if not isinstance(mode, bool):
            raise TypeError(
                "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not " + type(mode).__name__
            )
        modes.grad = mode

    def __call__(self, orig_func: Unchecked) -> Callable[..., Unchecked]:
        """Decorate: undo the effect that building the guard had, then wrap."""
        modes.grad = self.prev
        return super().__call__(orig_func)

    def __enter__(self) -> None:
        """Set the mode again; the one to put back stays that of the construction."""
        modes.grad = self.mode

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        """Put back the mode found by the constructor."""
        modes.grad = self.prev

    def clone(self) -> set_grad_enabled:
        """Return a guard of the same mode."""
        return self.__class__(self.mode)

    def __repr__(self) -> str:
        """Return the spelling torch 2.13 prints."""
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"


class _InferenceScope:
    """Both modes, switched when built and put back when left or dropped, whichever is first."""

    def __init__(self, mode: bool) -> None:
        self._before: tuple[bool, bool] | None = (modes.grad, modes.inference)
        modes.inference = mode
        modes.grad = not mode

    def leave(self) -> None:
        """Put the modes back, once."""
        if self._before is not None:
            modes.grad, modes.inference = self._before
            self._before = None

    def __del__(self) -> None:
        self.leave()


class inference_mode(_DecoratorContextManager):
    """Switch recording, view tracking and version counting off for what the block creates."""

    def __new__(cls, mode: Unchecked = True) -> Unchecked:
        """Build a guard; anything but a bool is decorated instead (torch 2.13)."""
        if isinstance(mode, bool):
            return super().__new__(cls)
        return cls()(mode)

    def __init__(self, mode: bool = True) -> None:
        """Keep the mode: ``inference_mode(False)`` switches recording on, even in no_grad."""
        self.mode = mode

    def __enter__(self) -> None:
        """Enter; entering twice drops, and so undoes, the first scope inside the second."""
        self._scope = _InferenceScope(self.mode)

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        """Put both modes back."""
        self._scope.leave()

    def clone(self) -> inference_mode:
        """Return a guard of the same mode."""
        guard: inference_mode = self.__class__(self.mode)
        return guard


class set_detect_anomaly:
    """Accepted and without effect: it changes what torch prints, not what it does."""

    def __init__(self, mode: bool = True, check_nan: bool = True) -> None:
        """Take torch's options."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        """Do nothing."""
