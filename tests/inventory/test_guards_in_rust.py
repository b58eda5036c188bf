"""Guards of Rust files live as long as the values that hold them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from guard_listing import covers

from gradguard.findings import GuardRecord
from gradguard.pipeline import inventory
from gradguard.source import Source

HEAD = """\
use tenferro_ad::{EagerRuntime, Tensor};

fn make(rt: &EagerRuntime) -> Guard { rt.no_grad() }
"""


def records(body: str, head: str = HEAD) -> list[GuardRecord]:
    """The guards of a function with this body, those of `make` left out."""
    text = f"{head}\nfn f(rt: &EagerRuntime) {{\n    {body}\n}}\n"
    source = Source("t.rs", "", text, language="rust")
    found, failures = inventory([source], SimpleNamespace(frameworks={}))
    assert failures == ()
    return [one for one in found if one.function != "make"]


# What tenferro does, form by form, is written down in fixtures/cases/rust/guard_lifetimes.txt.
@pytest.mark.parametrize(
    ("body", "form", "is_off"),
    [
        ("let _guard = rt.no_grad(); op();", "let", True),
        ("let __ = rt.no_grad(); op();", "let", True),
        ("let _: Guard = rt.no_grad(); op();", "object", False),
        ("let _ = rt.no_grad(); op();", "object", False),
        ("let _ = id(rt.no_grad()); op();", "object", False),
        ("let _ = &rt.no_grad(); op();", "let", True),
        ("_ = rt.no_grad(); op();", "object", False),
        ("rt.no_grad(); op();", "object", False),
        ("drop(rt.no_grad()); op();", "object", False),
        ("let (_g, _n) = (rt.no_grad(), 1); op();", "let", True),
        ("let (_, _n) = (rt.no_grad(), 1); op();", "object", False),
        ("let Some(_) = Some(rt.no_grad()) else { return }; op();", "object", False),
        ("let Some(_g) = Some(rt.no_grad()) else { return }; op();", "let", True),
        ("let Holder { n, .. } = Holder { n: 1, _g: rt.no_grad() }; op();", "object", False),
        ("let h = Holder { n: 1, _g: rt.no_grad() }; op();", "let", True),
        ("match rt.no_grad() { _ => op() }", "temporary", True),
        ("if let _ = rt.no_grad() { op(); }", "temporary", True),
        ("let y = match rt.no_grad() { _ => op() }?;", "temporary", True),
        ("for _ in once(rt.no_grad()) { op(); }", "temporary", True),
        ("{ let _g = rt.no_grad(); } op();", "let", False),
        ("if c { let _g = rt.no_grad(); } op();", "let", False),
        ("let g = rt.no_grad(); drop(g); op();", "let", False),
        ("let g = rt.no_grad(); std::mem::drop(g); op();", "let", False),
        ("let g = rt.no_grad(); g; op();", "let", False),
        ("let g = rt.no_grad(); let _ = g; op();", "let", True),
        ("let g = rt.no_grad(); let g = 1; op();", "let", True),
        ("let mut g = Some(rt.no_grad()); g = None; op();", "let", False),
        ("let mut g = Some(rt.no_grad()); g.take(); op();", "let", False),
        ("let mut g = None; g = Some(rt.no_grad()); op();", "object", True),
        ("let _g = if c { Some(rt.no_grad()) } else { None }; op();", "let", True),
        ("let _g = c.then(|| rt.no_grad()); op();", "let", True),
        ("let _b = Box::new(rt.no_grad()); op();", "let", True),
        ("make(&rt); op();", "object", False),
        ("let _g = make(&rt); op();", "helper", True),
        ("let f = || { let _g = rt.no_grad(); }; f(); op();", "let", False),
        ("let _g = rt.no_grad(); thread::spawn(move || { op(); });", "let", False),
        ("let _g = rt.no_grad(); rt.with_eager_session(eng, |s| { op() });", "let", True),
    ],
)
def test_a_guard_covers_what_runs_while_it_lives(body: str, form: str, is_off: bool) -> None:
    (record,) = records(body)
    assert record.form == form
    assert ("op()" in covers(record).get("call", [])) == is_off


def test_what_is_covered_is_told_by_kind() -> None:
    body = """let loss = {
        let _g = rt.no_grad();
        let (a, _) = pair(x);
        loss.backward(&mut eng)?;
        w = rt.variable_from(a)?;
        *v -= lr * d;
        b
    };
    after();"""
    (record,) = records(body)
    assert (record.guard, record.function) == ("rt.no_grad", "f")
    assert (record.span.start.row, record.ends and record.ends.row) == (7, 13)
    assert covers(record) == {
        "value": ["a"],
        "call": ["pair(x)", "rt.variable_from(a)"],
        "backward": ["loss.backward(&mut eng)"],
        "update": ["w = rt.variable_from(a)?", "*v -= lr * d"],
    }


def test_guards_that_take_a_closure() -> None:
    head = "use tch::{no_grad, Tensor};\n"
    (short,) = records("no_grad(|| { bs += &w.grad(); });", head)
    assert (short.guard, short.form) == ("no_grad", "closure")
    (long,) = records("let y = tch::no_grad(|| net.forward(&x)); op();", head)
    assert covers(long) == {"call": ["net.forward(&x)"]}
    (held,) = records("let _g = tch::no_grad_guard(); op();", head)
    assert (held.form, covers(held)) == ("let", {"call": ["op()"]})


def test_a_method_of_that_name_in_another_crate_is_no_guard() -> None:
    assert records("let _g = rt.no_grad(); op();", "use other::Runtime;\n") == []


def test_methods_are_named_after_their_type() -> None:
    head = HEAD + "impl Trainer { fn step(&self) { let _g = self.rt.no_grad(); op(); } }\n"
    (record,) = records("", head)
    assert (record.guard, record.function) == ("no_grad", "Trainer::step")
