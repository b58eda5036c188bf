"""How long gradguard takes beside ruff, flake8 and TorchFix, written into docs/speed.md.

    python benches/speed.py --transformers FOLDER [--rust FOLDER] [--torchfix COMMAND] [--only cold,warm,...]

Whole processes in turn, A B A B, five rounds after a warm-up; tables hold medians. A machine that does anything
else meanwhile measures that too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from timing.corpora import Corpus, copy, joined, machine, size_of, sources_in, with_statement
from timing.processes import ROUNDS, Bench, Call
from timing.tables import Row, megabytes, number, put, ratio, seconds, table

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "speed.md"
FIXTURES = ROOT / "fixtures"
COPIES = (1, 2, 4, 8)
FOLLOWED = {
    "torch": ("nn/modules/module.py", "optim/optimizer.py", "utils/_pytree.py"),
    "transformers": ("modeling_layers.py", "modeling_utils.py", "trainer.py", "utils/generic.py"),
}
"""Files of the corpora that many others import."""


@dataclass(frozen=True, slots=True)
class Tools:
    """What is run, and on what. `folder` is a place for files that live as long as the bench."""

    bench: Bench
    folder: Path
    corpora: tuple[Corpus, ...]
    tree: Path
    rust: Path
    torchfix: str | None
    patience: float

    def ours(self, *arguments: str | Path, before: Callable[[], None] = lambda: None) -> Call:
        """A call of `gradguard check`."""
        return Call([sys.executable, "-m", "gradguard", "check", "--isolated", "-q", *arguments], before)

    def ruff(self, folder: Path) -> Call:
        """The call that times are compared with."""
        found = shutil.which("ruff", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
        if found is None:
            raise SystemExit("ruff is not installed")
        return Call([found, "check", "--no-cache", "--isolated", "--select", "F", "-q", folder])

    def flake8(self, file: Path) -> Call:
        """flake8 as it comes."""
        return Call([sys.executable, "-m", "flake8", "--isolated", file])


def cold(tools: Tools) -> Iterator[Row]:
    """Everything analysed, by two processes."""
    for corpus in tools.corpora:
        found = tools.bench.in_turn(
            {
                "ours": tools.ours("--no-cache", "--jobs", "2", corpus.folder),
                "ruff": tools.ruff(corpus.folder),
            }
        )
        ours, ruff = found["ours"], found["ruff"]
        yield Row(
            f"cold, {corpus.name}",
            seconds(ours.wall),
            f"ruff, {seconds(ruff.wall)}",
            ratio(ours.wall, ruff.wall),
            at_most=10,
        )
        yield memory_row(f"memory of a process, {corpus.name}", ours.memory)
        if corpus.name == "torch" and tools.torchfix is not None:
            yield torchfix_row(tools, corpus, ours.wall)


def memory_row(run: str, taken: int) -> Row:
    """The most memory that a process held."""
    return Row(run, f"{megabytes(taken):.0f} MB", "", megabytes(taken), "MB", at_most=400)


def torchfix_row(tools: Tools, corpus: Corpus, ours: float) -> Row:
    """TorchFix once, stopped when patience ends."""
    usage = tools.bench.once(Call([str(tools.torchfix), corpus.folder]), tools.patience)
    told = f"TorchFix, {'' if usage.finished else 'stopped after '}{seconds(usage.wall)}"
    return Row(
        f"cold, {corpus.name}",
        seconds(ours),
        told,
        ratio(usage.wall, ours),
        "times faster",
        at_least=100,
        is_bound=not usage.finished,
    )


def warm(tools: Tools) -> Iterator[Row]:
    """Runs with a cache: nothing changed, and one file changed that others import."""
    for corpus in tools.corpora:
        folder = copy(corpus.folder, tools.folder / "warm" / corpus.name)
        cache = tools.folder / "cache" / corpus.name
        call = tools.ours("--cache-dir", cache, folder)
        fill(tools, call)
        found = tools.bench.in_turn({"ours": call, "ruff": tools.ruff(folder)})
        yield compared(f"nothing changed, {corpus.name}", found["ours"].wall, found["ruff"].wall, 0.5)
        for name in FOLLOWED.get(corpus.name, ()):
            changing = tools.ours("--cache-dir", cache, folder, before=changer(folder / name))
            found = tools.bench.in_turn({"ours": changing, "ruff": tools.ruff(folder)})
            run = f"`{name}` changed, {corpus.name}"
            yield compared(run, found["ours"].wall, found["ruff"].wall, 1.5)


def fill(tools: Tools, call: Call) -> None:
    """Fill a cache, and let the times of the copied files settle."""
    import time

    tools.bench.once(call)
    time.sleep(4)
    tools.bench.once(call)


def changer(path: Path) -> Callable[[], None]:
    """Adds a statement to the last function of the file each time."""
    count = 0

    def change() -> None:
        nonlocal count
        count += 1
        path.write_text(with_statement(path.read_text(encoding="utf-8"), f"_ = {count}"), encoding="utf-8")

    return change


def compared(run: str, ours: float, ruff: float, at_most: float) -> Row:
    """A time of ours beside one of ruff's."""
    return Row(run, seconds(ours), f"ruff, {seconds(ruff)}", ratio(ours, ruff), at_most=at_most)


