"""Programs with their findings marked, one by one and as a crate."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import gradguard

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PROGRAMS = sorted([*(FIXTURES / "rust").glob("*.rs"), *(FIXTURES / "cases" / "rust").glob("*.rs")])
_MARK = re.compile(r"// expect: (GRD\d{3}(?:, GRD\d{3})*)")


def marks(text: str) -> list[tuple[int, str]]:
    return sorted(
        (row, code)
        for row, line in enumerate(text.splitlines(), start=1)
        for mark in _MARK.finditer(line)
        for code in mark[1].split(", ")
    )


def found(text: str, **options: object) -> list[tuple[int, str]]:
    findings = gradguard.check_text(text, filename="a.rs", preview=True, isolated=True, **options)
    return sorted((finding.span.start.row, finding.code) for finding in findings)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.name)
def test_what_is_marked_is_found(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert bool(marks(text)) == ("good" not in path.name)
    assert found(text) == marks(text)


def test_every_crate_has_a_good_and_a_bad_program() -> None:
    from gradguard.facts.crates import load_crates

    names = {path.name for path in PROGRAMS}
    for crate in load_crates():
        for kind in ("good", "bad"):
            assert any(name.startswith(crate.name) and kind in name for name in names), (crate.name, kind)


MODEL = """\
use std::sync::Arc;
use tenferro_ad::{EagerNoGradGuard, EagerRuntime, EagerTensor, Result};
use tenferro_cpu::CpuEngine;

pub fn energy(rt: &Arc<EagerRuntime>, eng: &mut CpuEngine, w: &EagerTensor) -> Result<EagerTensor> {
    rt.with_eager_session(eng, |s| s.mul(w, w))
}

pub fn quiet(rt: &Arc<EagerRuntime>) -> EagerNoGradGuard {
    rt.no_grad()
}

pub mod nested {
    use super::*;

    pub fn metric(rt: &Arc<EagerRuntime>, eng: &mut CpuEngine, w: &EagerTensor) -> Result<EagerTensor> {
        let _guard = quiet(rt);
        energy(rt, eng, w)
    }
}
"""

TRAIN = """\
use super::energy;
use crate::model::{self, nested::metric};
use std::sync::Arc;
use tenferro_ad::{EagerRuntime, EagerTensor, Result};
use tenferro_cpu::CpuEngine;

fn under(rt: &Arc<EagerRuntime>, eng: &mut CpuEngine, w: &EagerTensor) -> Result<usize> {
    let loss = metric(rt, eng, w)?;
    Ok(loss.backward(eng)?.len()) // expect: GRD101
}

fn held(rt: &Arc<EagerRuntime>, eng: &mut CpuEngine, w: &EagerTensor) -> Result<usize> {
    let _guard = model::quiet(rt);
    let loss = energy(rt, eng, w)?;
    Ok(loss.backward(eng)?.len()) // expect: GRD101
}

fn dropped(rt: &Arc<EagerRuntime>, eng: &mut CpuEngine, w: &EagerTensor) -> Result<usize> {
    model::quiet(rt); // expect: GRD301
    let loss = energy(rt, eng, w)?;
    Ok(loss.backward(eng)?.len())
}
"""

MAIN = """\
use demo_train::{energy, model::quiet};
use tenferro_ad::{EagerRuntime, Tensor};
use tenferro_cpu::CpuEngine;

