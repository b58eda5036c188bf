from __future__ import annotations

import pytest

from gradguard.rule import Rule
from gradguard.settings.choose import check_entries, chosen_codes, idle_previews, ignored_in
from gradguard.settings.errors import SettingsError
from gradguard.settings.model import Selection, Settings

RULES = (
    Rule("GRD000", "unreadable", ""),
    Rule("GRD001", "unused-suppression", ""),
    Rule("GRD101", "backward-untracked", ""),
    Rule("GRD102", "backward-graph-cut", ""),
    Rule("GRD201", "update-skips", ""),
    Rule("GRD308", "only-under-guard", "", preview=True),
)
STABLE = {"GRD000", "GRD001", "GRD101", "GRD102", "GRD201"}


def chosen(*selections: Selection, preview: bool = False) -> set[str]:
    return set(chosen_codes(Settings("/", selections=selections, preview=preview), RULES))


def test_all_stable_rules_by_default() -> None:
    assert chosen() == STABLE
    assert chosen(preview=True) == STABLE | {"GRD308"}


@pytest.mark.parametrize(
    ("selection", "codes"),
    [
        (Selection(("GRD101",)), {"GRD101"}),
        (Selection(("grd1",)), {"GRD101", "GRD102"}),
        (Selection(("backward-untracked",)), {"GRD101"}),
        (Selection(("ALL",)), STABLE - {"GRD000"}),
        (Selection(("GRD",), ignore=("GRD1",)), {"GRD001", "GRD201"}),
        (Selection(("GRD101",), ignore=("GRD1",)), {"GRD101"}),
        (Selection(("GRD1",), ignore=("GRD101",)), {"GRD102"}),
        (Selection(("GRD1",), ignore=("backward-untracked",)), {"GRD102"}),
        (Selection(("GRD101",), ignore=("GRD101",)), set()),
        (Selection(("GRD1",), extend_select=("GRD201",)), {"GRD101", "GRD102", "GRD201"}),
        (Selection(ignore=("GRD1",)), {"GRD001", "GRD201"}),
        (Selection(extend_select=("GRD101",), ignore=("ALL",)), {"GRD101"}),
        (Selection(("GRD308",)), set()),
    ],
)
def test_the_longest_prefix_decides(selection: Selection, codes: set[str]) -> None:
    assert chosen(selection) - {"GRD000"} == codes


def test_a_file_that_was_not_read_is_told_unless_that_is_ignored() -> None:
    assert "GRD000" in chosen(Selection(("GRD101",)))
    assert "GRD000" not in chosen(Selection(ignore=("GRD000",)))
    assert "GRD000" not in chosen(Selection(("GRD101",), ignore=("unreadable",)))


def test_the_later_word_counts() -> None:
    file = Selection(("GRD1",), ignore=("GRD101",))
    assert chosen(file, Selection(extend_select=("GRD101",))) == {"GRD000", "GRD101", "GRD102"}
    assert chosen(file, Selection(ignore=("GRD102",))) == {"GRD000"}
    assert chosen(file, Selection(("GRD101",))) == {"GRD000", "GRD101"}


def test_a_preview_rule_needs_preview_and_a_choice() -> None:
    assert "GRD308" in chosen(Selection(("GRD3",)), preview=True)
    assert "GRD308" not in chosen(Selection(("GRD1",)), preview=True)
    asking = Settings("/", selections=(Selection(("GRD308", "GRD101")),))
    assert [rule.code for rule in idle_previews(asking, RULES)] == ["GRD308"]
    assert idle_previews(Settings("/", selections=(Selection(("GRD3",)),)), RULES) == ()


def test_rules_ignored_by_file() -> None:
    settings = Settings(
        "/p", per_file_ignores=(("tests/*", ("GRD1",)), ("!src/*", ("update-skips",)), ("a.py", ("ALL",)))
    )
    assert ignored_in(settings, "/p/tests/x.py", RULES) == {"GRD101", "GRD102", "GRD201"}
    assert ignored_in(settings, "/p/src/x.py", RULES) == set()
    assert ignored_in(settings, "/p/src/a.py", RULES) == {rule.code for rule in RULES}


@pytest.mark.parametrize(
    ("entry", "hint"),
    [
        ("GDR201", "did you mean `GRD201`"),
        ("backwards-untracked", "did you mean `backward-untracked`"),
        ("E501", ""),
    ],
)
def test_an_unknown_rule_is_told_with_the_nearest(entry: str, hint: str) -> None:
    for settings in (
        Settings("/", selections=(Selection((entry,)),)),
        Settings("/", selections=(Selection(ignore=(entry,)),)),
        Settings("/", per_file_ignores=(("*", (entry,)),)),
    ):
        with pytest.raises(SettingsError, match=f"unknown rule `{entry}`") as error:
            check_entries(settings, RULES)
        assert hint in str(error.value)


def test_a_prefix_of_no_rule_is_unknown() -> None:
    check_entries(Settings("/", selections=(Selection(("GRD2", "all")),)), RULES)
    with pytest.raises(SettingsError):
        check_entries(Settings("/", selections=(Selection(("GRD9",)),)), RULES)
