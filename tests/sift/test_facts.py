"""What the framework tables name passes the sift."""

from __future__ import annotations

from typing import Any

import pytest

from gradguard.facts.tables import BUILT_IN, read_table
from gradguard.sift.tokens import sift_text


def entries(section: str, key: str) -> list[tuple[str, str]]:
    found = []
    for framework in BUILT_IN:
        table: dict[str, Any] = read_table(framework)
        found += [(framework, name) for name in table.get(section, {}).get(key, [])]
    return found


def guards() -> list[tuple[str, str]]:
    return [(framework, name) for framework in BUILT_IN for name in read_table(framework).get("guards", {})]


@pytest.mark.parametrize(("framework", "name"), guards())
def test_guard(framework: str, name: str) -> None:
    assert sift_text(f"import {framework}\nwith {name}():\n    pass")


@pytest.mark.parametrize(("framework", "name"), entries("misspelt", "guards"))
def test_misspelt_guard(framework: str, name: str) -> None:
    assert sift_text(f"with {framework}.{name}():\n    pass")


@pytest.mark.parametrize(("framework", "name"), entries("misspelt", "flags"))
def test_misspelt_flag(framework: str, name: str) -> None:
    assert sift_text(f"import {framework}\nparameter.{name} = False")


@pytest.mark.parametrize(
    ("framework", "name"), entries("backward", "methods") + entries("backward", "takers")
)
def test_method(framework: str, name: str) -> None:
    assert sift_text(f"import {framework}\nsomething.{name}(loss)")


@pytest.mark.parametrize(
    ("framework", "name"), entries("backward", "functions") + entries("backward", "gradient")
)
def test_function(framework: str, name: str) -> None:
    assert sift_text(f"import {framework}\n{name}(loss, x)")
