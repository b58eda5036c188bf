"""Writing changes back into a file, and nothing but them."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress

from gradguard.discover.decoding import Unreadable, decode, encode, python_encoding
from gradguard.findings import Edit

_LINE_END = re.compile(r"\r\n|\r|\n")


def rewrite_file(path: str, edits: Sequence[Edit]) -> None:
    """Make `edits`, whose spans speak of the file as `gradguard.discover.load` reads it.

    Encoding, byte order mark, line ends and file mode stay. Raises OSError, or Unreadable where the file is
    not what it was or the new text cannot be written in its encoding; then the file is as before.
    """
    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".ipynb"):
        from gradguard.discover.notebook_edits import edit_notebook

        changed = edit_notebook(data, edits)
    else:
        changed = edit_text(data, edits)
    if changed != data:
        _replace(path, changed)


def edit_text(data: bytes, edits: Sequence[Edit]) -> bytes:
    """The bytes of a source file with the edits made. Raises Unreadable."""
    encoding = python_encoding(data)
    text = decode(data, encoding)
    if encode(text, encoding) != data:
        raise Unreadable(f"its {encoding.codec} text would not be written as it was read")
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    placed = [
        (
            starts[edit.span.start.row - 1] + edit.span.start.column - 1,
            starts[edit.span.end.row - 1] + edit.span.end.column - 1,
            edit.text,
        )
        for edit in edits
        if edit.span.end.row <= len(starts)
    ]
    if len(placed) < len(edits):
        raise Unreadable("the file has changed since it was read")
    for start, end, new in sorted(placed, reverse=True):
        text = text[:start] + new + text[end:]
    try:
        return encode(text, encoding)
    except UnicodeEncodeError as error:
        raise Unreadable(f"its encoding {encoding.codec} cannot hold the new text") from error


def _replace(path: str, data: bytes) -> None:
    """Put the new content in place in one step, so that no crash leaves half a file."""
    real = os.path.realpath(path)
    handle, scratch = tempfile.mkstemp(dir=os.path.dirname(real), prefix=".gradguard-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        shutil.copymode(real, scratch)
        os.replace(scratch, real)
    except BaseException:
        with suppress(OSError):
            os.unlink(scratch)
        raise
