from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from gradguard.settings.errors import SettingsError
from gradguard.settings.model import DEFAULT_EXCLUDE, Selection, Settings
from gradguard.settings.resolve import Overrides, Resolver, inline_values


def settings_in(folder: Path, **overrides: object) -> Settings:
    return Resolver(Overrides(**overrides), str(folder)).settings_in(str(folder))  # type: ignore[arg-type]


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    assert settings_in(tmp_path, isolated=True) == Settings(str(tmp_path))


def test_every_key_is_read(tmp_path: Path) -> None:
    (tmp_path / "gradguard.toml").write_text(
        """
        select = ["GRD1"]
        extend-select = ["GRD201"]
        ignore = ["GRD102"]
        extend-ignore = ["GRD103"]
        preview = true
        min-confidence = "certain"
        exclude = ["a"]
        extend-exclude = ["b"]
        force-exclude = true
        respect-gitignore = false
        output-format = "json"
        optimizer-subclasses = "check"
        profiles = ["torch"]
        replay = false
        replay-on = "torch"
        show-refuted = true
        cache-dir = "c"
        no-cache = true
        jobs = 3
        [per-file-ignores]
        "tests/*" = ["GRD201"]
        [frameworks.mine.guards]
        "mine.quiet" = "off"
        """
    )
    assert settings_in(tmp_path) == Settings(
        root=str(tmp_path),
        file=str(tmp_path / "gradguard.toml"),
        selections=(Selection(("GRD1",), ("GRD201",), ("GRD102", "GRD103")),),
        per_file_ignores=(("tests/*", ("GRD201",)),),
        preview=True,
        min_confidence="certain",
        exclude=("a",),
        extend_exclude=("b",),
        force_exclude=True,
        respect_gitignore=False,
        output_format="json",
        optimizer_subclasses="check",
        profiles=("torch",),
        replay=False,
        replay_on="torch",
        show_refuted=True,
        cache_dir="c",
        no_cache=True,
        jobs=3,
        frameworks={"mine": {"guards": {"mine.quiet": "off"}}},
    )


def test_the_nearest_file_counts_alone(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.gradguard]\nselect = ["GRD1"]\npreview = true\n')
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "gradguard.toml").write_text('select = ["GRD2"]\n')
    (tmp_path / "a" / "b" / "pyproject.toml").write_text("[project]\nname = 'no word of it'\n")
    resolver = Resolver()
    assert resolver.settings_in(str(tmp_path)).preview
    inner = resolver.settings_in(str(tmp_path / "a" / "b"))
    assert (inner.selections, inner.preview) == ((Selection(("GRD2",)),), False)
    assert inner.root == str(tmp_path / "a")


def test_order_of_names_in_one_folder(tmp_path: Path) -> None:
    names = ["pyproject.toml", "gradguard.toml", ".gradguard.toml"]
    for jobs, name in enumerate(names, start=1):
        head = "[tool.gradguard]\n" if name == "pyproject.toml" else ""
        (tmp_path / name).write_text(f"{head}jobs = {jobs}\n")
        assert settings_in(tmp_path).jobs == jobs


@pytest.mark.parametrize(
    "text",
    ["[tool]\ngradguard = { jobs = 7 }\n", "[tool.'gradguard']\njobs = 7\n", "tool.gradguard.jobs = 7\n"],
)
def test_every_spelling_of_the_table(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    assert settings_in(tmp_path).jobs == 7


def test_a_broken_file_of_somebody_else_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.black\n")
    assert settings_in(tmp_path).file == ""


def test_a_named_file_stands_in_for_all(tmp_path: Path) -> None:
    (tmp_path / "gradguard.toml").write_text("jobs = 1\n")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "other.toml").write_text("jobs = 2\n")
    settings = settings_in(tmp_path, config="conf/other.toml")
    assert (settings.jobs, settings.root) == (2, str(tmp_path))
    assert settings_in(tmp_path, isolated=True).jobs == 0


def test_overrides_count_more_and_extensions_add(tmp_path: Path) -> None:
    (tmp_path / "gradguard.toml").write_text(
        'ignore = ["GRD1"]\nextend-exclude = ["a"]\nmin-confidence = "certain"\n[per-file-ignores]\na = ["GRD2"]\n'
    )
    settings = settings_in(
        tmp_path,
        selection=Selection(("GRD101",)),
        values={
            "min_confidence": "likely",
            "extend_exclude": ("b",),
            "per_file_ignores": (("c", ("GRD3",)),),
        },
    )
    assert settings.min_confidence == "likely"
    assert settings.extend_exclude == ("a", "b")
    assert settings.exclude == DEFAULT_EXCLUDE
    assert settings.per_file_ignores == (("a", ("GRD2",)), ("c", ("GRD3",)))
    assert settings.selections == (Selection(ignore=("GRD1",)), Selection(("GRD101",)))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("selct = ['GRD1']", "unknown key `selct` in `gradguard.toml`; did you mean `select`?"),
        ("per_file_ignores = {}", "did you mean `per-file-ignores`?"),
        ("select = 'GRD1'", "`select` in `gradguard.toml` must be a list of strings"),
        ("select = [1]", "must be a list of strings"),
        ("preview = 'yes'", "must be true or false"),
        ("jobs = -1", "must be a whole number"),
        ("jobs = true", "must be a whole number"),
        ("cache-dir = 3", "must be a string"),
        ("min-confidence = 'sure'", "must be one of `likely`, `certain`"),
        ("output-format = 'jsn'", "did you mean `json`?"),
        ("per-file-ignores = ['a']", "must be a table"),
        ("per-file-ignores = {a = 'GRD1'}", "must be a list of strings"),
        ("frameworks = 3", "must be a table of tables"),
        ("[frameworks.mine]\nguard = {}", "did you mean `guards`?"),
        ("select = [", "`gradguard.toml` is not valid TOML"),
        ("x = 1\nx = 2", "`gradguard.toml` is not valid TOML"),
    ],
)
def test_what_cannot_be_followed_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gradguard.toml").write_text(text)
    with pytest.raises(SettingsError) as error:
        settings_in(tmp_path)
    assert said in str(error.value)


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read .*no such file"):
        settings_in(tmp_path, config="gone.toml")
    (tmp_path / "gradguard.toml").write_bytes(b"# \xff\n")
    with pytest.raises(SettingsError, match="not valid UTF-8"):
        settings_in(tmp_path)


def test_config_and_isolated_contradict(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="contradict"):
        settings_in(tmp_path, config="a.toml", isolated=True)


def test_inline_values() -> None:
    assert inline_values(['select = ["GRD1"]', "jobs=2"]) == {"select": ("GRD1",), "jobs": 2}
    with pytest.raises(SettingsError, match="`--config` is not valid TOML"):
        inline_values(["jobs = two"])


def test_settings_can_be_sent_to_another_process_and_compared() -> None:
    settings = Settings("/p", frameworks={"mine": {"packages": ["mine"]}})
    again = pickle.loads(pickle.dumps(settings))
    assert again == settings
    assert len({again, settings}) == 1


def test_the_fingerprint_is_of_what_findings_depend_on() -> None:
    plain = Settings("/p").fingerprint()
    assert Settings("/q", output_format="json", selections=(Selection(("GRD1",)),)).fingerprint() == plain
    assert Settings("/p", optimizer_subclasses="check").fingerprint() != plain
    assert Settings("/p", frameworks={"mine": {}}).fingerprint() != plain
    one = Settings("/p", frameworks={"a": {}, "b": {}}).fingerprint()
    assert one == Settings("/p", frameworks={"b": {}, "a": {}}).fingerprint()
