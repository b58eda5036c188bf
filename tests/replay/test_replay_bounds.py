"""What a replay must not do: reach out, run on, fill the memory, or leave a mode behind."""

from __future__ import annotations

import gc
import time
from pathlib import Path

import pytest
from replay_harness import Tree

from gradguard.infer.sites import Root
from gradguard.replay.backend import Backend, embedded, real
from gradguard.replay.session import Session
from gradguard.replay.starting import run_root

ATTACKS = [
    "open({path!r}, 'w').write('x')",
    "__import__('pathlib').Path({path!r}).write_text('x')",
    "import pathlib\npathlib.Path({path!r}).write_text('x')",
    "import os\nos.system('touch ' + {path!r})",
    "eval(\"open({path!r}, 'w')\")",
    "exec(\"open({path!r}, 'w')\")",
    "[k for k in ().__class__.__bases__[0].__subclasses__() if 'wrap_close' in str(k)][0].__init__.__globals__['system']('touch ' + {path!r})",
    "def g():\n    yield\ni = g()\nnext(i)\ni.gi_frame.f_builtins['open']({path!r}, 'w')",
    "import torch\ntorch.ones(3).numpy().tofile({path!r})",
    "import torch\ntorch.ones(3)._array.tofile({path!r})",
    "import torch\ntorch.save(torch.ones(3), {path!r})",
    "import numpy\nnumpy.save({path!r}, [1])",
    "import torch\ngetattr(torch.ones, '__globals__')['__builtins__']['open']({path!r}, 'w')",
    "import functools\nfunctools.partial(print, file=open({path!r}, 'w'))",
    "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    e.__traceback__.tb_frame.f_builtins['open']({path!r}, 'w')",
    "class A:\n    def __del__(self):\n        open({path!r}, 'w')\ndel A",
    "print('x', file=open({path!r}, 'w'))",
    "import logging\nlogging.FileHandler({path!r}).emit(1)",
    "import torch\ntorch.os.system('touch ' + {path!r})",
    "import torch.nn as nn\nnn.modules.module.os.system('touch ' + {path!r})",
    "import torch\ntorch.serialization.os.system('touch ' + {path!r})",
    "import torch\ntorch.ones(3).untyped_storage()._write_file({path!r}, False, False, 1)",
]


def run(text: str, backend: Backend | None = None) -> Session:
    tree = Tree()
    tree.add("program.py", text)
    session = Session(tree.program, tree.facts, backend or embedded(), {})
    run_root(session, Root("module", "program.py"))
    return session


def values(session: Session) -> dict[str, object]:
    found: dict[str, object] = session.modules["program.py"].values
    return found


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_program_reaches_no_file(attack: str, tmp_path: Path) -> None:
    path = tmp_path / "written"
    run(attack.format(path=str(path)))
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.torch
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_program_reaches_no_file_on_torch_either(attack: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    run(attack.format(path=str(tmp_path / "written")), real())
    gc.collect()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        "while True:\n    pass",
        "import itertools\nx = list(itertools.count())",
        "import itertools\nfor i in itertools.cycle([1]):\n    pass",
        "def f(n):\n    return f(n + 1)\nf(0)",
        "def f():\n    while True:\n        yield 1\nx = sum(f())",
        "x = list(iter(int, 1))",
        "for a in range(10**9):\n    for b in range(10**9):\n        for c in range(10**9):\n            x = a",
        "x = [i for i in range(10**12)]",
        "x = 2\nfor i in range(8):\n    x = x ** x",
        "x = 'a'\nfor i in [0] * 30:\n    x = x + x",
        "x = [0]\nfor i in [0] * 30:\n    x.extend(x)",
        "x = 'a' * 10**12",
        "x = 'a'.ljust(10**12)",
        "x = (1).__lshift__(10**12)",
        "import torch\nx = torch.zeros(10**6, 10**6)",
        "import torch\nx = torch.ones(3)\nfor i in [0] * 30:\n    x = torch.cat([x, x])",
        "import torch\nx = torch.ones(30, 30)\nfor i in [0] * 6:\n    x = torch.outer(x.flatten(), x.flatten())",
        "import torch\nx = torch.ones(3).repeat(10**9)",
        "import torch\nx = torch.ones(3).expand(10**9, 3).contiguous()",
        "import time\ntime.sleep(1000)",
        "import asyncio\nasync def f():\n    while True:\n        await asyncio.sleep(1)\nasyncio.run(f())",
        "import math\nx = math.factorial(10**7)",
        "x = bytearray(10**12)",
    ],
)
def test_a_program_that_does_not_end_is_left_soon(text: str) -> None:
    run("x = 1")
    start = time.perf_counter()
    run(text)
    assert time.perf_counter() - start < 2.0


def test_no_mode_is_left_behind() -> None:
    backend = embedded()
    before = backend.modes()
    run("import torch\ntorch.set_grad_enabled(False)\ng = torch.inference_mode()\ng.__enter__()\ndel g")
    gc.collect()
    assert backend.modes() == before


def test_a_suspended_generator_changes_no_mode_when_it_is_collected() -> None:
    backend = embedded()
    session = run("import torch\ndef f():\n    with torch.no_grad():\n        yield 1\ng = f()\nnext(g)")
    assert session.trace.modes.grad is False
    with backend.torch.no_grad():
        del session
        gc.collect()
        assert not backend.torch.is_grad_enabled()
    assert backend.torch.is_grad_enabled()


def test_a_handler_of_the_program_does_not_catch_the_end_of_the_replay() -> None:
    text = "caught = False\ntry:\n    def f():\n        return f()\n    f()\nexcept BaseException:\n    caught = True\n"
    session = run(text)
    assert session.trace.stopped
    assert values(session)["caught"] is False
