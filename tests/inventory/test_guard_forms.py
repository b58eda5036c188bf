"""Every form of a guard is found under every name, with its start and its end."""

from __future__ import annotations

import pytest
from guard_listing import records, rows


@pytest.mark.parametrize(
    ("imports", "guard", "told"),
    [
        ("import torch", "torch.no_grad()", "torch.no_grad"),
        ("import torch as th", "th.inference_mode()", "torch.inference_mode"),
        ("import torch.autograd", "torch.enable_grad()", "torch.enable_grad"),
        ("import torch.autograd.grad_mode as gm", "gm.no_grad()", "torch.autograd.grad_mode.no_grad"),
        ("from torch import no_grad as ng", "ng()", "torch.no_grad"),
        ("from torch.autograd import grad_mode", "grad_mode.no_grad()", "torch.autograd.grad_mode.no_grad"),
        ("from torch import *", "no_grad()", "torch.no_grad"),
        ("import torch\nng = torch.no_grad", "ng()", "torch.no_grad"),
        ("import torch\nng = getattr(torch, 'no_grad')", "ng()", "torch.no_grad"),
        (
            "import torch, functools\noff = functools.partial(torch.set_grad_enabled, False)",
            "off()",
            "torch.set_grad_enabled()",
        ),
        (
            "try:\n    from torch import no_grad\nexcept ImportError:\n    no_grad = None",
            "no_grad()",
            "torch.no_grad",
        ),
        ("import torch", "torch.set_grad_enabled(mode=train)", "torch.set_grad_enabled(mode=train)"),
        ("import torch", "torch.inference_mode(False)", "torch.inference_mode(False)"),
        ("import paddle", "paddle.no_grad()", "paddle.no_grad"),
        ("from .compat import no_grad", "no_grad()", ".compat.no_grad"),
        (
            "import torch\nfrom contextlib import nullcontext",
            "torch.no_grad() if c else nullcontext()",
            "torch.no_grad",
        ),
        (
            "import torch\nfrom contextlib import nullcontext",
            "(nullcontext if c else torch.no_grad)()",
            "torch.no_grad",
        ),
        ("import torch", "(g := torch.no_grad())", "torch.no_grad"),
        ("import torch", "autocast() and torch.no_grad()", "torch.no_grad"),
    ],
)
def test_a_with_statement_finds_its_guard_under_every_name(imports: str, guard: str, told: str) -> None:
    first = imports.count("\n") + 2
    assert rows(f"{imports}\nwith {guard}:\n    y = f(x)\nz = 1\n") == [
        f"{first}-{first + 1} with {told.replace('()', '')}"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ndef f(torch):\n    with torch.no_grad():\n        pass\n",
        "import torch\nno_grad = open\nwith no_grad():\n    pass\n",
        "import torch\nng = torch.no_grad\nng = open\nwith ng():\n    pass\n",
        "with torch.no_grad():\n    pass\n",
        "import torch\nwith torch.no_sync():\n    pass\n",
        "import torch\nclass A:\n    ng = torch.no_grad\n    def f(self):\n        with ng():\n            pass\n",
    ],
)
def test_what_is_no_guard_is_not_listed(text: str) -> None:
    assert rows(text) == []


def test_of_a_choice_of_two_guards_both_are_listed() -> None:
    text = """
        import torch
        with torch.no_grad() if c else torch.enable_grad():
            pass
        """
    assert rows(text) == ["2-3 with torch.enable_grad", "2-3 with torch.no_grad"]


def test_of_and_only_the_last_is_entered() -> None:
    text = """
        import torch
        with torch.no_grad() and torch.enable_grad():
            y = f(x)
        """
    entered, made = sorted(records(text), key=lambda one: one.form != "with")
    assert (entered.guard, entered.form) == ("torch.enable_grad", "with")
    assert (made.guard, made.form, made.ends, made.covers) == ("torch.no_grad", "object", None, ())


def test_decorators_end_with_the_function() -> None:
    text = """
        import torch
        from contextlib import contextmanager

        @torch.no_grad()
        @other
        def called(x):
            return x + 1

        @torch.no_grad
        def bare(x):
            y = x + 1

        @torch.no_grad()
        class Net:
            def __init__(self):
                self.w = make()

            def forward(self, x):
                return self.w
        """
    called, bare, net = records(text)
    assert (called.span.start.row, called.ends.row, called.function) == (4, 7, "called")
    assert (bare.span.start.row, bare.ends.row, bare.form) == (9, 11, "decorator")
    assert (net.span.start.row, net.ends.row, net.function) == (13, 16, "Net")
    assert [text for _, _, text in net.covers] == ["self.w", "make()"]


def test_a_decorator_that_guards_nothing_covers_nothing() -> None:
    text = """
        import torch
        from contextlib import contextmanager

        @torch.no_grad()
        async def fetch(x):
            y = await x

        @torch.no_grad()
        @contextmanager
        def above(x):
            y = f(x)
            yield

        @contextmanager
        @torch.no_grad()
        def below(x):
            y = f(x)
            yield
        """
    fetch, above, below = records(text)
    assert fetch.covers == above.covers == ()
    assert [kind for kind, _, _ in below.covers] == ["value", "call", "yield"]


