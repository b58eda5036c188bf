from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradguard.discover.magics import plain_python


@pytest.mark.parametrize(
    ("cell", "plain"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!pip install torch\nx = 1", "pass\nx = 1"),
        ("if a:\n    !ls it's\n    b = 1", "if a:\n    pass\n    b = 1"),
        ("model?\nmodel.fit??\n?model\n%time?", "pass\npass\npass\npass"),
        ("files = !ls *.pt\nx = 1", "files = ...\nx = 1"),
        ("out = %sx ls\n", "out = ...\n"),
        ("a, b = !ls", "a, b = ..."),
        ("!pip install \\\n   torch\nx = 1", "pass\n\nx = 1"),
        ("%%time\nloss.backward()", "pass\nloss.backward()"),
        ("\n%%capture out\n%ls\nx = 1", "\npass\npass\nx = 1"),
        ("%%bash\necho 'it\necho (", "pass\n\n"),
        ("%%writefile a.py\nloss.backward()\n", "pass\n\n"),
        ("%time loss.backward()", "if 1: loss.backward()"),
        ("%time  x = f()", "if 1:  x = f()"),
        ("%time for x in y: pass", "pass"),
        ("%timeit f()", "pass"),
        (",f a b\n;f a\n/f a", "pass\npass\npass"),
        ("!!ls", "pass"),
    ],
)
def test_ipython_becomes_python(cell: str, plain: str) -> None:
    assert plain_python(cell) == plain
    ast.parse(plain)


@pytest.mark.parametrize(
    "cell",
    [
        'text = """\n%d of them\n!important\nreally?\n"""',
        "x = (a\n     % b)",
        "x = a \\\n  % b",
        'print("loss=%d" % loss)',
        "a != b",
        "x %= 3",
        "ok = a == (not b)",
        "await f()",
        "x = 5 % 3  # is it?",
        "d = {\n  'a': 1,\n  '?': 2}",
    ],
)
def test_python_is_left_alone(cell: str) -> None:
    assert plain_python(cell) == cell


def test_rows_keep_their_numbers() -> None:
    cell = "%cd x\n\n!a \\\n b \\\n c\nx = !ls\nloss.backward()\n"
    plain = plain_python(cell)
    assert plain.count("\n") == cell.count("\n")
    assert plain.split("\n")[6] == "loss.backward()"


@given(st.text(alphabet="ab%!?=\\\n#'\"() \t,;/time", max_size=50))
def test_any_cell_keeps_its_rows(cell: str) -> None:
    assert plain_python(cell).count("\n") == cell.count("\n")
