"""The rule pages: complete, true to the linter, and true to torch."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from page_programs import HEADINGS, Page, Program, read_pages

PAGES = read_pages()
PROGRAMS = [program for page in PAGES for program in page.programs]

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.path.stem)


def each(programs: list[Program]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("program", programs, ids=lambda program: program.label)


def test_every_rule_has_a_page_and_every_page_a_rule() -> None:
    from gradguard.pipeline import rules

    documented = {(page.code, page.name, page.path.stem) for page in PAGES}
    assert documented == {(rule.code, rule.name, rule.name.replace("-", "_")) for rule in rules()}


@each_page
def test_headings_stand_in_order(page: Page) -> None:
    assert page.headings == HEADINGS


@each_page
def test_page_shows_what_is_wrong_and_what_is_right(page: Page) -> None:
    programs = Counter(program.section for program in page.programs)
    assert programs.keys() == {"Example", "Use instead"}
    assert programs["Example"] >= 2
    assert programs["Use instead"] >= 3


@each(PROGRAMS)
def test_marks_are_the_pages_own(program: Program) -> None:
    assert {code for _, code in program.expected} == (
        {program.code} if program.section == "Example" else set()
    )
    assert not program.expected & program.tolerated
    assert program.expected or not program.tolerated


@each([program for program in PROGRAMS if program.language == "python"])
def test_program_proves_its_outcome(program: Program) -> None:
    """A program that only runs proves nothing: it must raise, or assert."""
    assert program.outcome.errors or "assert " in program.text
    assert program.section == "Example" or not program.outcome.errors


@each(PROGRAMS)
def test_linter_finds_what_is_marked(program: Program) -> None:
    import gradguard

    findings = gradguard.check_text(program.text, filename=program.label, preview=True, isolated=True)
    found = Counter((finding.span.start.row, finding.code) for finding in findings)
    missed = program.expected - found.keys()
    surplus = found.keys() - program.expected - program.tolerated
    twice = {mark for mark, times in found.items() if times > 1}
    assert (missed, surplus, twice) == (set(), set(), set()), [finding.message for finding in findings]


@pytest.fixture(scope="session")
def executed() -> dict[str, dict[str, Any]]:
    """What each Python program did on torch, by label."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    script = Path(__file__).with_name("run_page_programs.py")
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    outcomes: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return outcomes


@pytest.mark.torch
@each([program for program in PROGRAMS if program.language == "python"])
def test_program_does_on_torch_what_it_says(program: Program, executed: dict[str, dict[str, Any]]) -> None:
    outcome, did = program.outcome, executed[program.label]
    if not outcome.errors:
        assert did["message"] == "" and did["errors"] == []
        return
    first, *others = outcome.errors
    if first in did["errors"]:
        assert outcome.claim in did["message"]
    else:
        assert set(others) & set(did["errors"]), did
