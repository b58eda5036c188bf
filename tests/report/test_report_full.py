from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_samples import HINT, LOSS, MIXED, SOURCES, finding, source, span, step

from gradguard.findings import Failure, Finding, Position, Report, Span
from gradguard.report.formats import render
from gradguard.source import Cell, Source


def draw(one: Finding, sources: dict[str, Source], width: int = 100) -> str:
    return render(Report((one,)), "full", sources=sources, width=width)


def frame(text: str) -> list[str]:
    """The lines of the code frame."""
    return [line for line in text.splitlines() if re.match(r" *(\d+ )?\||\.\.\.| *-->", line)]


def test_the_whole_block_of_a_finding() -> None:
    assert draw(LOSS, SOURCES) == (
        """\
train.py:8:5: error[GRD101]: `loss` was computed under `no_grad`, so `backward()` has no graph
  |
5 |     with torch.no_grad():
  |          --------------- 1. guard opens here
6 |         loss = criterion(model(x), y)
  |         ---- 2. `loss` is made inside it
7 |
8 |     loss.backward()
  |     ^^^^^^^^^^^^^^^ 3. needs the graph that 1 discarded
run on torch: raises: RuntimeError: element 0 does not require grad
run on tenferro: passes in silence: the gradient table is empty
note: assuming that `criterion` has no parameters
note: likely, not certain: one step of this is assumed
help: move line 6 out of the `with` block
fix: enter the guard later (unsafe, look at it before you take it)
rule: backward-untracked, told by `gradguard rule GRD101`; silence it with `# noqa: GRD101`

"""
    )


def test_a_single_step_has_no_number_and_the_own_span_is_marked_as_well() -> None:
    text = draw(finding(witness=[step("made here", span(6, 9, 13))]), SOURCES)
    assert "  |         ---- made here" in text
    assert frame(text)[-1] == "  |     ^^^^^^^^^^^^^^^"


def test_rows_left_out_are_shown_as_left_out() -> None:
    text = draw(finding(at=span(9, 5, 8), witness=[step("made here", span(1, 1, 7))]), SOURCES)
    assert frame(text) == [
        "  |",
        "1 | import torch",
        "  | ------ made here",
        "...",
        "9 |     opt.step()",
        "  |     ^^^",
    ]


def test_steps_on_one_line_are_marked_one_under_the_other_in_their_order() -> None:
    witness = [step("second thing first", span(1, 5, 6)), step("then the first", span(1, 1, 2))]
    text = draw(finding(at=span(1, 9, 10), witness=witness), source("a + b + c\n"))
    assert frame(text) == [
        "  |",
        "1 | a + b + c",
        "  |     - 1. second thing first",
        "  | - 2. then the first",
        "  |         ^",
    ]


def test_marks_stand_under_their_characters_with_tabs_wide_and_combining_characters() -> None:
    line = "\tx = 'héllo 損失 e\u0301'; loss.backward()"
    column = line.index("loss") + 1
    text = draw(finding(at=span(1, column, column + 15)), source(line + "\n"))
    code, mark = frame(text)[1:]
    assert code.startswith("1 |     x = ")
    before_code, before_mark = code[: code.index("loss")], mark[: mark.index("^")]
    assert screen_width(before_code) == len(before_mark)
    assert mark.count("^") == len("loss.backward()")


def screen_width(text: str) -> int:
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(unicodedata.combining(char) > 0 for char in text)


def test_a_wide_character_is_underlined_in_its_whole_width() -> None:
    text = draw(finding(at=span(1, 1, 3)), source("損失.backward()\n"))
    assert frame(text)[2] == "  | ^^^^"


@pytest.mark.parametrize("lead", ["a = 1; " * 900, "\t" * 3000, "損" * 4000, "e\u0301" * 2000])
def test_a_very_long_line_is_cut_around_the_mark(lead: str) -> None:
    text = draw(
        finding(at=span(1, len(lead) + 1, len(lead) + 5)), source(f"{lead}loss.backward(){'z' * 9000}\n")
    )
    code, mark = frame(text)[1:]
    assert screen_width(code) <= 100
    assert code.startswith("1 | ...")
    assert code.endswith("z...")
    at = screen_width(code[: code.index("loss.backward()")])
    assert mark == "  |".ljust(at) + "^^^^"


def test_marks_far_apart_on_a_long_line_are_both_seen() -> None:
    line = "first = 1; " + "x" * 5000 + "; last = 2"
    witness = [step("the first", span(1, 1, 6)), step("the last", span(1, len(line) - 7, len(line) - 3))]
    text = draw(finding(at=witness[1].span, witness=witness), source(line))
    lines = frame(text)
    assert lines[1].startswith("1 | first = 1; xxx")
    assert lines[2] == "  | ----- 1. the first"
    assert lines[3].startswith("1 | ...xxx")
    assert lines[4].strip("| ") == "^^^^ 2. the last"
    assert lines[4].index("^") == lines[3].index("last")


def test_a_line_of_ten_megabytes_is_drawn_without_walking_all_of_it() -> None:
    line = "x" * 10_000_000
    assert "^^^" in draw(finding(at=span(1, 9_000_000, 9_000_003)), source(line))


def test_a_span_over_many_lines_is_marked_on_its_first_and_says_where_it_ends() -> None:
    witness = [step("all of this", span(5, 5, 20, end_row=8))]
    assert "  |     --------------------- all of this (to line 8)" in draw(finding(witness=witness), SOURCES)