fn main() -> tenferro_ad::Result<()> {
    let rt = EagerRuntime::new()?;
    let mut eng = CpuEngine::serial();
    let w = rt.variable_from(Tensor::from_vec_col_major(vec![1], vec![1.0_f64])?)?;
    let loss = {
        let _quiet = quiet(&rt);
        energy(&rt, &mut eng, &w)?
    };
    println!("{}", loss.backward(&mut eng)?.len()); // expect: GRD101
    Ok(())
}
"""


def test_values_are_followed_across_the_files_of_a_crate(tmp_path: Path) -> None:
    files = {
        "Cargo.toml": '[package]\nname = "demo-train"\n',
        "src/lib.rs": "pub mod model;\npub mod train;\npub use model::energy;\n",
        "src/model.rs": MODEL,
        "src/train.rs": TRAIN,
        "src/main.rs": MAIN,
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    report = gradguard.check_paths([tmp_path], isolated=True)
    told = {(Path(f.span.filename).name, f.span.start.row, f.code) for f in report.findings}
    expected = {(Path(name).name, row, code) for name, text in files.items() for row, code in marks(text)}
    assert told == expected
    assert len(expected) == 4


HEAD = "use tenferro_ad::EagerRuntime;\n"


def test_a_chained_call_stands_where_its_method_is() -> None:
    text = (
        HEAD
        + "fn f(rt: &EagerRuntime, x: &EagerTensor) {\n    rt.no_grad();\n    x\n        .grad()\n        .ok();\n}\n"
    )
    assert found(text) == [(3, "GRD301")]
    loss = (
        "use tenferro_ad::EagerTensor;\nfn f(loss: &EagerTensor, eng: &mut E) {\n    loss\n        .detach()\n"
        "        .backward(eng)\n        .unwrap();\n}\n"
    )
    assert found(loss) == [(5, "GRD102")]


def test_columns_count_characters() -> None:
    text = HEAD + 'fn f(rt: &EagerRuntime) { let s = "žluťoučký 😀"; rt.no_grad(); }\n'
    (finding,) = gradguard.check_text(text, filename="a.rs", isolated=True)
    row = text.splitlines()[1]
    assert row[finding.span.start.column - 1 :].startswith("rt.no_grad()")
    assert finding.span.end.column - finding.span.start.column == len("rt.no_grad()")


def test_places_inside_a_macro_are_the_files_own() -> None:
    text = HEAD + 'fn f(rt: &EagerRuntime) {\n    println!("é {:?}",\n        { rt.no_grad(); 1 });\n}\n'
    (finding,) = gradguard.check_text(text, filename="a.rs", isolated=True)
    assert (finding.span.start.row, finding.span.start.column) == (4, 11)


def test_a_comment_silences() -> None:
    text = HEAD + "fn f(rt: &EagerRuntime) {\n    rt.no_grad(); // noqa: GRD301\n}\n"
    assert found(text) == []
    assert found(text.replace("GRD301", "GRD101")) == [(3, "GRD001"), (3, "GRD301")]


@pytest.mark.parametrize("use", ["use other::EagerRuntime;", "// tenferro_ad", "mod tch;\nuse tch::x;"])
def test_a_file_without_a_known_crate_is_not_judged(use: str) -> None:
    assert found(f"{use}\nfn f(rt: &EagerRuntime) {{\n    rt.no_grad();\n}}\n") == []


def test_a_crate_of_the_users_own() -> None:
    table = {
        "language": "rust",
        "packages": ["autodiff_rs"],
        "types": {"tensor": ["Array"], "runtime": ["Tape"]},
        "guards": {"methods": ["paused"]},
        "backward": {"methods": ["run_backward"]},
    }
    text = (
        "use autodiff_rs::{Array, Tape};\nfn f(tape: &Tape, x: &Array) {\n"
        "    let _guard = tape.paused();\n    let loss = x.mul(x);\n    loss.run_backward();\n}\n"
    )
    assert found(text) == []
    assert found(text, frameworks={"mine": table}) == [(5, "GRD101")]


def test_the_full_report_tells_the_comment_that_silences(tmp_path: Path) -> None:
    from gradguard.report.formats import render

    text = HEAD + "fn f(rt: &EagerRuntime) {\n    rt.no_grad();\n}\n"
    path = tmp_path / "a.rs"
    path.write_text(text, encoding="utf-8")
    report = gradguard.check_paths([path], isolated=True)
    told = render(report, "full")
    (comment,) = re.findall(r"silence it with `(.*?)`", told)
    assert comment == "// noqa: GRD301"
    path.write_text(text.replace("no_grad();", f"no_grad(); {comment}"), encoding="utf-8")
    assert gradguard.check_paths([path], isolated=True).findings == ()
