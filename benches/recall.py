"""How many of the faults planted into training files of PyPI packages gradguard finds.

    python benches/recall.py --source FOLDER     (a folder for each unpacked package)
    python benches/recall.py --download CACHE    (fetch and unpack them first)

Each fault stands alone in a copy of a file, and is a fault by construction: see `planting`.
"""

from __future__ import annotations

import argparse
import ast
import sys
import tempfile
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from planting.callers import callers_of
from planting.files import PACKAGES, TrainingFile, download, read, rekindling_names, training_files
from planting.guards import CUTS, FORCED, Rotation, at_caller, at_site, from_another_file
from planting.plants import Edit, Plant, Planted, apply, importing
from planting.sites import Site, find_sites
from planting.skips import LOOPS, skipping

from gradguard import check_paths, check_text
from gradguard.findings import Finding

KINDS = (
    "guard around loss",
    "guard around forward and loss",
    "guard decorator",
    "mode switched off",
    *CUTS,
    *FORCED,
    "guard around caller",
    "guard in another file",
    *LOOPS,
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One planted fault and what came of it. `others` are new findings that do not count as finding it."""

    file: str
    line: int
    kind: str
    found: bool
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one file: its trials, and the findings on it as it is."""

    trials: tuple[Trial, ...]
    originals: tuple[str, ...]


def main(argv: Sequence[str] | None = None) -> int:
    options = _options(argv)
    root = download(options.packages or PACKAGES, options.download) if options.download else options.source
    files = [
        file
        for file in training_files(root)
        if options.file in file.name and file.path.stat().st_size <= 1000 * options.largest
    ]
    rekindling = rekindling_names(root)
    numbered = spread(list(enumerate(files)), options.limit)
    work = partial(
        run_file, kinds=options.kind, rekindling=rekindling, sites=options.sites, alone=options.alone
    )
    if options.jobs > 1:
        with ProcessPoolExecutor(options.jobs) as pool:
            outcomes = list(_told(pool.map(work, numbered), numbered))
    else:
        outcomes = list(_told(map(work, numbered), numbered))
    trials = [trial for outcome in outcomes for trial in outcome.trials]
    print(table(trials))
    originals = [line for outcome in outcomes for line in outcome.originals]
    print(f"\nfindings on the files as they are: {len(originals)}")
    for line in originals:
        print(f"  {line}")
    if options.misses:
        print("\nmisses:")
        for trial in (trial for trial in trials if not trial.found):
            told = f"  (told instead: {', '.join(trial.others)})" if trial.others else ""
            print(f"  {trial.file}:{trial.line}: {trial.kind}{told}")
    return 0


def spread(numbered: list[tuple[int, TrainingFile]], limit: int | None) -> list[tuple[int, TrainingFile]]:
    """At most `limit` of the files, evenly over all of them."""
    if limit is None or limit >= len(numbered):
        return numbered
    return [numbered[i * len(numbered) // limit] for i in range(limit)]


def _told(outcomes: Iterable[Outcome], numbered: Sequence[tuple[int, TrainingFile]]) -> Iterator[Outcome]:
    """The outcomes as they come; each file is named on standard error with its count."""
    for (_, file), outcome in zip(numbered, outcomes, strict=True):
        found = sum(trial.found for trial in outcome.trials)
        print(f"{file.name}: {found} of {len(outcome.trials)}", file=sys.stderr, flush=True)
        yield outcome


def run_file(
    numbered: tuple[int, TrainingFile],
    kinds: Sequence[str],
    rekindling: frozenset[str],
    sites: int,
    alone: bool,
) -> Outcome:
    """Plant each fault that the file has room for, one at a time, and look for it.

    `alone` checks the file as if it lay outside its package, which then counts as installed.
    """
    number, file = numbered
    warnings.simplefilter("ignore", SyntaxWarning)
    parsed = read(file.path)
    if parsed is None:
        return Outcome((), ())
    source, tree = parsed
    plants = [
        plant
        for plant in plants_in(source, tree, number, rekindling, sites)
        if not kinds or plant.kind in kinds
    ]
    if not plants:
        return Outcome((), ())
    filename = f"planted/{file.name}" if alone else str(file.path)
    try:
        before = check_text(source, filename=filename, preview=True, isolated=True)
    except Exception as error:  # a crash is the linter's fault, and must not end the bench
        return Outcome((), (f"{file.name}: CRASH {type(error).__name__}: {error}",))
    trials = []
    for plant in plants:
        try:
            trial = _try(file.name, filename, source, tree, plant, before)
        except Exception as error:
            trial = Trial(
                file.name, plant.line, plant.kind, False, (f"crash: {type(error).__name__}: {error}",)
            )
        if trial is not None:
            trials.append(trial)
    originals = tuple(
        f"{file.name}:{f.span.start.row}: {f.code} {f.message} [{f.confidence}]" for f in before
    )
    return Outcome(tuple(trials), originals if trials else ())


def plants_in(
    source: str, tree: ast.Module, number: int, rekindling: frozenset[str], sites: int
) -> Iterator[Plant]:
    """All faults for a file, the forms of guards and loops in turn from the file's number on."""
    lines = source.splitlines()
    rotation = Rotation(number)
    importable = importing(tree, source)
    for site in _chosen(find_sites(tree, rekindling), sites):
        for plant in at_site(site, lines, rotation):
            yield _with_import(plant, importable)
        if site.function is not None and (site.making or site.forward):
            for caller in callers_of(tree, site.function, site.owner)[:1]:
                planted = at_caller(site, caller, lines, rotation)
                if planted is not None:
                    yield _with_import(planted, importable)
            if site.function in tree.body and not site.function.decorator_list:
                driven = from_another_file(site, "planted", rotation)
                if driven is not None:
                    yield driven
    for plant in list(skipping(tree, lines, number))[:sites]:
        yield _with_import(plant, importable)


def table(trials: Iterable[Trial]) -> str:
    """The trials by kind: planted, found, found in 100."""
    planted, found, files = Counter[str](), Counter[str](), defaultdict[str, set[str]](set)
    for trial in trials:
        for kind in (trial.kind, "all"):
            planted[kind] += 1
            found[kind] += trial.found
            files[kind].add(trial.file)
    rows = [("kind", "files", "plants", "found", "recall")]
    for kind in (*KINDS, "all"):
        if planted[kind]:
            share = f"{100 * found[kind] / planted[kind]:.1f}"
            rows.append((kind, str(len(files[kind])), str(planted[kind]), str(found[kind]), share))
    return "\n".join(f"{row[0]:32}" + "".join(f"{cell:>8}" for cell in row[1:]) for row in rows)


def _chosen(sites: Sequence[Site], count: int) -> list[Site]:
    """First the sites that have room for guards; no two of one function while there are others."""
    ranked = sorted(sites, key=lambda site: (site.making is None and site.forward is None, site.sink.first))
    first, rest, functions = [], [], set()
    for site in ranked:
        key = site.function.lineno if site.function is not None else 0
        (rest if key in functions else first).append(site)
        functions.add(key)
    return [*first, *rest][:count]


def _with_import(plant: Plant, importable: Edit | None) -> Plant:
    if importable is None:
        return plant
    return Plant(plant.kind, plant.line, (*plant.edits, importable), plant.codes, plant.heard, plant.driver)


def _try(
    name: str, filename: str, source: str, tree: ast.Module, plant: Plant, before: Sequence[Finding]
) -> Trial | None:
    planted = apply(source, tree, plant)
    if planted is None:
        return None
    if plant.driver:
        findings = _check_driven(source, plant.driver)
    else:
        findings = [(f, 0) for f in check_text(planted.text, filename=filename, preview=True, isolated=True)]
    known = {(f.code, f.span.start.row) for f in before}
    found, others = False, []
    for finding, foreign in findings:
        row = -1 if foreign else _original_row(planted, finding)
        if (finding.code, row) in known:
            continue
        if finding.code in plant.codes and (row <= 0 or any(h.first <= row <= h.last for h in plant.heard)):
            found = True
        else:
            others.append(f"{finding.code} at {row}")
    return Trial(name, plant.line, plant.kind, found, tuple(others))


def _original_row(planted: Planted, finding: Finding) -> int:
    """The line of the original on which a finding stands, 0 on a planted line."""
    return planted.origin[finding.span.start.row - 1]


def _check_driven(source: str, driver: str) -> list[tuple[Finding, int]]:
    """The findings on a folder with the file, and another that calls it; 1 marks those in the other."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "planted.py").write_text(source, encoding="utf-8")
        Path(folder, "driver.py").write_text(driver, encoding="utf-8")
        report = check_paths([folder], preview=True, isolated=True)
    return [(f, int(Path(f.span.filename).name == "driver.py")) for f in report.findings]


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--source", type=Path, help="a folder that holds unpacked packages")
    place.add_argument(
        "--download", type=Path, metavar="CACHE", help="fetch the packages into this folder first"
    )
    parser.add_argument("--packages", nargs="*", help="what to fetch, instead of the usual packages")
    parser.add_argument("--limit", type=int, default=None, help="only the first so many files")
    parser.add_argument("--file", default="", help="only files whose path holds this text")
    parser.add_argument("--kind", action="append", default=[], choices=KINDS, help="only faults of this kind")
    parser.add_argument("--largest", type=int, default=60, help="no files above this many kilobytes (60)")
    parser.add_argument("--sites", type=int, default=2, help="how many backwards of a file to plant at (2)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (1)")
    parser.add_argument(
        "--alone", action="store_true", help="check each file as if its package were installed"
    )
    parser.add_argument("--misses", action="store_true", help="list the faults that were not found")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
