"""Random programs on torch and on the engine: every observation must agree.

A program is drawn as a list of small integers and rendered to text, so that hypothesis can
shrink it to the few statements that matter.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytestmark = [
    pytest.mark.torch,
    pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed"),
]

GUARDS = (
    "torch.no_grad()",
    "torch.enable_grad()",
    "torch.inference_mode()",
    "torch.set_grad_enabled(False)",
    "torch.set_grad_enabled(True)",
    "torch.inference_mode(False)",
)
DATA = (
    "0.5",
    "[1.0, -2.0, 3.0]",
    "[0.25, 1.5, -0.5]",
    "[[1.0, 2.0, -1.0], [0.5, -0.25, 4.0]]",
    "[2.0, 3.0]",
)
UNARY = (
    "{a}.exp()",
    "({a} * {a} + 1.0).log()",
    "{a}.sin()",
    "torch.tanh({a})",
    "{a}.sigmoid()",
    "{a}.relu()",
    "{a}.abs()",
    "-{a}",
    "({a} * {a} + 0.5).sqrt()",
    "{a} ** 2",
    "{a} ** 3",
    "2.0 ** {a}",
    "{a}.clamp(-1.0, 1.0)",
    "{a}.clone()",
    "{a}.sum()",
    "{a}.mean()",
    "{a}.max()",
    "{a}.prod()",
    "{a}.norm()",
    "{a}.sum(0)",
    "{a}.softmax(-1)",
    "{a}.log_softmax(-1)",
    "{a}.logsumexp(-1)",
    "{a}.cumsum(-1)",
    "{a}.contiguous()",
    "{a}.double()",
    "{a}.float().double()",
    "{a} * 2.0",
    "1.0 - {a}",
    "3.0 / ({a} * {a} + 1.0)",
    "{a} / 4.0",
    "{a} + 1.0",
    "{a}.floor()",
    "{a} % 2.0",
    "{a}.flip(0)",
    "{a}.var()",
    "{a}.amax()",
    "{a}.min(0)[0]",
    "{a}[{a} > 0]",
    "{a}[torch.tensor([0, 0, 1])]",
    "{a}.reciprocal()",
    "F.leaky_relu({a})",
    "F.softplus({a})",
    "F.elu({a})",
    "{a}.square()",
    "Double.apply({a})",
    "Keep.apply({a})",
    "checkpoint(lambda t: t * t.sin(), {a}, use_reentrant=False)",
    "checkpoint(lambda t: t * t.sin(), {a}, use_reentrant=True)",
    "torch.func.grad(lambda t: (t * t * t).sum())({a})",
    "guarded({a})",
    "F.dropout({a}, 0.5, training=False)",
    "torch.nn.Parameter({a})",
    "torch.ones_like({a})",
    "copy.deepcopy({a})",
    "torch.tensor({a}.tolist(), requires_grad=True)",
    "torch.atan2({a}, {a} + 3.0)",
)
BINARY = (
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b}",
    "{a} / ({b} * {b} + 1.0)",
    "torch.maximum({a}, {b})",
    "torch.minimum({a}, {b})",
    "torch.where({a} > 0, {a}, {b})",
    "torch.add({a}, {b}, alpha=0.5)",
    "torch.addcmul({a}, {a}, {b})",
    "torch.lerp({a}, {b}, 0.25)",
    "({a} * {a} + 1.0) ** {b}",
    "{a} @ {b}.reshape(-1)",
    "F.mse_loss({a}, {b})",
    "{a}.masked_fill({b} > 0, 2.0)",
    "torch.stack([{a}, {a}]) * {b}",
    "torch.cat([{a}.reshape(-1), {b}.reshape(-1)])",
    "{a}.sub({b}, alpha=2.0)",
    "F.linear({a}, torch.ones(2, 3), {b})",
    "F.smooth_l1_loss({a}, {b})",
)
VIEWS = (
    "{a}.view(-1)",
    "{a}.reshape(-1)",
    "{a}[0]",
    "{a}[0:1]",
    "{a}[..., 1:]",
    "{a}.unsqueeze(0)",
    "{a}.squeeze()",
    "{a}.expand(2, 3)",
    "{a}.t()",
    "{a}.transpose(0, -1)",
    "{a}.detach()",
    "{a}.data",
    "{a}.unbind()[0]",
    "{a}.split(1)[0]",
    "{a}.chunk(2)[0]",
    "{a}.narrow(0, 0, 1)",
    "{a}.select(0, -1)",
    "{a}[...]",
    "{a}.flatten()",
    "{a}.view_as({a})",
    "{a}[:]",
    "{a}[None]",
    "{a}.diagonal()",
    "{a}[0:2][0:1]",
    "next(iter({a}))",
)
CHANGES = (
    "{a}.add_(1.0)",
    "{a}.add_({b})",
    "{a}.mul_(0.5)",
    "{a}.mul_({b})",
    "{a}.sub_({b}, alpha=0.5)",
    "{a}.div_(2.0)",
    "{a}.copy_({b})",
    "{a}.zero_()",
    "{a}.fill_(0.75)",
    "{a}.clamp_(-1.0, 1.0)",
    "{a}.relu_()",
    "{a}.exp_()",
    "{a}.tanh_()",
    "{a}.pow_(2)",
    "{a}.neg_()",
    "{a}[0] = 5.0",
    "{a}[0] = {b}",
    "{a}[0:1] = {b}",
    "{a}[{a} > 0] = 0.25",
    "{a}[...] = {b}",
    "{a} += 1.0",
    "{a} *= {b}",
    "{a} -= 0.1 * {b}",
    "{a}.data.mul_(2.0)",
    "if not {a}._is_view() and {a}.is_inference() == {b}.is_inference(): {a}.data = {b}",
    "{a}.detach()[0] = 3.0",
    "{a}.detach_()",
    "{a}.requires_grad_()",
    "{a}.requires_grad_(False)",
    "{a}.requires_grad = True",
    "{a}.requires_grad = False",
    "{a}.grad = None",
    "{a}.grad = {b}",
    "{a}.grad.zero_()",
    "{a}.retain_grad()",
    "{a}.grad_fn; {a}.register_hook(lambda g: g * 2.0)",
    "{a}.grad_fn; {a}.register_hook(lambda g: None)",
    "{a}.register_post_accumulate_grad_hook(lambda p: seen.append(p.grad.tolist()))",
    "torch.optim.SGD([{a}], lr=0.1).step()",
    "torch.optim.SGD([{a}], lr=0.1, momentum=0.9, weight_decay=0.1).step()",
    "if {a}.shape == {b}.shape: torch.add({b}, 1.0, out={a})",
    "torch.set_grad_enabled(False)",
    "torch.set_grad_enabled(True)",
    "torch.nn.init.constant_({a}, 0.5)",
    "{a}.masked_fill_({b} > 0, 1.0)",
    "{a}.numpy()",
    "{a}.backward()",
    "{a}.sum().backward()",
    "{a}.sum().backward(retain_graph=True)",
    "{a}.sum().backward(create_graph=True)",
    "{a}.backward(torch.ones_like({a}))",
    "{a}.sum().backward(inputs=[{b}])",
    "({a} * {b}).sum().backward()",
    "torch.autograd.backward([{a}.sum(), {b}.sum()])",
    "torch.nn.utils.clip_grad_norm_([{a}, {b}], 1.0)",
)
GRADIENTS = (
    "some(torch.autograd.grad({a}.sum(), {b})[0])",
    "some(torch.autograd.grad({a}.sum(), {b}, retain_graph=True)[0])",
    "some(torch.autograd.grad({a}.sum(), {b}, allow_unused=True)[0])",
    "some(torch.autograd.grad({a}.sum(), {b}, create_graph=True)[0])",
    "some(torch.autograd.grad({a}, {b}, torch.ones_like({a}), create_graph=True)[0])",
    "some(torch.autograd.grad([{a}.sum(), {b}.sum()], [{b}], materialize_grads=True)[0])",
    "some(torch.autograd.grad({a}.sum(), [{a}, {b}], allow_unused=True)[0])",
)
PRELUDE = """\
import copy
import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
seen = []
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        ctx.save_for_backward(t)
        return t * t
    @staticmethod
    def backward(ctx, g):
        t, = ctx.saved_tensors
        return 2 * t * g
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        out = t.exp()
        ctx.save_for_backward(out)
        return out
    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]
