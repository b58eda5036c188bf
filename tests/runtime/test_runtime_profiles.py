"""What backward on an untracked value and an augmented assignment do under each profile."""

from __future__ import annotations

import dataclasses

import pytest

import gradguard.runtime.torch as torch
from gradguard.runtime import PADDLE, TENFERRO, TORCH, active_profile, profile


def _untracked_loss() -> tuple[torch.Tensor, torch.Tensor]:
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.no_grad():
        return w, (w * w).sum()


def test_torch_raises_its_message() -> None:
    w, loss = _untracked_loss()
    assert active_profile() is TORCH
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        loss.backward()
    assert w.grad is None


@pytest.mark.parametrize("chosen", [PADDLE, TENFERRO, "paddle", "tenferro"])
def test_paddle_and_tenferro_are_silent(chosen: str) -> None:
    w, loss = _untracked_loss()
    with profile(chosen):
        assert loss.backward() is None
    assert w.grad is None


def test_silent_profile_still_fills_what_is_tracked() -> None:
    w, loss = _untracked_loss()
    with profile(PADDLE):
        torch.autograd.backward([loss, (w * 3).sum()])
    assert w.grad.tolist() == [3.0, 3.0]


def test_augmented_assignment_rebinds_under_paddle_only() -> None:
    w = torch.tensor([1.0], requires_grad=True)
    alias = w
    with torch.no_grad():
        w -= 0.5
    assert w is alias
    assert w.requires_grad
    with profile(PADDLE), torch.no_grad():
        w -= 0.25
    assert w is not alias
    assert not w.requires_grad
    assert (w.item(), alias.item()) == (0.25, 0.5)


def test_freeing_the_graph_depends_on_the_profile() -> None:
    x = torch.tensor(3.0, requires_grad=True)
    with profile(TENFERRO):
        y = x * x
        y.backward()
        y.backward()
    assert x.grad.item() == 12.0
    y.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        y.backward()


def test_stop_gradient_is_paddles_word() -> None:
    x = torch.tensor(1.0, requires_grad=True)
    with profile(PADDLE):
        assert x.stop_gradient is False
        assert x.detach().stop_gradient is True
    with pytest.raises(AttributeError, match="stop_gradient"):
        _ = x.stop_gradient


def test_profiles_are_data_and_nest() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TORCH.name = "other"  # type: ignore[misc]
    with profile("paddle"), profile("torch") as inner:
        assert inner is TORCH
        assert active_profile() is TORCH
    assert active_profile() is TORCH
    with pytest.raises(KeyError), profile("theano"):
        pass
