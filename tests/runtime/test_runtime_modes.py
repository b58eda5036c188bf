"""The modes a replay saves and resets, the cost of importing, and what is out of scope."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

import gradguard.runtime.torch as torch
from gradguard.runtime import (
    PADDLE,
    OutOfScope,
    active_profile,
    current_modes,
    fresh_modes,
    restore_modes,
)


def test_fresh_modes_start_like_a_thread_and_end_where_they_began() -> None:
    with torch.no_grad():
        before = current_modes()
        with fresh_modes(PADDLE):
            assert torch.is_grad_enabled()
            assert active_profile() is PADDLE
            torch.set_grad_enabled(False)
            torch.inference_mode().__enter__()
        assert current_modes() == before
    assert torch.is_grad_enabled()
    assert not torch.is_inference_mode_enabled()


def test_fresh_modes_come_back_after_an_error() -> None:
    with pytest.raises(ValueError, match="stop"), fresh_modes():
        torch.set_grad_enabled(False)
        raise ValueError("stop")
    assert torch.is_grad_enabled()


def test_restore_modes_puts_a_snapshot_back() -> None:
    before = current_modes()
    torch.set_grad_enabled(False)
    changed = current_modes()
    restore_modes(before)
    assert torch.is_grad_enabled()
    assert changed.grad is False


def test_leaked_guard_in_one_thread_is_not_seen_in_another() -> None:
    seen: list[bool] = []

    def leak() -> None:
        torch.set_grad_enabled(False)
        seen.append(torch.is_grad_enabled())

    thread = threading.Thread(target=leak)
    thread.start()
    thread.join()
    assert seen == [False]
    assert torch.is_grad_enabled()


def test_importing_the_package_loads_neither_numpy_nor_torch() -> None:
    code = (
        "import sys, gradguard.runtime as r; r.TORCH; r.fresh_modes;"
        "print('numpy' in sys.modules);"
        "import gradguard.runtime.torch;"
        "print('numpy' in sys.modules, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "False"]


def test_what_is_out_of_scope_is_named() -> None:
    with pytest.raises(OutOfScope, match=r"does not implement torch\.fft"):
        _ = torch.fft
    with pytest.raises(NotImplementedError, match=r"torch\.nn\.Conv2d"):
        _ = torch.nn.Conv2d
    with pytest.raises(AttributeError, match=r"torch\.nn\.functional\.conv1d"):
        _ = torch.nn.functional.conv1d
    assert not hasattr(torch, "distributed")


def test_a_training_step_costs_a_few_milliseconds_at_most() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.ones(8, 4)

    def step() -> float:
        start = time.process_time()
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(data), torch.zeros(8, 1))
        loss.backward()
        optimizer.step()
        return time.process_time() - start

    assert min(step() for _ in range(10)) < 0.005


def test_graph_is_freed_without_the_garbage_collector() -> None:
    import gc
    import weakref

    x = torch.ones(3, requires_grad=True)
    y = (x * 2).exp()
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        del y
        assert node() is None
    finally:
        gc.enable()
