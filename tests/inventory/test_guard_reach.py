"""How far a switched mode reaches, and what guards cover."""

from __future__ import annotations

from guard_listing import covers, records, rows


def test_a_call_ends_with_the_restoring_call() -> None:
    text = """
        import torch

        def literal(x):
            torch.set_grad_enabled(False)
            a = f(x)
            torch.set_grad_enabled(True)
            b = f(x)

        def saved(x):
            before = torch.is_grad_enabled()
            torch.set_grad_enabled(False)
            try:
                a = f(x)
            finally:
                torch.set_grad_enabled(before)
            b = f(x)

        def kept(x):
            mode = torch.set_grad_enabled(False)
            a = f(x)
            torch.set_grad_enabled(mode.prev)

        def low_level(x):
            torch._C._set_grad_enabled(False)
            a = f(x)
            torch._C._set_grad_enabled(True)
        """
    assert rows(text) == [
        "4-6 call torch.set_grad_enabled(False)",
        "11-15 call torch.set_grad_enabled(False)",
        "19-21 call torch.set_grad_enabled(False)",
        "24-26 call torch._C._set_grad_enabled(False)",
    ]
    assert [covers(one)["value"] for one in records(text)] == [["a"]] * 2 + [["a"]] * 2


def test_a_call_that_is_not_undone_on_every_way_has_no_known_end() -> None:
    text = """
        import torch

        def leaks(x):
            torch.set_grad_enabled(False)
            a = f(x)

        def sometimes(x):
            torch.set_grad_enabled(False)
            a = f(x)
            if a:
                torch.set_grad_enabled(True)
            b = f(x)
        """
    leaks, sometimes, _ = records(text)
    assert leaks.ends is sometimes.ends is None
    assert covers(sometimes)["value"] == ["a", "b"]


def test_a_call_in_one_branch_does_not_end_that_in_the_other() -> None:
    text = """
        import torch

        def step(x, train):
            if train:
                torch.set_grad_enabled(True)
                a = f(x)
            else:
                torch.set_grad_enabled(False)
                b = f(x)
            c = f(x)
        """
    on, off = records(text)
    assert covers(on)["value"] == ["a", "c"]
    assert covers(off)["value"] == ["b", "c"]


def test_a_second_switch_is_a_guard_of_its_own() -> None:
    text = """
        import torch

        def epoch(x):
            torch.set_grad_enabled(True)
            a = f(x)
            torch.set_grad_enabled(False)
            b = f(x)
        """
    assert rows(text) == [
        "4-6 call torch.set_grad_enabled(True)",
        "6-? call torch.set_grad_enabled(False)",
    ]


def test_a_guard_around_sets_the_mode_back() -> None:
    text = """
        import torch

        def block(x):
            with torch.no_grad():
                torch.set_grad_enabled(True)
                a = f(x)
            b = f(x)

        @torch.no_grad()
        def whole(x):
            torch.set_grad_enabled(True)
            a = f(x)
        """
    told = [one for one in records(text) if one.form == "call"]
    assert [(one.ends.row, covers(one)["value"], one.depth) for one in told if one.ends] == [
        (6, ["a"], 1),
        (12, ["a"], 1),
    ]


def test_every_kind_is_told() -> None:
    text = """
        import torch
        from torch.autograd import grad
        from torch import nn

        async def everything(model, xs, optimizer, scheduler, scaler, accelerator, q):
            sgd = torch.optim.SGD(model.parameters())
            with torch.no_grad():
                a, (b, *c) = d = model(xs)
                self.loss: float = a.sum()
                total += 1
                if (n := len(xs)) > 1:
                    pass
                a.backward()
                torch.autograd.backward(a)
                grad(a, b)
                accelerator.backward(a)
                for p in model.parameters():
                    p -= lr
                    p.add_(1)
                    p.grad.zero_()
                    p.data = b
                    p[0] = 1
                w -= lr * w.grad
                nn.init.zeros_(b)
                optimizer.step()
                sgd.step()
                scaler.step(optimizer)
                scheduler.step()
                b.requires_grad_()
                yield a
                await q
                async for z in q:
                    pass
            after = model(xs)
        """
    (record,) = records(text)
    told = covers(record)
    assert told["value"] == ["a", "b", "c", "d", "self.loss", "total", "n"]
    assert told["backward"] == [
        "a.backward()",
        "torch.autograd.backward(a)",
        "grad(a, b)",
        "accelerator.backward(a)",
    ]
    assert told["update"] == [
        "p -= lr",
        "p.add_(1)",
        "p.data",
        "p[0]",
        "w -= lr * w.grad",
        "nn.init.zeros_(b)",
        "optimizer.step()",
        "sgd.step()",
        "scaler.step(optimizer)",
    ]
    assert told["call"] == [
        "model(xs)",
        "a.sum()",
        "len(xs)",
        "model.parameters()",
        "p.grad.zero_()",
        "scheduler.step()",
        "b.requires_grad_()",
    ]
    assert told["yield"] == ["yield a"]
    assert told["await"] == ["await q", "async for z in q"]


def test_what_is_only_defined_under_a_guard_does_not_run_there() -> None:
    text = """
        import torch
        with torch.no_grad():
            def later(x):
                y = f(x)
            g = lambda x: h(x)
            z = [k(x) for x in xs]
        """
    (record,) = records(text)
    assert covers(record) == {"value": ["g", "z"], "call": ["k(x)"]}


def test_depth_counts_the_guards_in_force() -> None:
    text = """
        import torch

        @torch.no_grad()
        def f(x):
            with torch.enable_grad():
                with torch.no_grad():
                    def g(x):
                        with torch.enable_grad():
                            pass
            with torch.enable_grad():
                pass
        """
    assert [(one.span.start.row, one.depth) for one in records(text)] == [
        (3, 0),
        (5, 1),
        (6, 2),
        (8, 0),
        (10, 1),
    ]


def test_names_of_functions_are_qualified() -> None:
    text = """
        import torch

        class A:
            class B:
                def f(self):
                    def g():
                        with torch.no_grad():
                            pass
        """
    assert [one.function for one in records(text)] == ["A.B.f.g"]


def test_long_texts_are_cut_and_told_in_one_line() -> None:
    arguments = ",\n        ".join(f"argument_{n}" for n in range(40))
    (record,) = records(f"import torch\nwith torch.no_grad():\n    f(\n        {arguments})\n")
    ((_, span, text),) = record.covers
    assert text.startswith("f( argument_0, argument_1, ") and text.endswith("...")
    assert len(text) == 120
    assert (span.start.row, span.end.row) == (3, 43)
