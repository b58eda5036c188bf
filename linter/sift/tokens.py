"""Whether a text can hold a finding at all, told from its bytes.

A file that does not pass is never parsed, so every form that some rule speaks of must pass; what passes in
vain costs only time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

GUARDS = (
    "no_grad",
    "inference_mode",
    "set_grad_enabled",
    "_set_grad_enabled",
    "enable_grad",
    "grad_mode",
    "no_autodiff",
    "stop_gradient",
)
"""Words that switch recording off or on."""

MISSPELT = (
    "nograd",
    "no_grads",
    "nograds",
    "no_gradient",
    "no_gradients",
    "nogard",
    "no_gard",
    "disable_grad",
    "inferencemode",
    "inferance_mode",
    "inference_modes",
    "set_grad_enable",
    "set_grads_enabled",
    "set_grad_mode",
    "enable_grads",
    "enable_gradient",
)
"""Words that were meant to be a guard."""

MISCALLED = (("torch.inference", r"torch\.inference\b(?!\s*\.)"),)
"""Wrong names of guards that by themselves are common words."""

MISSPELT_FLAGS = (
    "require_grad",
    "requires_grads",
    "require_grads",
    "required_grad",
    "requires_gradient",
    "requiers_grad",
    "requires_gard",
    "require_gradient",
    "need_grad",
    "needs_grad",
)
"""Attributes that were meant to be `requires_grad`; they pass a text that sets one."""

SINKS = (
    (".backward", r"\.backward\s*\("),
    ("_backward", r"_backward\b(?<=\bmanual_backward)"),
    ("autograd", r"autograd\s*\.\s*grad\s*\("),
    ("paddle.grad", r"paddle\.grad\s*\("),
    ("autograd", r"autograd\s+import\s*(?:\([^)]*|[^\n]*)\bgrad\b"),
    (".update_params", r"\.update_params\s*\("),
    ("loss_and_grads", r"loss_and_grads\b"),
    ("differentiable_loss", r"differentiable_loss\b"),
)
"""What asks for a gradient. The cause may lie in another file or in an operator, so a sink stands alone."""

FLAGS = (
    (".requires_grad", r"\.requires_grad\s*=[^=]"),
    (".requires_grad_", r"\.requires_grad_\b(?!\s*\()"),
    ("setattr(", r"""setattr\([^\n]*["']requires_grad\b"""),
    *(
        (made, re.escape(made) + r"(?![\d\[\-])[^\n]*\brequires_grad\s*=\s*True")
        for made in ("Variable(", "tensor(", "Parameter(")
    ),
)
"""Flags that are set where nobody may read them, or on a value made from another."""

SKIPS = (
    (".grad", r"\.grad\s*(?:is\b|==|!=|and\b|or\b|:)"),
    (".grad", r"\.grad\b(?<!autograd\.grad)(?<!func\.grad)(?!\s*=[^=])[^\0]{0,200}?\bis\s+(?:not\s+)?None"),
    ("attr(", r"""attr\([^\n)]*["']grad\b"""),
)
"""Tests for a missing gradient."""

SUPPRESSIONS = (("GRD", r"GRD\d"), ("grd", r"grd\d"), ("gradguard", r"gradguard\s*:"))
"""Comments that silence a finding: one that silences nothing is itself reported."""

_CUTS = (".", r"\.(?:detach|data|item|numpy|tensor)\b")
TOGETHER = (
    (("requires_grad", r"requires_grad\s*=\s*True"), ("_(", r"_\((?<=[a-z0-9]_\()(?<!__\()")),
    ((".minimize", r"\.minimize\s*\("), ("paddle", r"paddle\b")),
    (("def training_step", r"def training_step\b"), _CUTS),
    (("def compute_loss", r"def compute_loss\b"), _CUTS),
)
"""Pairs that say something only when both are there: a leaf and a write in place, a hook and a cut."""

_STEMS = ("grad", "gard", "infer", "backward", "no_autodiff", "e_loss")
"""What many of the clues have in common, so that all that hold it are told by one search; each of the words that can be
bound holds one."""

RUST_CRATES = ("tenferro", "tch", "candle", "burn")
RUST_WORDS = ("backward", "no_grad", "grad")

Clue = tuple[str, str]
"""A substring to look for first, which is cheap, and the pattern that decides."""


def sift(data: bytes, extra: Iterable[str] = ()) -> bool:
    """Whether a Python file or notebook, as its bytes, can hold a finding.

    `extra` are further words that pass a file: guards and sinks that the user's settings name, and names
    that guards are bound to (`aliases`).
    """
    return sift_text(data.decode("latin-1"), extra)


@dataclass(frozen=True, slots=True)
class Clues:
    """The clues that are worth a look in a text or a piece of it, and the pairs of which both are."""

    alone: tuple[Clue, ...]
    together: tuple[tuple[Clue, Clue], ...]

    def hold(self, text: str) -> bool:
        """Whether the text can hold a finding of its own."""
        return _hold(text, self.alone, self.together)


