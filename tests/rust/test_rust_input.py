"""Whatever the text, the analysis ends, and says so where it is no Rust."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gradguard

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
TEXTS = [path.read_text(encoding="utf-8") for path in sorted((FIXTURES / "cases" / "rust").glob("bad*.rs"))]
HEAD = "use tenferro_ad::EagerRuntime;\nfn main() { let rt = EagerRuntime::new();\nlet _ = rt.no_grad();\n"


def codes(text: str) -> list[tuple[int, str]]:
    findings = gradguard.check_text(text, filename="a.rs", preview=True, isolated=True)
    return [(finding.span.start.row, finding.code) for finding in findings]


def test_a_broken_item_is_told_and_the_others_are_judged() -> None:
    text = HEAD + "}\nfn broken( {\n"
    assert codes(text) == [(3, "GRD301"), (5, "GRD000")]


def test_a_broken_file_without_a_known_crate_is_nobodys_business() -> None:
    assert codes("// tenferro\nfn grad( {\n") == []


NESTED = {
    "parentheses": "let x = " + "(" * 3000 + "1" + ")" * 3000 + ";",
    "sums": "let x = " + "+".join(["1"] * 5000) + ";",
    "calls": "let x = a" + ".b()" * 5000 + ";",
    "blocks": "{" * 3000 + "}" * 3000,
    "branches": "if a {} " + "else if b {} " * 3000,
    "macros": "vec![" * 300 + "1" + "]" * 300 + ";",
    "patterns": "let " + "(" * 1500 + "a" + ")" * 1500 + " = x;",
    "types": "let x: " + "Vec<" * 1500 + "u8" + ">" * 1500 + " = y;",
    "closures": "let f = " + "|| " * 1500 + "1;",
    "loops": "for a in b {" * 200 + "}" * 200,
    "paths through loops": "for a in b { if c { continue; } " * 10 + "f();" + "}" * 10,
    "paths": "let mut v = 0; " + "if c() { v = 1; } else { v = 2; }\n" * 300,
    "modules": "} " + "mod a {" * 1500 + "}" * 1500 + " fn z() {",
}


@pytest.mark.parametrize("body", NESTED.values(), ids=NESTED.keys())
def test_deep_nesting_costs_nothing_else(body: str) -> None:
    assert codes(f"{HEAD}{body}\n}}\n") == [(3, "GRD301")]


@settings(max_examples=150, deadline=None)
@given(
    text=st.sampled_from(TEXTS),
    cuts=st.lists(st.tuples(st.integers(0, 1200), st.integers(0, 80)), max_size=3),
    extra=st.text(alphabet="(){}[]|&?;:,.<>\"'/*! \nlet matchforifé\U0001f600", max_size=30),
)
def test_no_text_breaks_it(text: str, cuts: list[tuple[int, int]], extra: str) -> None:
    for start, length in cuts:
        text = text[:start] + text[start + length :]
    middle = len(text) // 2
    for row, code in codes(text[:middle] + extra + text[middle:]):
        assert row >= 1 and code.startswith("GRD")
