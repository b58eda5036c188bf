"""The tenferro profile: the program gradguard starts from, and what surrounds it."""

from __future__ import annotations

import threading

import pytest

from gradguard.runtime.tenferro import EagerRuntime, EagerTensor, NonScalarGrad, TenferroError


def _loss(rt: EagerRuntime, x: EagerTensor) -> EagerTensor:
    return rt.with_eager_session(lambda s: s.reduce_sum(s.mul(x, x)))


def test_loss_under_no_grad_gives_an_empty_table() -> None:
    rt = EagerRuntime()
    x = rt.variable_from([1.0, 2.0, 3.0])
    with rt.no_grad():
        loss = _loss(rt, x)
    assert loss.to_vec() == [14.0]
    assert loss.tracks_grad() is False
    gradients = loss.backward()
    assert len(gradients) == 0
    assert gradients.is_empty()
    assert x.grad() is None


def test_mended_program_gives_one_gradient() -> None:
    rt = EagerRuntime()
    x = rt.variable_from([1.0, 2.0, 3.0])
    loss = _loss(rt, x)
    assert loss.tracks_grad()
    gradients = loss.backward()
    assert len(gradients) == 1
    grad = x.grad()
    assert grad is not None
    assert grad.to_vec() == [2.0, 4.0, 6.0]


def test_graph_is_not_freed_and_gradients_accumulate_until_cleared() -> None:
    rt = EagerRuntime()
    x = rt.variable_from([1.0, 2.0])
    loss = _loss(rt, x)
    loss.backward()
    loss.backward()
    grad = x.grad()
    assert grad is not None
    assert grad.to_vec() == [4.0, 8.0]
    x.clear_grad()
    assert x.grad() is None
    loss.backward()
    rt.clear_grads()
    assert x.grad() is None


def test_unused_leaf_is_not_counted() -> None:
    rt = EagerRuntime()
    x, unused = rt.variable_from([1.0]), rt.variable_from([5.0])
    gradients = _loss(rt, x).backward()
    assert len(gradients) == 1
    assert unused.grad() is None


def test_only_a_non_scalar_is_refused() -> None:
    rt = EagerRuntime()
    x = rt.variable_from([1.0, 2.0])
    with pytest.raises(NonScalarGrad, match=r"shape: \[2\]"):
        x.backward()
    assert len(rt.constant_from(3.0).backward()) == 0


def test_guards_count_so_drop_order_does_not_matter() -> None:
    rt = EagerRuntime()
    x = rt.variable_from([1.0])
    first, second = rt.no_grad(), rt.no_grad()
    first.drop()
    assert _loss(rt, x).tracks_grad() is False
    first.drop()
    assert _loss(rt, x).tracks_grad() is False
    second.drop()
    assert _loss(rt, x).tracks_grad() is True


def test_guard_acts_on_every_runtime_of_the_thread_and_on_no_other_thread() -> None:
    rt, other = EagerRuntime(), EagerRuntime()
    y = other.variable_from([1.0])
    seen: list[bool] = []
    with rt.no_grad():
        assert _loss(other, y).tracks_grad() is False
        thread = threading.Thread(target=lambda: seen.append(_loss(other, y).tracks_grad()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_guard_taken_in_a_session_ends_with_it() -> None:
    rt = EagerRuntime()
    x = rt.variable_from([1.0])

    def body(session: object) -> EagerTensor:
        rt.no_grad()
        return x.mul(x)

    assert rt.with_eager_session(body).tracks_grad() is False
    assert x.mul(x).tracks_grad() is True


def test_guard_around_backward_only_is_harmless() -> None:
    rt = EagerRuntime()
    x = rt.variable_from([1.0, 2.0, 3.0])
    loss = _loss(rt, x)
    with rt.no_grad():
        assert len(loss.backward()) == 1


def test_leaf_made_under_a_guard_tracks_and_a_computed_weight_does_not() -> None:
    rt = EagerRuntime()
    with rt.no_grad():
        leaf = rt.variable_from([1.0])
        stepped = rt.with_eager_session(lambda s: s.sub(leaf, s.constant_from([0.5])))
    assert leaf.tracks_grad()
    assert not stepped.tracks_grad()
    assert _loss(rt, stepped).backward().is_empty()
    assert not _loss(rt, leaf).detach().tracks_grad()
    assert len(_loss(rt, rt.variable_from(stepped)).backward()) == 1


def test_tensors_of_two_runtimes_do_not_mix() -> None:
    a, b = EagerRuntime(), EagerRuntime()
    with pytest.raises(TenferroError, match="different contexts"):
        a.variable_from([1.0]).mul(b.variable_from([1.0]))


def test_functional_forms() -> None:
    rt = EagerRuntime()
    x, unused = rt.variable_from([1.0, 2.0]), rt.variable_from([1.0])
    loss = _loss(rt, x)
    assert rt.grad(loss, x).to_vec() == [2.0, 4.0]
    assert rt.grad_optional(loss, unused) is None
    with pytest.raises(TenferroError):
        rt.grad(loss.detach(), x)
