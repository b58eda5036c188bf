"""Reading one file: its source, or why there is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gradguard.discover.decoding import Unreadable, decode, python_encoding, with_newlines
from gradguard.discover.walk import Target, reason
from gradguard.findings import Failure, Finding
from gradguard.source import Source


@dataclass(frozen=True, slots=True)
class Clean:
    """A file that was read, and holds nothing that a finding needs."""

    filename: str


@dataclass(frozen=True, slots=True)
class Known:
    """A file that was analysed in an earlier run and is as it was, with all that it follows.

    `findings` are those seen from it, unsuppressed; `unparsed` tells why it cannot be parsed; `commented`: a
    comment in it speaks to gradguard.
    """

    filename: str
    findings: tuple[Finding, ...]
    unparsed: Failure | None
    commented: bool


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is none of ours, and why."""

    filename: str
    reason: str


@dataclass(frozen=True, slots=True)
class NotebookSource(Source):
    """A source that also knows the text as its author wrote it, magics and all; rows are the same."""

    written: str = ""

    def as_written(self) -> Source:
        """The source to show."""
        return Source(self.filename, self.path, self.written, self.language, self.cells)


Loaded = Source | Clean | Known | Skipped | Failure


def load_file(target: Target, is_suspect: Callable[[bytes, str], bool]) -> Loaded:
    """Read the file. `is_suspect` looks at bytes that hold ASCII as itself, and at the language."""
    try:
        with open(target.path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:
        return Failure(target.filename, reason(error))
    return load_bytes(data, target.filename, target.path, is_suspect)


def load_bytes(data: bytes, filename: str, path: str, is_suspect: Callable[[bytes, str], bool]) -> Loaded:
    """The same for bytes at hand; `path` is "" where they come from no file."""
    try:
        if filename.endswith(".ipynb"):
            return _notebook(data, filename, path, is_suspect)
        language = language_of(filename)
        return _text(data, filename, path, language, is_suspect)
    except Unreadable as error:
        return Failure(filename, str(error))


def load_text(text: str, filename: str, path: str, is_suspect: Callable[[bytes, str], bool]) -> Loaded:
    """The same for a text that was decoded elsewhere."""
    text = text.removeprefix("\ufeff")
    try:
        data = text.encode()
    except UnicodeEncodeError:
        return Failure(filename, "no text: half a surrogate pair")
    if filename.endswith(".ipynb"):
        return load_bytes(data, filename, path, is_suspect)
    if "\0" in text:
        return Failure(filename, "binary data (a NUL byte)")
    language = language_of(filename)
    if not is_suspect(data, language):
        return Clean(filename)
    return Source(filename, path, with_newlines(text), language)


def language_of(filename: str) -> str:
    """rust for `.rs`, else python."""
    return "rust" if filename.endswith(".rs") else "python"


def _text(
    data: bytes, filename: str, path: str, language: str, is_suspect: Callable[[bytes, str], bool]
) -> Source | Clean:
    encoding = python_encoding(data) if language == "python" else python_encoding(data[:3])
    if encoding.ascii_compatible and b"\0" not in data and not is_suspect(data, language):
        return Clean(filename)
    text = with_newlines(decode(data, encoding))
    if not encoding.ascii_compatible and not is_suspect(text.encode(), language):
        return Clean(filename)
    return Source(filename, path, text, language)


def _notebook(data: bytes, filename: str, path: str, is_suspect: Callable[[bytes, str], bool]) -> Loaded:
    from gradguard.discover.notebook import read_notebook

    notebook = read_notebook(data)
    if notebook.language != "python":
        return Skipped(filename, f"a notebook in {notebook.language}")
    if not is_suspect(notebook.text.encode(), "python"):
        return Clean(filename)
    return NotebookSource(filename, path, notebook.text, "python", notebook.cells, notebook.written)
