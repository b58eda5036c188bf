from __future__ import annotations

import io
import tokenize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradguard.discover.logical_lines import Rows, logical_lines


def comments_of(text: str) -> list[str]:
    return [text[start:end] for line in logical_lines(text) for start, end in line.comments]


def test_a_hash_in_a_string_opens_no_comment() -> None:
    text = 'a = \'# one\'  # two\nb = """\n# three\n""" # four\nc = r\'\\\' # five\'\n'
    assert comments_of(text) == ["# two", "# four"]


def test_brackets_and_backslashes_join_rows() -> None:
    text = "a = (1,\n  2)\nb = 1 + \\\n  2\nc = 3\n"
    assert [text[line.start : line.end] for line in logical_lines(text)] == [
        "a = (1,\n  2)\n",
        "b = 1 + \\\n  2\n",
        "c = 3\n",
    ]


def test_an_unclosed_string_ends_with_its_row() -> None:
    assert comments_of("a = 'open\nb = 1  # seen\n") == ["# seen"]


def test_a_closing_bracket_too_many_does_not_join_the_rest() -> None:
    text = "a = 1)\nb = (2,\n3)\n"
    assert len(list(logical_lines(text))) == 2


SOURCES = [
    "def f(a, *, b=(1,\n 2)):\n    # note\n    return {'x': '#', 'y': [1, # inner\n 2]}\n",
    "x = f'{a!r:>{w}} # no' # yes\n\n\nclass C: # c\n\tpass\n",
    "s = '''it's # no''' + \"a\\\"# no\" # yes\n",
]


@pytest.mark.parametrize("text", SOURCES)
def test_comments_are_those_of_the_tokenizer(text: str) -> None:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    assert comments_of(text) == [token.string for token in tokens if token.type == tokenize.COMMENT]


@given(st.text(alphabet="a#'\"\\\n()[]{} \t", max_size=60))
def test_logical_lines_cover_any_text_without_a_gap(text: str) -> None:
    lines = list(logical_lines(text))
    assert "".join(text[line.start : line.end] for line in lines) == text
    assert all(line.end > line.start for line in lines)


@given(st.text(alphabet="ab\n", max_size=40), st.integers(0, 40))
def test_rows_and_offsets_are_inverse(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    rows = Rows(text)
    row, column = rows.position(offset)
    assert row == text.count("\n", 0, offset) + 1
    assert rows.offset(row, column) == offset
