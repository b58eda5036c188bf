"""Programs run by the interpreter: what Python does, with the modes of torch."""

from __future__ import annotations

import pytest
from replay_harness import Tree

from gradguard.infer.sites import Root
from gradguard.replay.backend import embedded
from gradguard.replay.session import Session
from gradguard.replay.starting import run_root

PROGRAMS = {
    "closures and nonlocal": (
        "def counter():\n    n = 0\n    def up():\n        nonlocal n\n        n += 1\n        return n\n    return up\nu = counter()\nseen = [u(), u(), u()]",
        [1, 2, 3],
    ),
    "globals": ("n = 1\ndef up():\n    global n\n    n = n + 1\nup()\nup()\nseen = n", 3),
    "classes, super and properties": (
        "class A:\n    k = 2\n    def __init__(self, v):\n        self.v = v\n    @property\n    def twice(self):\n        return self.k * self.v\n"
        "class B(A):\n    def __init__(self, v):\n        super().__init__(v + 1)\n    @classmethod\n    def make(cls):\n        return cls(1)\n    @staticmethod\n    def one():\n        return 1\nseen = [B(1).twice, B.make().v, B.one()]",
        [4, 2, 1],
    ),
    "generators take what is sent": (
        "def g():\n    got = yield 1\n    while got:\n        got = yield got * 2\ni = g()\nseen = [next(i), i.send(3), i.send(4)]",
        [1, 6, 8],
    ),
    "yield from": (
        "def a():\n    x = yield from b()\n    yield x\ndef b():\n    yield 1\n    return 2\nseen = list(a())",
        [1, 2],
    ),
    "finally runs on the way out": (
        "seen = []\ndef f():\n    try:\n        return 1\n    finally:\n        seen.append(2)\nseen.append(f())",
        [2, 1],
    ),
    "handlers, else and re-raising": (
        "seen = []\ndef f(x):\n    try:\n        if x:\n            raise ValueError('v')\n    except ValueError as e:\n        seen.append(str(e))\n        raise\n    else:\n        seen.append('else')\nf(0)\ntry:\n    f(1)\nexcept ValueError:\n    seen.append('out')",
        ["else", "v", "out"],
    ),
    "context managers of generators": (
        "from contextlib import contextmanager\nseen = []\n@contextmanager\ndef c():\n    seen.append('in')\n    try:\n        yield 5\n    finally:\n        seen.append('out')\nwith c() as x:\n    seen.append(x)",
        ["in", 5, "out"],
    ),
    "a suppressed error": (
        "from contextlib import suppress\nseen = 1\nwith suppress(KeyError):\n    {}['k']\n    seen = 2",
        1,
    ),
    "unpacking": ("a, (b, *c), d = 1, (2, 3, 4), 5\nseen = [a, b, c, d]", [1, 2, [3, 4], 5]),
    "comprehensions": (
        "seen = [{k: v for k, v in zip('ab', [1, 2])}, [x for y in [[1], [2]] for x in y if x > 1]]",
        [{"a": 1, "b": 2}, [2]],
    ),
    "match": (
        "def f(x):\n    match x:\n        case 1:\n            return 'one'\n        case 'two':\n            return 2\n        case _:\n            return None\nseen = [f(1), f('two'), f(3)]",
        ["one", 2, None],
    ),
    "loop control": (
        "seen = []\nfor i in [1, 2, 3, 4]:\n    if i == 2:\n        continue\n    if i == 4:\n        break\n    seen.append(i)\nelse:\n    seen.append('else')",
        [1, 3],
    ),
    "star arguments": (
        "def f(a, *b, c=3, **d):\n    return [a, b, c, d]\nseen = f(1, *[2], **{'e': 4})",
        [1, (2,), 3, {"e": 4}],
    ),
    "decorators of the program": (
        "import functools\ndef twice(f):\n    @functools.wraps(f)\n    def inner(*a, **k):\n        return 2 * f(*a, **k)\n    return inner\n@twice\ndef f(x):\n    return x\nseen = [f(2), f.__name__]",
        [4, "f"],
    ),
    "tasks take turns": (
        "import asyncio\nseen = []\nasync def t(n):\n    seen.append(n)\n    await asyncio.sleep(0)\n    seen.append(n)\nasync def main():\n    await asyncio.gather(t(1), t(2))\nasyncio.run(main())",
        [1, 2, 1, 2],
    ),
    "asynchronous generators": (
        "import asyncio\nasync def g():\n    for i in [1, 2]:\n        await asyncio.sleep(0)\n        yield i\nasync def main():\n    return [x async for x in g()]\nseen = asyncio.run(main())",
        [1, 2],
    ),
    "a guarded generator does not leak": (
        "import torch\nseen = []\n@torch.no_grad()\ndef g():\n    for _ in [1, 2]:\n        yield torch.is_grad_enabled()\nfor inside in g():\n    seen.append((inside, torch.is_grad_enabled()))",
        [(False, True), (False, True)],
    ),
    "a guard in a generator leaks": (
        "import torch\ndef g():\n    with torch.no_grad():\n        yield 1\nfor _ in g():\n    seen = torch.is_grad_enabled()",
        False,
    ),
    "a thread has modes of its own": (
        "import threading, torch\nseen = []\ndef work():\n    seen.append(torch.is_grad_enabled())\nwith torch.no_grad():\n    t = threading.Thread(target=work)\n    t.start()\n    t.join()\n    seen.append(torch.is_grad_enabled())",
        [True, False],
    ),
    "gradients are numbers": (
        "import torch\nx = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)\n(x * x).sum().backward()\nseen = x.grad.tolist()",
        [2.0, 4.0, 6.0],
    ),
    "a custom function": (
        "import torch\nclass F(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n        ctx.save_for_backward(x)\n        return x * 3\n    @staticmethod\n    def backward(ctx, g):\n        return g * 3\nx = torch.ones(2, requires_grad=True)\nF.apply(x).sum().backward()\nseen = x.grad.tolist()",
        [3.0, 3.0],
    ),
}


def run(text: str) -> Session:
    tree = Tree()
    tree.add("program.py", text)
    session = Session(tree.program, tree.facts, embedded(), {})
    run_root(session, Root("module", "program.py"))
    return session


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_python_does(name: str) -> None:
    text, seen = PROGRAMS[name]
    session = run(text)
    assert session.trace.error is None
    assert session.modules["program.py"].values["seen"] == seen
    assert session.trace.exact


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.torch
def test_python_and_torch_agree(name: str) -> None:
    pytest.importorskip("torch")
    text, seen = PROGRAMS[name]
    space: dict[str, object] = {"__name__": "__main__"}
    exec(compile(text, name, "exec"), space)
    assert space["seen"] == seen


def test_an_error_leaves_as_in_python() -> None:
    session = run("def f():\n    return None + 1\nf()")
    assert isinstance(session.trace.error, TypeError)
    assert "NoneType" in str(session.trace.error)
