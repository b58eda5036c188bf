"""The forms in which a guard can be written, as programs.

`OP` computes `m` from the leaf `x`; a form is (its line in the table, its code, and whether recording is off at
OP and behind the block).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).resolve().parents[2] / "fixtures" / "cases" / "rust" / "guard_lifetimes.txt"

_ROW = re.compile(r"(?P<form>.*?)\s+off=(?P<off>true|false) after=(?P<after>true|false)")


class Row(NamedTuple):
    form: str
    off: bool
    after: bool


def read_table() -> list[Row]:
    """The rows of the table, in order."""
    rows = []
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        match = _ROW.fullmatch(line)
        assert match is not None, line
        rows.append(Row(match["form"], match["off"] == "true", match["after"] == "true"))
    return rows


OP = "let m = op(&rt, &mut eng, &x)?; probe(&m, &k, &mut eng)?;"
VALUE = "probe(&op(&rt, &mut eng, &x)?, &k, &mut eng)?"

HEAD = """\
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use tenferro_ad::{EagerNoGradGuard as Guard, EagerRuntime, EagerTensor, Result, Tensor};
use tenferro_cpu::CpuEngine;

struct Holder { n: i32, _g: Guard }

fn id<T>(value: T) -> T { value }
fn make(rt: &Arc<EagerRuntime>) -> Guard { rt.no_grad() }
fn eval_fn(rt: &Arc<EagerRuntime>) { let _g = rt.no_grad(); rt.synchronize(); }
fn early(rt: &Arc<EagerRuntime>) -> Result<()> { let _g = rt.no_grad(); Err(tenferro_ad::Error::msg("no"))?; Ok(()) }
fn op(rt: &Arc<EagerRuntime>, eng: &mut CpuEngine, x: &EagerTensor) -> Result<EagerTensor> {
    rt.with_eager_session(eng, |s| s.mul(x, x))
}
fn probe(m: &EagerTensor, k: &EagerTensor, eng: &mut CpuEngine) -> Result<()> {
    if m.tracks_grad() { return Ok(()); }
    k.backward(eng)?; // probe
    Ok(())
}
"""

BODIES = {
    "let _guard = rt.no_grad(); OP": "let _guard = rt.no_grad(); OP",
    "let guard = rt.no_grad(); OP": "let guard = rt.no_grad(); OP",
    "let __ = rt.no_grad(); OP": "let __ = rt.no_grad(); OP",
    "let _: Guard = rt.no_grad(); OP": "let _: Guard = rt.no_grad(); OP",
    "let _ = rt.no_grad(); OP": "let _ = rt.no_grad(); OP",
    "let _ = id(rt.no_grad()); OP": "let _ = id(rt.no_grad()); OP",
    "let _ = &rt.no_grad(); OP  (temp lifetime extended)": "let _ = &rt.no_grad(); OP",
    "let _r = &rt.no_grad(); OP  (temp lifetime extended)": "let _r = &rt.no_grad(); OP",
    "_ = rt.no_grad(); OP": "_ = rt.no_grad(); OP",
    "rt.no_grad(); OP": "rt.no_grad(); OP",
    "let (_g, _n) = (rt.no_grad(), 1); OP": "let (_g, _n) = (rt.no_grad(), 1); OP",
    "let (_, _n) = (rt.no_grad(), 1); OP": "let (_, _n) = (rt.no_grad(), 1); OP",
    "let Some(_) = Some(rt.no_grad()) else {..}; OP": "let Some(_) = Some(rt.no_grad()) else { return Ok(()) }; OP",
    "let Some(_g) = Some(rt.no_grad()) else {..}; OP": "let Some(_g) = Some(rt.no_grad()) else { return Ok(()) }; OP",
    "match rt.no_grad() { _ => OP }": "match rt.no_grad() { _ => VALUE }",
    "match rt.no_grad() { _g => OP }": "match rt.no_grad() { _g => VALUE }",
    "if let _ = rt.no_grad() { OP }": "if let _ = rt.no_grad() { OP }",
    "(rt.no_grad(), OP).1": "(rt.no_grad(), VALUE).1;",
    "let r = { let _g = rt.no_grad(); OP }; (OP value)": (
        "let r = { let _g = rt.no_grad(); op(&rt, &mut eng, &x)? }; probe(&r, &k, &mut eng)?;"
    ),
    "{ let _g = rt.no_grad(); } OP": "{ let _g = rt.no_grad(); } OP",
    "let g = rt.no_grad(); drop(g); OP": "let g = rt.no_grad(); drop(g); OP",
    "let g = rt.no_grad(); std::mem::drop(g); OP": "let g = rt.no_grad(); std::mem::drop(g); OP",
    "let g = rt.no_grad(); let _ = g; OP   (not a move)": "let g = rt.no_grad(); let _ = g; OP",
    "let g = rt.no_grad(); _ = g; OP   (not a move)": "let g = rt.no_grad(); _ = g; OP",
    "let g = rt.no_grad(); g; OP   (moved, dropped)": "let g = rt.no_grad(); g; OP",
    "drop(rt.no_grad()); OP": "drop(rt.no_grad()); OP",
    "let g = rt.no_grad(); let g = 1; OP  (shadow keeps it)": "let g = rt.no_grad(); let g = 1; OP",
    "let mut g = Some(rt.no_grad()); g = None; OP": "let mut g = Some(rt.no_grad()); g = None; OP",
    "let mut g = Some(rt.no_grad()); g.take(); OP": "let mut g = Some(rt.no_grad()); g.take(); OP",
    "let mut g = None; g = Some(rt.no_grad()); OP": "let mut g = None; g = Some(rt.no_grad()); OP",
    "if c { let _g = rt.no_grad(); } OP": "if c { let _g = rt.no_grad(); } OP",
    "let _g = if c { Some(rt.no_grad()) } else { None }; OP": (
        "let _g = if c { Some(rt.no_grad()) } else { None }; OP"
    ),
    "let _g = c.then(|| rt.no_grad()); OP": "let _g = c.then(|| rt.no_grad()); OP",
    "let h = Holder{_g: rt.no_grad()}; OP": "let h = Holder { n: 1, _g: rt.no_grad() }; OP",
    "let Holder{n, ..} = Holder{_g: rt.no_grad()}; OP": "let Holder { n, .. } = Holder { n: 1, _g: rt.no_grad() }; OP",
    "let _b = Box::new(rt.no_grad()); OP": "let _b = Box::new(rt.no_grad()); OP",
    "let _r = Rc::new(rt.no_grad()); OP": "let _r = Rc::new(rt.no_grad()); OP",
    "make(&rt); OP": "make(&rt); OP",
    "let _g = make(&rt); OP": "let _g = make(&rt); OP",
    "inside fn that holds its own guard": (
        "fn held(rt: &Arc<EagerRuntime>, eng: &mut CpuEngine, x: &EagerTensor) -> Result<EagerTensor> "
        "{ let _g = rt.no_grad(); op(rt, eng, x) } let m = held(&rt, &mut eng, &x)?; probe(&m, &k, &mut eng)?;"
    ),
    "eval_fn(&rt); OP": "eval_fn(&rt); OP",
    "early return by ? inside guard fn; OP": "early(&rt).ok(); OP",
    "fn ignore(_: Guard) called with guard: body": (
        "let ignore = |_: Guard| -> Result<()> { OP Ok(()) }; ignore(rt.no_grad())?;"
    ),
    "fn takes(_g: Guard) called with guard: body": (
        "let takes = |_g: Guard| -> Result<()> { OP Ok(()) }; takes(rt.no_grad())?;"
    ),
    "let f = || { let _g = rt.no_grad(); }; f(); OP": "let f = || { let _g = rt.no_grad(); }; f(); OP",
    "move closure owns g, not called; OP": "let g = rt.no_grad(); let f = move || { let _h = &g; }; OP",
    "move closure owns g, closure dropped; OP": (
        "let g = rt.no_grad(); let f = move || { let _h = &g; }; drop(f); OP"
    ),
    "nested: outer alive, inner dropped; OP": "let _a = rt.no_grad(); { let _b = rt.no_grad(); } OP",
    "let a=no_grad; let b=no_grad; drop(a); OP": "let a = rt.no_grad(); let b = rt.no_grad(); drop(a); OP",
    "std::mem::forget(rt.no_grad()) on another thread; OP": (
        "std::thread::scope(|t| { t.spawn(|| -> Result<()> { std::mem::forget(rt.no_grad()); OP Ok(()) }); });"
    ),
    "guard on this thread, OP on spawned thread": (
        "let _g = rt.no_grad(); std::thread::spawn(move || -> Result<()> { OP Ok(()) }).join().unwrap()?;"
    ),
    "for _ in 0..1 { let _g = rt.no_grad(); } OP": "for _ in 0..1 { let _g = rt.no_grad(); } OP",
    "while guard in loop head: for _ in once(rt.no_grad()) {OP}": "for _ in std::iter::once(rt.no_grad()) { OP }",
    "for _g in once(rt.no_grad()) {OP}": "for _g in std::iter::once(rt.no_grad()) { OP }",
}

_PROBE_AFTER = (
    "let late = op(&rt, &mut eng, &x)?;\n    if !late.tracks_grad() { k.backward(&mut eng)?; } // after"
)


def program(body: str) -> str:
    """The whole program of a form. Row of "// probe": reached only if recording may be off at OP; "// sure": a
    backward that is untracked only if recording is off for certain."""
    code = body.replace("VALUE", VALUE).replace("OP", OP)
    return f"""{HEAD}
fn main() -> Result<()> {{
    let rt = EagerRuntime::new()?;
    let mut eng = CpuEngine::serial();
    let c = true;
    let x = rt.variable_from(Tensor::from_vec_col_major(vec![1], vec![2.0_f64])?)?;
    let k = rt.constant_from(Tensor::from_vec_col_major(vec![1], vec![1.0_f64])?)?;
    {{
        {code}
    }}
    {_PROBE_AFTER}
    Ok(())
}}
"""


def certain(body: str) -> str:
    """The same program where backward is asked of what OP computes."""
    return (
        program(body)
        .replace("k.backward(eng)?; // probe", "m.backward(eng)?; // sure")
        .replace("if m.tracks_grad() { return Ok(()); }\n", "")
    )
