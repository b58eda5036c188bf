"""What is measured on, and on what."""

from __future__ import annotations

import ast
import os
import platform
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

PYTHON = (".py", ".pyi")


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder of sources under the name that tables give it."""

    name: str
    folder: Path


def sources_in(folder: Path, suffixes: tuple[str, ...] = PYTHON) -> Iterator[Path]:
    """The source files of a folder, in order."""
    return (path for path in sorted(folder.rglob("*")) if path.suffix in suffixes and path.is_file())


def size_of(folder: Path, suffixes: tuple[str, ...] = PYTHON) -> tuple[int, int]:
    """How many source files lie in a folder, and how many lines they have."""
    sizes = [path.read_bytes().count(b"\n") for path in sources_in(folder, suffixes)]
    return len(sizes), sum(sizes)


def copy(folder: Path, target: Path, suffixes: tuple[str, ...] = PYTHON) -> Path:
    """Copy the sources of a folder, and nothing else; the new folder is returned."""
    for path in sources_in(folder, suffixes):
        place = target / path.relative_to(folder)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    return target


def joined(paths: Iterable[Path], lines: int) -> str:
    """Whole files, one behind the other, until there are so many lines."""
    text = ""
    for path in paths:
        if text.count("\n") >= lines:
            break
        text += path.read_text(encoding="utf-8").rstrip("\n") + "\n\n\n"
    return text


def with_statement(text: str, statement: str) -> str:
    """A Python text with a statement before the last of its last function. Raises ValueError where it has none."""
    functions = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.body[-1].lineno > node.lineno
    ]
    if not functions:
        raise ValueError("no function")
    last = max(functions, key=lambda node: node.lineno).body[-1]
    lines = text.split("\n")
    lines.insert(last.lineno - 1, " " * last.col_offset + statement)
    return "\n".join(lines)


def machine() -> str:
    """The facts of this machine that times depend on."""
    cores = len(os.sched_getaffinity(0))
    return (
        f"{_processor()}, {cores} {'core' if cores == 1 else 'cores'}; {platform.system()}; "
        f"{platform.python_implementation()} {platform.python_version()}"
    )


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in text.splitlines() if line.startswith("model name")]
    return names[0] if names else platform.machine()