@pytest.mark.parametrize(
    "outside",
    [span(900, 1, 4), span(8, 700, 704), span(0, 0, 0), Span("train.py", Position(8, 20), Position(2, 1))],
)
def test_spans_outside_the_text_lose_no_word(outside: Span) -> None:
    text = draw(finding(at=outside, witness=[step("that is here", outside)], notes=("and noted",)), SOURCES)
    assert "that is here" in text
    assert "note: and noted" in text


def test_without_the_source_the_steps_are_still_told() -> None:
    text = draw(LOSS, {})
    assert frame(text) == [
        "  |",
        "5 |",
        "  | 1. guard opens here",
        "6 |",
        "  | 2. `loss` is made inside it",
        "...",
        "8 |",
        "  | 3. needs the graph that 1 discarded",
    ]


def test_steps_in_other_files_come_under_the_name_of_their_file() -> None:
    other = Source("lib/step.py", "", "def step(loss):\n    loss.backward()\n")
    witness = [
        step("guard opens here", span(5, 10, 25)),
        step("called from here", span(2, 5, 20, file="lib/step.py")),
    ]
    text = draw(finding(at=witness[1].span, witness=witness), {**SOURCES, "lib/step.py": other})
    assert text.splitlines()[0].startswith("lib/step.py:2:5: error[GRD101]: ")
    assert frame(text) == [
        " --> train.py:5:10",
        "5 |     with torch.no_grad():",
        "  |          --------------- 1. guard opens here",
        " --> lib/step.py:2:5",
        "2 |     loss.backward()",
        "  |     ^^^^^^^^^^^^^^^ 2. called from here",
    ]


def test_rows_of_a_notebook_count_within_their_cell() -> None:
    text = draw(HINT, SOURCES)
    assert text.splitlines()[:5] == [
        "nb.ipynb:cell 3:2:6: hint[GRD312]: `no_grad` stands inside a guard of the same effect",
        "  |",
        "1 | with torch.no_grad():",
        "  |      --------------- the outer guard",
        "2 |     with torch.no_grad():",
    ]


def test_a_row_beyond_a_cell_is_not_taken_from_the_next_one() -> None:
    notebook = Source("nb.ipynb", "", "a\nb\n", cells=(Cell(1, 1, 1), Cell(2, 2, 1)))
    text = draw(finding(at=span(2, 1, 2, file="nb.ipynb", cell=1)), {"nb.ipynb": notebook})
    assert frame(text) == []


def test_long_labels_go_below_and_stay_within_the_width() -> None:
    label = "this is why: " + "the graph is gone " * 12
    text = draw(finding(witness=[step(label, span(8, 5, 20))]), SOURCES, width=60)
    lines = frame(text)
    assert lines[2] == "  |     ^^^^^^^^^^^^^^^"
    assert " ".join(line[4:].strip() for line in lines[3:]) == label.strip()
    assert max(map(len, lines)) <= 60


def test_a_file_that_was_not_read_is_told_and_has_no_frame() -> None:
    text = render(Report((), (Failure("gone.py", "no such file"),)), "full")
    assert text == (
        "gone.py:1:1: error[GRD000]: no such file\nrule: unreadable, told by `gradguard rule GRD000`\n\n"
    )


def test_no_escape_sequence_without_colour_and_the_same_text_with_it() -> None:
    plain = render(MIXED, "full", sources=SOURCES)
    colored = render(MIXED, "full", sources=SOURCES, color=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain
    assert "\x1b[1;31merror[GRD101]\x1b[0m" in colored
    assert "\x1b[1;33mwarning[GRD201]\x1b[0m" in colored


def test_source_and_messages_cannot_command_the_terminal() -> None:
    text = draw(
        finding("`\x1b[2J` and\nmore", at=span(1, 1, 5), witness=[step("\x07bell\u202e", span(1, 1, 5))]),
        source("s = '\x1b[31m\u202e'  # \x00\n"),
    )
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)
    assert r"\x1b[2J` and more" in text
    assert r"s = '\x1b[31m\u202e'" in text


def test_undecodable_file_names_can_be_written() -> None:
    text = draw(finding(at=span(1, 1, 2, file="caf\udce9.py")), {})
    assert text.encode().startswith(rb"caf\udce9.py:1:1: ")


def test_form_feeds_and_line_separators_end_no_row() -> None:
    text = draw(finding(at=span(2, 1, 5)), source("a = '\x0c\u2028'\nloss.backward()\n"))
    assert "2 | loss.backward()" in text


anything = st.text(st.characters(), max_size=60)
numbers = st.integers(-2, 70)
spans = st.builds(
    Span,
    st.sampled_from(["a.py", "b.py"]),
    st.builds(Position, numbers, numbers),
    st.builds(Position, numbers, numbers),
    st.sampled_from([None, 1, 2]),
)


@settings(max_examples=150, deadline=None)
@given(anything, spans, st.lists(st.tuples(anything, spans), max_size=4), st.integers(1, 120))
def test_whatever_comes_every_word_of_the_witness_is_told(
    text: str, at: Span, steps: list[tuple[str, Span]], width: int
) -> None:
    witness = [step(f"{message}word{number}", where) for number, (message, where) in enumerate(steps)]
    drawn = draw(finding(at=at, witness=witness), source(text, "a.py", (Cell(1, 1, 2),)), width)
    drawn.encode()
    for number in range(len(steps)):
        assert f"word{number}" in drawn
