"""Training files of unpacked packages."""

from __future__ import annotations

import ast
import hashlib
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGES = (
    "accelerate",
    "adversarial-robustness-toolbox",
    "botorch",
    "captum",
    "catalyst",
    "deepspeed",
    "diffusers",
    "e3nn",
    "fairscale",
    "fastai",
    "gpytorch",
    "higher",
    "kornia",
    "learn2learn",
    "lightning",
    "monai",
    "nerfstudio",
    "open-clip-torch",
    "peft",
    "pyro-ppl",
    "pytorch-optimizer",
    "segmentation-models-pytorch",
    "sentence-transformers",
    "skorch",
    "speechbrain",
    "stable-baselines3",
    "tianshou",
    "timm",
    "torch-geometric",
    "torchattacks",
    "torchrl",
    "transformers",
    "trl",
    "ultralytics",
)
_ASKS = re.compile(r"\.(?:manual_)?backward\(")
_TORCH = re.compile(r"^\s*(?:import|from) torch\b", re.MULTILINE)
# A file that turns recording on or off itself is left alone: what is planted there might not be a fault.
_SWITCHES = re.compile(r"\benable_grad\b|set_grad_enabled\(")
_REKINDLING = re.compile(
    r"\benable_grad\b|set_grad_enabled\(\s*True|inference_mode\(\s*(?:mode\s*=\s*)?False"
)


@dataclass(frozen=True, slots=True)
class TrainingFile:
    """`name` is the path below the folder of packages."""

    path: Path
    name: str


def training_files(root: Path) -> tuple[TrainingFile, ...]:
    """The files below `root` that ask torch for a backward and leave the grad mode alone, by name.

    Of files with the same text only the first counts.
    """
    found, seen = [], set()
    for path in sorted(root.rglob("*.py")):
        text = _text(path)
        if text is None or not _ASKS.search(text) or not _TORCH.search(text) or _SWITCHES.search(text):
            continue
        digest = hashlib.sha256(text.replace("pytorch_lightning", "lightning.pytorch").encode()).digest()
        if digest not in seen:
            seen.add(digest)
            found.append(TrainingFile(path, path.relative_to(root).as_posix()))
    return tuple(found)


def rekindling_names(root: Path) -> frozenset[str]:
    """Names of the functions and methods anywhere below `root` that switch recording on."""
    names: set[str] = set()
    for path in sorted(root.rglob("*.py")):
        text = _text(path)
        if text is not None and "torch" in text and _REKINDLING.search(text):
            names.update(_rekindling_in(text))
    return frozenset(names - {"forward", "__call__", "main", "train", "step", "__init__"})


def download(packages: Sequence[str], cache: Path) -> Path:
    """Fetch the packages from PyPI without their dependencies and unpack them; the folder that holds them."""
    archives, unpacked = cache / "dl", cache / "src"
    archives.mkdir(parents=True, exist_ok=True)
    for package in packages:
        folder = unpacked / package.replace("-", "_")
        if folder.exists():
            continue
        subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--dest", str(archives), package],
            check=True,
        )
        for archive in sorted(archives.glob(f"{package.replace('-', '[-_.]')}-[0-9]*")):
            _unpack(archive, folder)
    return unpacked


def _unpack(archive: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if archive.suffix in (".whl", ".zip"):
        with zipfile.ZipFile(archive) as held:
            held.extractall(folder)
    else:
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError):
        return None


def _rekindling_in(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    rows = [row for row, line in enumerate(text.split("\n"), 1) if _REKINDLING.search(line)]
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if any(first <= row <= (node.end_lineno or first) for row in rows):
                yield node.name


def read(path: Path) -> tuple[str, ast.Module] | None:
    """A file's text with plain line ends, and its tree; None where it is none of ours."""
    text = _text(path)
    if text is None or "\f" in text:
        return None
    try:
        return text, ast.parse(text)
    except (SyntaxError, ValueError):
        return None
