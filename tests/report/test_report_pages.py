from __future__ import annotations

import json
import re
import textwrap
from importlib.resources import files

import pytest

from gradguard.report.pages import read_page, render_all, render_index, render_rule
from gradguard.rule import Rule

RULE = Rule("GRD101", "backward-untracked", "backward on a value made while recording was off")
PREVIEW = Rule("GRD308", "no-such-page-at-all", "a rule without a page", "warning", preview=True)
PAGE = """\
# backward-untracked (GRD101)

## What it does

Reports **every** `backward()` on such a value: [the guide](https://docs.example/guide) and [limits](#limits) say
more, `a[0](x)` and `**kwargs` stay.
<!-- not for
readers -->

- first thing that is long enough to be folded when the screen is as narrow as this one
- second

```python
# this is no heading
loss.backward()  # expect: GRD101

- neither = this
```

| a | b |
|---|---|
"""


def test_text_has_no_marks_of_markdown_and_keeps_programs() -> None:
    assert render_rule(RULE, PAGE, "text", width=60) == (
        """\
backward-untracked (GRD101)

What it does

Reports every `backward()` on such a value: the guide
(https://docs.example/guide) and limits say more, `a[0](x)`
and `**kwargs` stay.

- first thing that is long enough to be folded when the
  screen is as narrow as this one
- second

    # this is no heading
    loss.backward()  # expect: GRD101

    - neither = this

| a | b |
|---|---|
"""
    )


def test_colour_marks_headings() -> None:
    assert "\x1b[1mWhat it does\x1b[0m" in render_rule(RULE, PAGE, "text", color=True)
    assert "\x1b" not in render_rule(RULE, PAGE, "text")


def test_an_open_fence_and_a_longer_one_lose_nothing() -> None:
    text = render_rule(RULE, "````md\n```\nx\n```\n````\nafter\n```\nlast", "text")
    assert text.splitlines()[2:] == ["    ```", "    x", "    ```", "after", "    last"]


def test_markdown_is_the_page_as_written() -> None:
    assert render_rule(RULE, PAGE, "markdown") == PAGE


def test_a_page_without_title_and_a_rule_without_page() -> None:
    assert render_rule(RULE, "Text.\n", "markdown") == "# backward-untracked (GRD101)\n\nText.\n"
    assert render_rule(PREVIEW, "", "text").splitlines() == [
        "no-such-page-at-all (GRD308)",
        "",
        "This rule is a preview: it is off unless preview is asked for.",
        "",
        "a rule without a page",
    ]


def test_json() -> None:
    assert json.loads(render_rule(RULE, PAGE, "json")) == {
        "code": "GRD101",
        "name": "backward-untracked",
        "summary": "backward on a value made while recording was off",
        "severity": "error",
        "preview": False,
        "explanation": PAGE,
        "url": None,
    }
    record = json.loads(render_rule(PREVIEW, "", "json", docs_url="https://docs.example/"))
    assert (record["preview"], record["explanation"], record["url"]) == (
        True,
        None,
        "https://docs.example/GRD308",
    )


def test_all_rules_one_after_the_other() -> None:
    pages = {"GRD101": PAGE, "GRD308": "Second.\n"}
    rules = [RULE, PREVIEW]

    def read(rule: Rule) -> str:
        return pages[rule.code]

    records = json.loads(render_all(rules, "json", read=read))
    assert [(one["code"], one["explanation"]) for one in records] == list(pages.items())
    text = render_all(rules, "markdown", read=read)
    assert text.startswith(PAGE + "\n# no-such-page-at-all (GRD308)\n")


def test_other_formats_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown format 'html'"):
        render_rule(RULE, PAGE, "html")


def test_the_index_has_a_line_a_rule() -> None:
    assert render_index([PREVIEW, RULE]) == (
        "GRD101  backward-untracked   backward on a value made while recording was off\n"
        "GRD308  no-such-page-at-all  a rule without a page (preview)\n"
    )


def test_pages_stand_beside_the_rules() -> None:
    assert read_page(RULE).startswith("# backward-untracked (GRD101)\n")
    assert read_page(PREVIEW) == ""


def shipped_pages() -> list[str]:
    """The pages beside the rules by their names without suffix."""
    return sorted(
        page.name.removesuffix(".md")
        for page in files("gradguard.rules").iterdir()
        if page.name.endswith(".md")
    )


@pytest.mark.parametrize("name", shipped_pages())
def test_no_word_and_no_program_of_a_shipped_page_is_lost(name: str) -> None:
    rule = Rule("GRD000", name.replace("_", "-"), "")
    page = read_page(rule)
    text = render_rule(rule, page, "text", width=80)
    parts = re.split(r"^```.*$", page, flags=re.MULTILINE)
    assert len(parts) > 1 and len(parts) % 2 == 1
    for program in parts[1::2]:
        assert textwrap.indent(program.strip("\n"), "    ") in text
    shown = re.sub(r"\W+", "", text)
    for words in parts[::2]:
        assert re.sub(r"\W+", "", re.sub(r"\]\(#[^)]*\)", "", words)) in shown
