"""Findings in Rust, replayed: what is confirmed, what is not, and that every run ends."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from rust_harness import RustFile, printed

from gradguard.cli import run
from gradguard.findings import Replay

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "fixtures"
sys.path.insert(0, str(ROOT / "tests" / "rust"))

from guard_forms import BODIES, Row, program, read_table  # noqa: E402

PROGRAMS = sorted([*(FIXTURES / "rust").glob("*.rs"), *(FIXTURES / "cases" / "rust").glob("*.rs")])
BAD = [path for path in PROGRAMS if "bad" in path.name]
GOOD = [path for path in PROGRAMS if "good" in path.name]
CONFIRMED = ("raises", "silent")


def read(path: Path) -> RustFile:
    return RustFile(path.read_text(encoding="utf-8"))


def replays(path: Path) -> list[Replay]:
    file = read(path)
    return [file.replay(one) for one in file.judged()]


def test_nearly_all_findings_of_bad_programs_are_confirmed_and_none_is_refuted() -> None:
    found = [one for path in BAD for one in replays(path)]
    confirmed = [one for one in found if one.outcome in CONFIRMED]
    assert len(found) > 70
    assert len(confirmed) >= 0.95 * len(found)
    assert {one.outcome for one in found} <= {*CONFIRMED, "inconclusive"}


@pytest.mark.parametrize(
    ("name", "profile", "outcome", "words"),
    [
        ("tenferro_programs_bad.rs", "tenferro", "silent", "backward gives Ok with 0 gradients"),
        ("tch_bad.rs", "torch", "raises", "does not require grad and does not have a grad_fn"),
        ("candle_bad.rs", "candle", "silent", "a store that holds no variable's gradient"),
        ("burn_bad.rs", "burn", "silent", "backward comes back without an error"),
    ],
)
def test_each_crate_has_its_own_outcome(name: str, profile: str, outcome: str, words: str) -> None:
    file = read(FIXTURES / "rust" / name)
    asked = [one for one in file.judged() if one.finding.code in ("GRD101", "GRD102")]
    found = [file.replay(one) for one in asked]
    assert found
    for one in found:
        assert (one.profile, one.outcome) == (profile, outcome)
        assert words in one.detail


def test_burn_panics_on_a_bare_detached_root() -> None:
    file = RustFile(
        "use burn::tensor::Tensor;\nfn f(w: Tensor<B, 1>) {\n    let loss = (w.clone() * w).sum().detach();\n"
        "    loss.backward();\n}\n"
    )
    (one,) = file.judged()
    assert file.replay(one).outcome == "raises"


SWAPS = {
    "rt.no_grad()": "rt.clone()",
    "ctx.no_grad()": "ctx.clone()",
    "tch::no_grad(": "same(",
    "tch::no_grad_guard()": "1",
}


UNDER_GUARD = [
    path for path in BAD if "expect: GRD101" in path.read_text(encoding="utf-8") and "_11_" not in path.name
]


@pytest.mark.parametrize("path", UNDER_GUARD, ids=lambda path: path.name)
def test_without_its_guard_a_backward_is_not_confirmed(path: Path) -> None:
    """The same place in the same program, but for the guard: what was confirmed is not any more."""
    text = path.read_text(encoding="utf-8")
    mended = text
    for guard, other in SWAPS.items():
        mended = mended.replace(guard, other)
    rows = {
        one.finding.span.start.row
        for one in RustFile(text).judged()
        if one.finding.code == "GRD101" and one.finding.witness
    }
    planted = [one for one in RustFile(mended).planted("GRD101", "backward") if one[0] in rows]
    assert planted
    assert [one for one in planted if one[1].outcome in CONFIRMED] == []


EXPECTED_EMPTY = "a_guard_untracks"


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_no_backward_of_a_good_program_is_confirmed(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    start = text.find(f"fn {EXPECTED_EMPTY}")
    last = text.count("\n", 0, start) if start >= 0 else text.count("\n") + 1
    for row, found in RustFile(text).planted("GRD101", "backward"):
        if row <= last:
            assert found.outcome not in CONFIRMED, (row, found)


@pytest.mark.parametrize("path", GOOD, ids=lambda path: path.name)
def test_no_guard_of_a_good_program_is_without_effect(path: Path) -> None:
    for row, found in read(path).planted("GRD301", "no_grad"):
        assert found.outcome not in CONFIRMED, (row, found)


CHECKING = ["told", "refused", "frozen_by_flag", "checked_first", "all_there", "asserted"]


@pytest.mark.parametrize("name", CHECKING)
def test_a_function_that_does_not_let_a_gradient_be_missing_is_not_confirmed(name: str) -> None:
    text = (FIXTURES / "rust" / "tenferro_skips_good.rs").read_text(encoding="utf-8")
    start = text.index(f"fn {name}(")
    first, last = text.count("\n", 0, start) + 1, text.count("\n", 0, text.index("\n}\n", start)) + 1
    found = [one for row, one in RustFile(text).planted("GRD201", "grad") if first <= row <= last]
    assert found
    assert all(one.outcome not in CONFIRMED for one in found), found


CHECKED = ["good_01_eval_block_then_train.rs", "good_04_len_checked.rs", "good_08_guard_inside_session.rs"]


@pytest.mark.parametrize("name", CHECKED)
def test_a_backward_whose_answer_is_checked_is_not_confirmed(name: str) -> None:
    found = list(read(FIXTURES / "cases" / "rust" / name).planted("GRD107", "backward"))
    assert found
    assert all(one.outcome not in CONFIRMED for _, one in found), found


_PROBE = "    if m.tracks_grad() { return Ok(()); }\n    k.backward(eng)?; // probe\n"


@pytest.mark.parametrize("row", read_table(), ids=lambda row: row.form)
def test_guards_live_as_the_compiler_has_it(row: Row) -> None:
    text = program(BODIES[row.form])
    assert _PROBE in text
    text = text.replace(_PROBE, '    println!("op {}", m.tracks_grad());\n')
    text = re.sub(r"if !late\.tracks_grad\(\).*", 'println!("after {}", late.tracks_grad());', text)
    lines = printed(RustFile(text).run())
    told = {True: "false", False: "true"}
    assert set(lines) == {f"op {told[row.off]}", f"after {told[row.after]}"}


HEAD = (
    "use std::collections::HashMap;\nuse tenferro_ad::{EagerRuntime, EagerTensor, Tensor};\n"
    "fn main() -> Result<(), Box<dyn std::error::Error>> {\nlet rt = EagerRuntime::new()?;\n"
)

STATEMENTS = {
    'let mut v = vec![1.0, 2.0]; for x in v.iter_mut() { *x -= 0.5; } println!("{v:?}");': "[0.5, 1.5]",
    'let mut n = 0; while n < 5 { n += 2; } println!("{n}");': "6",
    'let x = loop { break 7; }; println!("{x}");': "7",
    "let x = 'a: loop { loop { break 'a 3; } }; println!(\"{x}\");": "3",
    "let x = 'a: { if 1 < 2 { break 'a 1; } 2 }; println!(\"{x}\");": "1",
    "let mut n = 0; 'o: for i in 0..3 { for j in 0..3 { if j > i { continue 'o; } n += 1; } } println!(\"{n}\");": "6",
    'let o: Option<i32> = None; println!("{}", o.map_or(4, |v| v + 1));': "4",
    'println!("{:?}", Some(2).map(|v| v * 2).filter(|v| *v > 3));': "Some(4)",
    'let r: Result<i32, String> = "no".into(); println!("{:.2}", 1.0_f64 / 3.0);': "0.33",
    'let (a, b) = (1, 2); let c = match (a, b) { (1, y) if y > 5 => 0, (1, y) => y, _ => 9 }; println!("{c}");': "2",
    'let mut m = HashMap::new(); m.insert("k", 1.0); *m.entry("k").or_insert(0.0) += 2.0; println!("{}", m["k"]);': "3",
    'let t: f64 = [1.0, 2.0, 3.0].iter().map(|v| v * v).sum(); println!("{t}");': "14",
    "let v: Vec<_> = [1, 2, 3].iter().enumerate().filter_map(|(i, v)| (i > 0).then(|| v + 1)).collect(); "
    'println!("{v:?}");': "[3, 4]",
    'let mut o = Some(1); let t = o.take(); println!("{t:?} {o:?}");': "Some(1) None",
    'let f = |x: i32| x + 1; println!("{}", f(f(1)));': "3",
    "let x = rt.variable_from(Tensor::from_vec_col_major(vec![2], vec![3.0_f64, 4.0])?)?; "
    "let y = x.mul(&x)?.reduce_sum(None)?; let g = y.backward()?; "
    'println!("{} {:?} {:?}", g.len(), y.value()?.as_slice::<f64>()?, x.grad()?.unwrap().as_slice::<f64>()?);': (
        "1 [25.0] [6.0, 8.0]"
    ),
}


@pytest.mark.parametrize("body", STATEMENTS, ids=range(len(STATEMENTS)))
def test_what_a_program_prints(body: str) -> None:
    session = RustFile(f"{HEAD}{body}\nOk(())\n}}\n").run()
    assert printed(session) == [STATEMENTS[body]], session.trace.error


ENDS = {
    'let v: Vec<f64> = vec![]; println!("{}", v[0]);': "panic: index out of bounds",
    'let o: Option<i32> = None; o.expect("it is there");': "panic: it is there",
    'Err("no")?;': "`Err`: no",
    "assert_eq!(1 + 1, 3);": "panic: assertion `left == right` failed, left: 2, right: 3",
    "let x = rt.variable_from(Tensor::from_vec_col_major(vec![2], vec![3.0_f64, 4.0])?)?; x.backward()?;": (
        "`Err`: NonScalarGrad { shape: [2] }"
    ),
}


@pytest.mark.parametrize("body", ENDS, ids=range(len(ENDS)))
def test_how_a_program_ends(body: str) -> None:
    from gradguard.replay.rust.log import end

    told = end(RustFile(f"{HEAD}{body}\nOk(())\n}}\n").run())
    assert told.removeprefix("ended by ").startswith(ENDS[body]), told


ENDLESS = {
    "loop": "loop { let _ = 1 + 1; }",
    "while": "let mut n = 0; while n >= 0 { n += 1; }",
    "nested loops": "for a in 0..8 { for b in 0..8 { for c in 0..8 { for d in 0..8 { for e in 0..8 { x(a); } } } } }",
    "recursion": "fn again(n: i32) -> i32 { again(n + 1) } again(0);",
    "large vector": "let v = vec![0.0; 10_000_000_000]; let t: f64 = v.iter().sum();",
    "large tensor": "let t = Tensor::zeros(vec![100_000, 100_000]); let x = rt.variable_from(t)?;",
    "large number": "let mut n = 3; for _ in 0..8 { n = n * n * n * n; n = n << 60; }",
    "endless range": 'for i in 0.. { println!("{i}"); }',
    "growing text": 'let mut s = String::new(); loop { s = s.clone() + &s + "x"; }',
    "deep": "let x = " + "(" * 90 + "1" + ")" * 90 + ";",
    "closure of itself": "let f = |g| g(g); f(f);",
    "growing vector": "let mut v = vec![1]; loop { let w = v.clone(); v.extend(w); }",
}


@pytest.mark.parametrize("body", ENDLESS.values(), ids=ENDLESS.keys())
def test_every_run_ends(body: str) -> None:
    from time import perf_counter

    text = f"{HEAD}let _ = rt.no_grad();\n{body}\nOk(())\n}}\n"
    file = RustFile(text)
    started = perf_counter()
    (one,) = (found for found in file.judged() if found.finding.code == "GRD301")
    assert file.replay(one).outcome == "silent"
    assert perf_counter() - started < 5


def call(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = run(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def line_with(text: str, part: str) -> str:
    (found,) = (line for line in text.splitlines() if part in line)
    return found


def test_the_seed_tells_its_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "replay", str(FIXTURES / "seed" / "p13_no_grad_backward.rs"))
    assert code == 0
    assert "grad off   14.0, tracks_grad false" in line_with(out, "rt.with_eager_session(&mut eng, |s| {")
    assert line_with(out, "prints `loss = [14.0]`")
    assert line_with(out, "prints `loss.tracks_grad = false`")
    assert "Ok with 0 gradients, no gradient on x" in line_with(
        out, "let gradients = loss.backward(&mut eng)?;"
    )
    assert line_with(out, "prints `Gradients.len() = 0`")
    assert line_with(out, "prints `x has a gradient: false`")
    assert out.splitlines()[-1] == "  silent: backward gives Ok with 0 gradients, and no gradient reaches `x`"


def test_the_mended_seed_has_one_gradient(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = call(capsys, "replay", str(FIXTURES / "seed" / "p13_no_grad_backward_mended.rs"))
    assert code == 0
    assert "no finding" in out.splitlines()[0]
    told = line_with(out, "let gradients = loss.backward(&mut eng)?;")
    assert "Ok with 1 gradient, x.grad = [2.0, 4.0, 6.0]" in told
    assert line_with(out, "prints `x.grad = [2.0, 4.0, 6.0]`")
    assert out.splitlines()[-1] == "  ended without an error"


def test_the_seed_with_its_guard_removed_or_narrowed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (FIXTURES / "seed" / "p13_no_grad_backward.rs").read_text(encoding="utf-8")
    guard = "        let _guard = rt.no_grad();\n"
    for mended in (text.replace(guard, ""), text.replace(guard, guard + "        drop(_guard);\n")):
        path = tmp_path / "mended.rs"
        path.write_text(mended, encoding="utf-8")
        _, out, _ = call(capsys, "replay", str(path), "--isolated")
        told = line_with(out, "let gradients = loss.backward(&mut eng)?;")
        assert "Ok with 1 gradient, x.grad = [2.0, 4.0, 6.0]" in told
        assert line_with(out, "prints `loss = [14.0]`")


def test_check_tells_of_the_replay(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FIXTURES / "seed" / "p13_no_grad_backward.rs")
    code, out, _ = call(capsys, "check", "--no-cache", "--output-format", "json", path)
    (found,) = json.loads(out)
    assert code == 1
    assert found["replay"]["profile"] == "tenferro"
    assert found["replay"]["outcome"] == "silent"
    _, out, _ = call(capsys, "check", "--no-cache", "--output-format", "full", path)
    assert "run on tenferro: passes in silence: backward gives Ok with 0 gradients" in out


def test_rust_is_not_replayed_on_torch(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(FIXTURES / "seed" / "p13_no_grad_backward.rs")
    code, out, err = call(capsys, "replay", path, "--profile", "paddle")
    assert (code, out) == (2, "")
    assert "the profile of the crate" in err