def clues_in(text: str, extra: Iterable[str] = ()) -> Clues:
    """The clues whose words stand in a text, the names among them that it gives to guards; `extra` as for `sift`."""
    rows = _telling_rows(text)
    return Clues(
        tuple(_candidates(text, rows, _bound_in(rows).union(extra))),
        tuple(_pairs(text, rows)),
    )


def sift_text(text: str, extra: Iterable[str] = ()) -> bool:
    """Whether a piece of Python text can hold a finding of its own; `extra` as for `sift`."""
    rows = _telling_rows(text)
    return _hold(text, _candidates(text, rows, extra), _pairs(text, rows))


def _candidates(text: str, telling: str, extra: Iterable[str]) -> Iterator[Clue]:
    """The clues whose words stand in a text, of which `telling` are the rows that hold a stem."""
    for stem, clues in _by_stem():
        held = telling if stem in _STEMS else text
        if stem in held:
            yield from (clue for clue in clues if clue[0] in held)
    yield from (_word(word) for word in extra if word in text)


def _pairs(text: str, telling: str) -> Iterator[tuple[Clue, Clue]]:
    """The pairs of which both words stand in a text, of which `telling` are the rows that hold a stem."""
    for pair in TOGETHER:
        if all(needle in (telling if _stem_in(needle) else text) for needle, _ in pair):
            yield pair


def _stem_in(word: str) -> bool:
    return any(stem in word for stem in _STEMS)


def _telling_rows(text: str) -> str:
    """The rows that hold a stem: what many words are looked for in should be short."""
    rows: dict[int, str] = {}
    for stem in _STEMS:
        at = text.find(stem)
        while at >= 0:
            start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
            rows[start] = text[start : end if end >= 0 else None]
            at = text.find(stem, end) if end >= 0 else -1
    return "\n".join(rows[start] for start in sorted(rows))


def _hold(text: str, alone: Iterable[Clue], together: Iterable[tuple[Clue, Clue]]) -> bool:
    return any(_holds(text, clue) for clue in alone) or any(
        _holds(text, first) and _holds(text, second) for first, second in together
    )


def sift_rust(data: bytes, crates: Iterable[str] = ()) -> bool:
    """Whether a Rust file can hold a finding: it names a crate that differentiates, and a gradient.

    `crates` are further crates, which the user's settings name: whatever names one passes.
    """
    text = data.decode("latin-1")
    if any(_holds(text, _word(crate)) for crate in crates):
        return True
    return any(word in text for word in RUST_WORDS) and any(_holds(text, crate) for crate in _crates())


def aliases(text: str) -> frozenset[str]:
    """Names that imports and assignments in `text` bind to a guard, or to what asks for a gradient."""
    return _bound_in(_telling_rows(text))


def _bound_in(rows: str) -> frozenset[str]:
    return frozenset(name for match in _bindings().finditer(rows) for name in match.groups() if name)


def _holds(text: str, clue: Clue) -> bool:
    needle, pattern = clue
    return needle in text and compiled(pattern).search(text) is not None


def _word(word: str) -> Clue:
    """The word, not as a part of a longer one; a pattern that starts with a literal is searched fast."""
    literal = re.escape(word)
    return word, rf"{literal}(?!\w)(?<!\w{literal})"


def _set_flag(name: str) -> Clue:
    return f".{name}", rf"\.{name}\s*=[^=]"


@lru_cache(maxsize=256)
def compiled(pattern: str) -> re.Pattern[str]:
    """The compiled pattern of a clue."""
    return re.compile(pattern)


@lru_cache(maxsize=1)
def _alone() -> tuple[Clue, ...]:
    words = map(_word, (*GUARDS, *MISSPELT))
    return (*words, *MISCALLED, *map(_set_flag, MISSPELT_FLAGS), *SINKS, *FLAGS, *SKIPS, *SUPPRESSIONS)


@lru_cache(maxsize=1)
def _by_stem() -> tuple[tuple[str, tuple[Clue, ...]], ...]:
    """The clues by something short that stands in whatever they match: most texts hold next to none of these."""
    found: dict[str, list[Clue]] = {}
    for clue in _alone():
        stem = next((stem for stem in _STEMS if stem in clue[0] or stem in clue[1]), clue[0])
        found.setdefault(stem, []).append(clue)
    return tuple((stem, tuple(clues)) for stem, clues in found.items())


@lru_cache(maxsize=1)
def _crates() -> tuple[Clue, ...]:
    return tuple((crate, rf"{crate}(?:_\w+)?\b(?<!\w{crate})") for crate in RUST_CRATES)


@lru_cache(maxsize=1)
def _bindings() -> re.Pattern[str]:
    guards = "|".join((*GUARDS, *MISSPELT))
    return re.compile(
        rf"\b(?:{guards}|autograd|grad|backward)\s+as\s+(\w+)"
        rf"|^[ \t]*(\w+)\s*=\s*(?:\w+\s*\.\s*)*(?:{guards}|autograd\.grad)\b(?!\s*\.)(?!\(\w+\s*,)"
        r"|\bautograd\s+import\s*(?:\([^)]*|[^\n]*)\b(grad|backward)\b(?:\s+as\s+(\w+))?",
        re.MULTILINE,
    )