def some(g):
    seen.append(g is None)
    return torch.zeros(3) if g is None else g
@torch.no_grad()
def guarded(t):
    inner = t * 2.0
    with torch.enable_grad():
        outer = t * 3.0
    return inner + outer
"""
CAUGHT = "(RuntimeError, IndexError, TypeError, ValueError, AttributeError)"

Step = tuple[int, int, int, int]


def render(steps: list[Step]) -> str:
    """Return the program that a list of draws stands for."""
    lines = [PRELUDE.rstrip()]
    count = 2
    depth = 0
    lines.append(f"v0 = torch.tensor({DATA[1]}, requires_grad=True)")
    lines.append(f"v1 = torch.tensor({DATA[2]})")

    def attempt(statement: str, number: int, target: str | None) -> None:
        pad = "    " * depth
        lines.append(f"{pad}try:")
        lines.append(f"{pad}    {statement}")
        lines.append(f"{pad}except {CAUGHT} as error:")
        lines.append(f'{pad}    exc("e{number}", error)')
        if target:
            lines.append(f"{pad}    {target} = torch.zeros(3)")

    for number, (kind, choice, first, second) in enumerate(steps):
        a = f"v{count - 1 - first % min(count, 5)}"
        b = f"v{second % count}"
        if kind < 2:
            depth += 1
            lines.append("    " * (depth - 1) + f"with {GUARDS[choice % len(GUARDS)]}:")
            lines.append("    " * depth + f'obs("m{number}", [torch.is_grad_enabled()])')
        elif kind < 4:
            depth = max(depth - 1, 0)
        elif kind < 10:
            table = (UNARY, BINARY, VIEWS, VIEWS, UNARY, GRADIENTS)[kind - 4]
            expression = table[choice % len(table)].format(a=a, b=b)
            attempt(f"v{count} = {expression}", number, f"v{count}")
            count += 1
        elif kind < 11:
            tracks = ", requires_grad=True" if first % 2 else ""
            value = DATA[choice % len(DATA)]
            lines.append("    " * depth + f"v{count} = torch.tensor({value}{tracks})")
            count += 1
        else:
            attempt(CHANGES[choice % len(CHANGES)].format(a=a, b=b), number, None)
    lines += [f'report("v{n}", v{n})' for n in range(count)]
    lines.append('obs("seen", seen)')
    return "\n".join(lines) + "\n"


STEPS = st.lists(
    st.tuples(st.integers(0, 15), st.integers(0, 59), st.integers(0, 9), st.integers(0, 9)),
    min_size=3,
    max_size=16,
)


@settings(
    max_examples=4000,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(steps=STEPS)
def test_random_programs_agree(steps: list[Step], run_program: Callable[..., Any]) -> None:
    source = render(steps)
    expected = run_program(source, "torch")
    got = run_program(source)
    assert expected.differences(got) == [], source


def test_every_statement_runs_alone(run_program: Callable[..., Any]) -> None:
    tables = {4: UNARY, 5: BINARY, 6: VIEWS, 9: GRADIENTS, 11: CHANGES}
    for kind, table in tables.items():
        for choice in range(len(table)):
            source = render([(8, 27, 0, 0), (kind, choice, 0, 1), (11, 46, 0, 0)])
            expected = run_program(source, "torch")
            assert expected.differences(run_program(source)) == [], source
