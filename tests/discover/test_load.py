from __future__ import annotations

from pathlib import Path

import pytest

from gradguard.discover.load import Clean, Skipped, load_bytes, load_file, load_text
from gradguard.discover.walk import Target
from gradguard.findings import Failure
from gradguard.source import Source


def has_word(data: bytes, language: str) -> bool:
    return b"no_grad" in data


def test_a_suspect_file_becomes_a_source(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"no_grad\r\nx\r\x0cy")
    loaded = load_file(Target(str(path), "a.py"), has_word)
    assert loaded == Source("a.py", str(path), "no_grad\nx\n\x0cy", "python")


def test_a_file_without_suspects_is_not_decoded() -> None:
    assert load_bytes(b"x = '\xff'\n", "a.py", "", has_word) == Clean("a.py")
    assert load_bytes(b"", "a.py", "", has_word) == Clean("a.py")


@pytest.mark.parametrize("data", [b"no_grad\xff", b"x\0", b"# coding: nonsense\n", "x = 1".encode("utf-16")])
def test_a_file_that_cannot_be_trusted_to_be_clean_is_a_failure(data: bytes) -> None:
    assert isinstance(load_bytes(data, "a.py", "", has_word), Failure)


def test_words_are_found_in_encodings_that_hide_them_from_a_byte_scan() -> None:
    data = b"# coding: utf-7\nno+AF8-grad()\n"
    assert has_word(data, "python") is False
    loaded = load_bytes(data, "a.py", "", has_word)
    assert isinstance(loaded, Source)
    assert loaded.text.endswith("no_grad()\n")


def test_the_suffix_tells_the_language() -> None:
    rust = load_bytes(b"// no_grad\n", "a.rs", "", has_word)
    assert isinstance(rust, Source)
    assert rust.language == "rust"
    script = load_bytes(b"no_grad\n", "script", "", has_word)
    assert isinstance(script, Source)
    assert script.language == "python"


def test_a_rust_file_has_no_coding_line() -> None:
    loaded = load_bytes("# coding: latin-1\n// é no_grad\n".encode(), "a.rs", "", has_word)
    assert isinstance(loaded, Source)
    assert "é" in loaded.text


def test_notebooks() -> None:
    cell = b'{"cells": [{"cell_type": "code", "source": "\\u006eo_grad"}], "metadata": %s}'
    loaded = load_bytes(cell % b"{}", "a.ipynb", "", has_word)
    assert isinstance(loaded, Source)
    assert (loaded.text, len(loaded.cells)) == ("no_grad\n", 1)
    julia = load_bytes(cell % b'{"kernelspec": {"language": "julia"}}', "a.ipynb", "", has_word)
    assert julia == Skipped("a.ipynb", "a notebook in julia")
    assert load_bytes(b'{"cells": []}', "a.ipynb", "", has_word) == Clean("a.ipynb")
    assert isinstance(load_bytes(b"{", "a.ipynb", "", has_word), Failure)


def test_texts() -> None:
    loaded = load_text("\ufeffno_grad\r\n", "a.py", "", has_word)
    assert isinstance(loaded, Source)
    assert loaded.text == "no_grad\n"
    assert load_text("x", "a.py", "", has_word) == Clean("a.py")
    assert isinstance(load_text("no_grad\0", "a.py", "", has_word), Failure)
    assert isinstance(load_text("no_grad\ud800", "a.py", "", has_word), Failure)


def test_a_file_that_vanished_is_a_failure(tmp_path: Path) -> None:
    loaded = load_file(Target(str(tmp_path / "gone.py"), "gone.py"), has_word)
    assert loaded == Failure("gone.py", "no such file or folder")