def small(tools: Tools) -> Iterator[Row]:
    """Single files: one without suspects, and one with many findings."""
    plain = tools.folder / "plain.py"
    plain.write_text("import torch\n\n\ndef double(x: torch.Tensor) -> torch.Tensor:\n    return 2 * x\n")
    found = tools.bench.in_turn({"ours": tools.ours(plain), "python": Call([sys.executable, "-c", "pass"])})
    ours, python = found["ours"].processor, found["python"].processor
    yield Row(
        "one file without suspects, processor time",
        seconds(ours),
        f"`python -c pass`, {seconds(python)}",
        (ours - python) * 1000,
        "ms more",
        at_most=150,
    )
    faulty = tools.folder / "faulty.py"
    kinds = [*sources_in(FIXTURES / "kinds"), *sources_in(FIXTURES / "cases" / "bad")]
    faulty.write_text(joined(kinds, 1_000), encoding="utf-8")
    lines = faulty.read_text(encoding="utf-8").count("\n")
    found = tools.bench.in_turn({"ours": tools.ours("--no-cache", faulty), "flake8": tools.flake8(faulty)})
    yield Row(
        f"one file of {lines:,} lines with findings, replay included",
        seconds(found["ours"].wall),
        f"flake8, {seconds(found['flake8'].wall)}",
        ratio(found["ours"].wall, found["flake8"].wall),
        at_most=3,
    )


def growth(tools: Tools) -> Iterator[Row]:
    """Copies of a tree with one process, and a corpus with one and with two."""
    calls: dict[str, Call] = {}
    for count in COPIES:
        folder = tools.folder / "copies" / str(count)
        for number_of_copy in range(count):
            copy(tools.tree, folder / f"copy{number_of_copy}" / tools.tree.name)
        calls[str(count)] = tools.ours("--no-cache", "--jobs", "1", folder)
    found = tools.bench.in_turn(calls)
    single = found["1"].wall
    for count in COPIES[1:]:
        took = found[str(count)].wall
        yield Row(
            f"{count} copies of a tree, one process",
            seconds(took),
            f"one, {seconds(single)}",
            ratio(took, count * single),
            f"of {count} times one",
            at_most=1.15,
            at_least=0.85,
        )
    for corpus in tools.corpora:
        jobs = {count: tools.ours("--no-cache", "--jobs", count, corpus.folder) for count in ("1", "2")}
        times = tools.bench.in_turn(jobs)
        one, two = times["1"].wall, times["2"].wall
        yield Row(
            f"two processes, {corpus.name}",
            seconds(two),
            f"one process, {seconds(one)}",
            ratio(one, two),
            "times faster",
            at_least=1.7,
        )


def rust(tools: Tools) -> Iterator[Row]:
    """A folder of Rust sources."""
    files, lines = size_of(tools.rust, (".rs",))
    found = tools.bench.in_turn({"ours": tools.ours("--no-cache", "--jobs", "1", tools.rust)})
    took = found["ours"].wall
    yield Row(
        f"{files} Rust files, one process",
        seconds(took),
        f"{lines:,} lines",
        lines / took / 1000,
        "thousand lines/s",
    )
    yield memory_row("memory of the process", found["ours"].memory)


PARTS: dict[str, Callable[[Tools], Iterator[Row]]] = {
    "cold": cold,
    "warm": warm,
    "small": small,
    "growth": growth,
    "rust": rust,
}


def main() -> None:
    """Measure what was asked for, print the tables, and write them into the document."""
    told = arguments().parse_args()
    parts = [part for part in told.only.split(",") if part] or list(PARTS)
    if unknown := [part for part in parts if part not in PARTS]:
        raise SystemExit(f"no part `{unknown[0]}`, there are: {', '.join(PARTS)}")
    corpora = [Corpus("torch", told.torch)] if told.torch else []
    corpora += [Corpus("transformers", told.transformers)] if told.transformers else []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bench = Bench(folder, environment(folder), told.rounds)
        tools = Tools(
            bench, folder, tuple(corpora), told.tree, told.rust, told.torchfix, told.torchfix_seconds
        )
        for part in parts:
            drawn = table(list(PARTS[part](tools)))
            print(f"{part}\n\n{drawn}", flush=True)
            if not told.dry:
                put(DOCUMENT, part, f"{drawn}\n{told.rounds} {'round' if told.rounds == 1 else 'rounds'}.\n")
    if not told.dry:
        put(DOCUMENT, "machine", f"{machine()}.\n")
        sizes = [(corpus.name, *size_of(corpus.folder)) for corpus in corpora]
        listed = "; ".join(f"{name}: {files:,} files, {number(lines)} lines" for name, files, lines in sizes)
        put(DOCUMENT, "corpora", f"{listed}.\n")


def environment(folder: Path) -> dict[str, str]:
    """That of the children: what they import is compiled once, as it is where packages are installed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if "PYTHONPATH" in os.environ:
        kept["PYTHONPATH"] = os.environ["PYTHONPATH"]
    return {**kept, "PYTHONPYCACHEPREFIX": str(folder / "compiled")}


def arguments() -> argparse.ArgumentParser:
    """The options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    spec = find_spec("torch")
    places = spec.submodule_search_locations if spec is not None else None
    installed = Path(places[0]) if places else None
    parser.add_argument(
        "--torch", type=Path, default=installed, help="torch's sources (default: the installed)"
    )
    parser.add_argument("--transformers", type=Path, help="transformers' sources")
    parser.add_argument(
        "--tree", type=Path, default=FIXTURES, help="the tree that is copied to see how cost grows"
    )
    parser.add_argument("--rust", type=Path, default=FIXTURES / "rust", help="a folder of Rust sources")
    parser.add_argument("--torchfix", help="the command of an installed TorchFix")
    parser.add_argument("--torchfix-seconds", type=float, default=600.0, help="how long to wait for it")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--only", default="", help=f"parts to measure, of {', '.join(PARTS)}")
    parser.add_argument("--dry", action="store_true", help="print the tables only")
    return parser


if __name__ == "__main__":
    main()
