from __future__ import annotations

import codecs
import os
import stat
from pathlib import Path

import pytest

from gradguard.discover.decoding import Unreadable
from gradguard.discover.rewrite import rewrite_file
from gradguard.findings import Edit, Position, Span


def edit(row: int, start: int, end: int, text: str) -> Edit:
    return Edit(Span("a.py", Position(row, start), Position(row, end)), text)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a = 1\nb = 2\n", b"a = 1  # x\nb = 3\n"),
        (b"a = 1\r\nb = 2", b"a = 1  # x\r\nb = 3"),
        (b"a = 1\rb = 2\r\n", b"a = 1  # x\rb = 3\r\n"),
        (codecs.BOM_UTF8 + b"a = 1\nb = 2\n", codecs.BOM_UTF8 + b"a = 1  # x\nb = 3\n"),
    ],
)
def test_only_the_edits_change(tmp_path: Path, before: bytes, after: bytes) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(before)
    rewrite_file(str(path), [edit(2, 5, 6, "3"), edit(1, 6, 6, "  # x")])
    assert path.read_bytes() == after


def test_the_encoding_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: latin-1\n'\xe9'\na = 1")
    rewrite_file(str(path), [edit(2, 2, 3, "\xe8")])
    assert path.read_bytes() == b"# coding: latin-1\n'\xe8'\na = 1"


def test_mode_and_link_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.py"
    real.write_text("a = 1\n")
    real.chmod(0o751)
    os.symlink(real, tmp_path / "link.py")
    rewrite_file(str(tmp_path / "link.py"), [edit(1, 5, 6, "2")])
    assert (tmp_path / "link.py").is_symlink()
    assert real.read_text() == "a = 2\n"
    assert stat.S_IMODE(real.stat().st_mode) == 0o751
    assert sorted(os.listdir(tmp_path)) == ["link.py", "real.py"]


def test_a_file_that_has_changed_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_text("a = 1\n")
    with pytest.raises(Unreadable, match="changed"):
        rewrite_file(str(path), [edit(1, 1, 1, "# "), edit(7, 1, 1, "x")])
    assert path.read_text() == "a = 1\n"


def test_text_that_the_encoding_lacks_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.py"
    path.write_bytes(b"# coding: latin-1\n")
    with pytest.raises(Unreadable, match="cannot hold"):
        rewrite_file(str(path), [edit(1, 1, 1, "\u6f22")])
    assert path.read_bytes() == b"# coding: latin-1\n"