def test_a_function_guarded_by_a_call() -> None:
    text = """
        import torch

        def predict(x):
            return model(x)

        predict = torch.no_grad()(predict)
        again = torch.no_grad(predict)
        quick = torch.no_grad()(lambda x: model(x))
        """
    assert rows(text) == [
        "6-? decorator torch.no_grad",
        "7-? decorator torch.no_grad",
        "8-8 decorator torch.no_grad",
    ]
    assert [[t for _, _, t in one.covers] for one in records(text)] == [["model(x)"]] * 3


def test_objects_are_told_where_they_are_entered() -> None:
    text = """
        import torch

        class Trainer:
            def __init__(self):
                self.guard = torch.no_grad()
                self.kind = torch.inference_mode

            def run(self, x):
                g = torch.no_grad()
                with g:
                    a = f(x)
                with self.guard, self.kind():
                    b = f(x)

        def given(x, context=torch.no_grad()):
            with context:
                pass
        """
    assert rows(text) == [
        "10-11 object torch.no_grad",
        "12-13 object torch.no_grad",
        "12-13 with torch.inference_mode",
        "16-17 object torch.no_grad",
    ]


def test_objects_that_nobody_enters() -> None:
    text = """
        import torch

        def f(x):
            torch.no_grad()
            unread = torch.no_grad()
            handed = torch.no_grad()
            run(handed)
            y = x + 1
            return torch.no_grad()
        """
    assert rows(text) == [
        "4-4 object torch.no_grad",
        "5-5 object torch.no_grad",
        "6-? object torch.no_grad",
        "9-? object torch.no_grad",
    ]


def test_entered_by_hand() -> None:
    text = """
        import torch
        from contextlib import ExitStack

        def by_hand(x):
            g = torch.no_grad()
            g.__enter__()
            try:
                a = f(x)
            finally:
                g.__exit__(None, None, None)
            b = f(x)

        def left_open(x):
            torch.no_grad().__enter__()
            a = f(x)

        def stacked(x, train):
            with ExitStack() as stack:
                if not train:
                    stack.enter_context(torch.no_grad())
                a = f(x)
            b = f(x)

        def closed(x):
            stack = ExitStack()
            stack.enter_context(torch.no_grad())
            a = f(x)
            stack.close()
            b = f(x)
        """
    assert rows(text) == [
        "6-10 entered torch.no_grad",
        "14-? entered torch.no_grad",
        "20-21 entered torch.no_grad",
        "26-28 entered torch.no_grad",
    ]
    assert [[t for kind, _, t in one.covers if kind == "value"] for one in records(text)] == [["a"]] * 4


def test_helpers_of_the_file() -> None:
    text = """
        import torch
        from contextlib import contextmanager, nullcontext

        @contextmanager
        def evaluating(model):
            model.eval()
            with torch.no_grad():
                yield
            model.train()

        @contextmanager
        def timed():
            with torch.no_grad():
                warm_up()
            yield

        @contextmanager
        def switched():
            torch.set_grad_enabled(False)
            try:
                yield
            finally:
                torch.set_grad_enabled(True)

        def frozen(flag):
            return torch.no_grad() if flag else nullcontext()

        class Off:
            def __enter__(self):
                self.before = torch.is_grad_enabled()
                torch.set_grad_enabled(False)

            def __exit__(self, *exc):
                torch.set_grad_enabled(self.before)

        class Mine(torch.no_grad):
            pass

        def use(x):
            with evaluating(x):
                a = 1
            with timed():
                b = 1
            with switched():
                c = 1
            with frozen(True):
                d = 1
            with Off():
                e = 1
            with Mine():
                g = 1

        @evaluating(None)
        def decorated(x):
            h = 1
        """
    helping = [one for one in records(text) if one.span.start.row > 37]
    assert [(one.guard, one.form, [t for _, _, t in one.covers if t != "1"]) for one in helping] == [
        ("evaluating", "helper", ["a"]),
        ("switched", "helper", ["c"]),
        ("frozen", "helper", ["d"]),
        ("Off", "helper", ["e"]),
        ("Mine", "helper", ["g"]),
        ("evaluating", "decorator", ["h"]),
    ]


def test_a_helper_that_calls_itself_ends() -> None:
    text = """
        import torch
        from contextlib import contextmanager

        def a():
            return b()

        def b():
            return a()

        @contextmanager
        def c():
            with c():
                yield

        with a(), c():
            pass
        """
    assert rows(text) == []


def test_a_users_guard() -> None:
    text = """
        from mylib.modes import frozen
        with frozen():
            pass
        """
    assert rows(text) == []
    told = {"mylib": {"packages": ["mylib"], "guards": {"mylib.modes.frozen": "off"}}}
    assert rows(text, told) == ["2-3 with mylib.modes.frozen"]
