"""The built wheel holds what the folders hold, and both kinds of installation work."""

from __future__ import annotations

import re
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
from fresh_environments import PROJECT, Environment, copy_sources, make_environment, pip

pytestmark = pytest.mark.slow

FAULTY = """\
import torch

x = torch.ones(3, requires_grad=True)
with torch.no_grad():
    loss = (x * x).sum()
loss.backward()
"""
NAMES = """\
from importlib.util import find_spec
import gradguard, gradguard.rules
print(find_spec("linter"), find_spec("rules"), gradguard.__file__, gradguard.rules.__file__)
print(len(gradguard.check_text(open("train.py").read())))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built once for the tests of this file."""
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-deps", "--wheel-dir", folder / "built", copy_sources(folder / "sources"))
    (built,) = (folder / "built").iterdir()
    return built


def in_folders() -> set[str]:
    """Every file of the folders, by the name it must have in the wheel."""
    homes = {"linter": "gradguard", "rules": "gradguard/rules"}
    return {
        f"{home}/{path.relative_to(PROJECT / folder).as_posix()}"
        for folder, home in homes.items()
        for path in (PROJECT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_the_wheel_holds_every_file_of_the_folders_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert packed == in_folders()
    assert {"gradguard/py.typed", "gradguard/facts/torch.toml", "gradguard/rules/unreadable.md"} <= packed


def test_the_metadata_names_no_upper_bounds(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        told = Parser().parsestr(archive.read(metadata).decode("utf-8"))
    required = told.get_all("Requires-Dist") or []
    assert any(one.startswith("libcst") for one in required)
    assert not [one for one in required if re.search(r"<|==|~=|!=", one.partition(";")[0])]
    assert told["Requires-Python"] == ">=3.10"


def check_works(environment: Environment) -> None:
    """The command, the module and the import work, and no bare folder name is importable."""
    (environment.work / "train.py").write_text(FAULTY)
    for program in (("gradguard",), ("python", "-m", "gradguard")):
        assert re.fullmatch(r"gradguard,? .*\d+\.\d+\.\d+\n", environment.run(*program, "--version").stdout)
        checked = environment.run(*program, "check", "train.py")
        assert (checked.returncode, checked.stdout.count("GRD101")) == (1, 1), checked.stderr
    explained = environment.run("gradguard", "rule", "GRD101")
    assert (explained.returncode, "What it does" in explained.stdout) == (0, True)
    names = environment.run("python", "-c", NAMES)
    assert names.stdout.startswith("None None "), names.stderr
    assert names.stdout.endswith("\n1\n")


def test_a_plain_installation_works(wheel: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    environment.install("--no-index", wheel)
    check_works(environment)
    imported = environment.run("python", "-c", NAMES).stdout.split()[2]
    assert Path(imported).is_relative_to(environment.folder)


def test_an_editable_installation_works_and_follows_the_sources(tmp_path: Path) -> None:
    sources = copy_sources(tmp_path / "sources")
    environment = make_environment(tmp_path)
    environment.install("--editable", sources)
    check_works(environment)
    text = (sources / "linter" / "__init__.py").read_text(encoding="utf-8")
    (sources / "linter" / "__init__.py").write_text(f'{text}\n__version__ = "9.8.7"\n', encoding="utf-8")
    assert "9.8.7" in environment.run("gradguard", "--version").stdout
