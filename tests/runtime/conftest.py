"""Running small programs against a torch-like module, and comparing what they observe."""

from __future__ import annotations

import builtins
import importlib
import math
import re
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from gradguard.runtime.unchecked import Unchecked

# The part of a message that does not depend on the build or on the data is what stays
# when the message is cut where one of these starts.
_CUTS = (
    r": \[torch\.",
    r" Hint:",
    r"\n",
    r"\.You can make a clone",
    r"\. This is not allowed",
    r"\(function ",
    r", but got torch\.",
    r"\. Got ",
    r" at 0x",
    r" Specify retain_graph",
    r" \(or directly access",
)
_SENTENCE_END = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!\.)\.(\s|$)")


def stable(text: str) -> str:
    """Return the stable part of an error message."""
    text = text.strip()
    for cut in _CUTS:
        found = re.search(cut, text)
        if found and found.start() > 0:
            text = text[: found.start()]
    end = _SENTENCE_END.search(text)
    if end:
        text = text[: end.start()]
    return re.sub(r"\s+", " ", text).strip()


def plain(value: Unchecked) -> Unchecked:
    """Return an observed value as numbers, strings and lists."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"obs() cannot record {type(value).__name__}")


def same(a: Unchecked, b: Unchecked) -> bool:
    """Compare observations, numbers up to rounding; a bool is no number."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    return bool(a == b)


@dataclass
class Outcome:
    """What one run of a program observed."""

    observations: dict[str, Unchecked] = field(default_factory=dict)
    raises: tuple[str, str] | None = None
    end: tuple[bool, bool] = (True, False)
    crash: BaseException | None = None

    def differences(self, other: Outcome) -> list[str]:
        """Say where two outcomes differ."""
        names = {**self.observations, **other.observations}
        found = [
            f"{name}: {self.observations.get(name, '-')!r} / {other.observations.get(name, '-')!r}"
            for name in names
            if name not in self.observations
            or name not in other.observations
            or not same(self.observations[name], other.observations[name])
        ]
        if self.raises != other.raises:
            found.append(f"raises: {self.raises} / {other.raises}")
        if self.end != other.end:
            found.append(f"end: {self.end} / {other.end}")
        if self.crash or other.crash:
            found.append(f"crash: {self.crash!r} / {other.crash!r}")
        return found


class _Recorder:
    def __init__(self) -> None:
        self.outcome = Outcome()

    def obs(self, name: str, value: Unchecked) -> None:
        assert name not in self.outcome.observations, f"duplicate observation {name!r}"
        self.outcome.observations[name] = plain(value)

    def exc(self, name: str, error: BaseException) -> None:
        self.obs(name, f"{type(error).__name__}: {stable(str(error))}")

    def report(self, name: str, tensor: Unchecked) -> None:
        def part(read: Callable[[], Unchecked]) -> Unchecked:
            try:
                return plain(read())
            except RuntimeError as error:
                return "!" + type(error).__name__

        self.obs(
            name,
            [
                part(lambda: tensor.requires_grad),
                part(lambda: tensor.is_leaf),
                part(lambda: tensor.grad_fn is None),
                part(lambda: tensor.is_inference()),
                part(lambda: tensor.detach()),
                part(lambda: tensor.grad),
            ],
        )


def _importer(torch_name: str) -> Callable[..., Unchecked]:
    def import_module(name: str, *args: Unchecked, **kwargs: Unchecked) -> Unchecked:
        if name != "torch" and not name.startswith("torch."):
            return builtins.__import__(name, *args, **kwargs)
        module = importlib.import_module(torch_name + name[len("torch") :])
        fromlist = args[2] if len(args) > 2 else kwargs.get("fromlist")
        return module if fromlist else importlib.import_module(torch_name)

    return import_module


def run(source: str, torch_name: str = "gradguard.runtime.torch") -> Outcome:
    """Run a program in a thread of its own, where modes start fresh, ``import torch`` replaced."""
    torch = importlib.import_module(torch_name)
    recorder = _Recorder()
    outcome = recorder.outcome
    scope = {
        "__name__": "program",
        "__builtins__": {**vars(builtins), "__import__": _importer(torch_name)},
        "obs": recorder.obs,
        "exc": recorder.exc,
        "report": recorder.report,
    }

    def work() -> None:
        try:
            exec(compile(source, "<program>", "exec"), scope)
        except AssertionError as error:
            outcome.crash = error
        except Exception as error:
            outcome.raises = (type(error).__name__, stable(str(error)))
        outcome.end = (torch.is_grad_enabled(), torch.is_inference_mode_enabled())

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
    finally:
        torch.set_default_dtype(before)
    return outcome


@pytest.fixture(scope="session")
def run_program() -> Callable[..., Outcome]:
    """Give tests the runner."""
    return run
