"""From a file's bytes to its text, as Python itself would read them."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

_BOM = codecs.BOM_UTF8
_COOKIE = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"[ \t\f]*(?:#.*)?\r?$")
_WIDE_BOMS = (
    (codecs.BOM_UTF32_LE, "UTF-32"),
    (codecs.BOM_UTF32_BE, "UTF-32"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)
# In these every ASCII byte stands for itself, so that a scan of the bytes misses nothing.
_ASCII_COMPATIBLE = re.compile(r"utf-?8|utf[-_]8[-_]sig|ascii|iso8859[-_]\d+|cp125\d|koi8[-_][ru]|euc[-_]\w+")


class Unreadable(ValueError):
    """A file that cannot be turned into text; the argument says why."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """The name of a codec, and whether the file starts with a UTF-8 byte order mark."""

    codec: str
    bom: bool = False

    @property
    def ascii_compatible(self) -> bool:
        """Whether ASCII text can be looked for in the bytes themselves."""
        return _ASCII_COMPATIBLE.fullmatch(self.codec) is not None


def python_encoding(data: bytes) -> Encoding:
    """The encoding that PEP 263 gives a Python file.

    Raises Unreadable on UTF-16, UTF-32, an unknown codec, and a cookie that contradicts the byte order mark.
    """
    for mark, name in _WIDE_BOMS:
        if data.startswith(mark):
            raise Unreadable(f"{name} text, which Python does not read as source")
    bom = data.startswith(_BOM)
    cookie = _cookie(data[len(_BOM) :] if bom else data)
    if cookie is None:
        return Encoding("utf-8", bom)
    codec = _text_codec(cookie)
    if bom and codec != "utf-8":
        raise Unreadable(f"a UTF-8 byte order mark, but its first lines name the encoding `{cookie}`")
    return Encoding(codec, bom)


def python_text(data: bytes) -> str:
    """The text of a Python file with "\\n" line ends. Raises Unreadable."""
    return with_newlines(decode(data))


def decode(data: bytes, encoding: Encoding | None = None) -> str:
    """The text of a file with its own line ends; its first lines tell the encoding where none is given.

    Raises Unreadable where it is no text of that encoding.
    """
    encoding = encoding or python_encoding(data)
    if b"\0" in data:
        raise Unreadable("binary data (a NUL byte)")
    body = data[len(_BOM) :] if encoding.bom else data
    try:
        return body.decode(encoding.codec)
    except UnicodeDecodeError as error:
        row = len(re.findall(rb"\r\n|\r|\n", body[: error.start])) + 1
        raise Unreadable(
            f"not valid {encoding.codec} (byte 0x{body[error.start]:02x} on line {row})"
        ) from None
    except (UnicodeError, ValueError) as error:
        raise Unreadable(f"not valid {encoding.codec} ({error})") from None


def encode(text: str, encoding: Encoding) -> bytes:
    """The inverse of `decode`. Raises UnicodeEncodeError for characters that the encoding lacks."""
    return (_BOM if encoding.bom else b"") + text.encode(encoding.codec)


def with_newlines(text: str) -> str:
    """`text` with every CRLF and CR as a single newline, as Python's tokenizer counts rows."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _cookie(data: bytes) -> str | None:
    first, _, rest = data[:4096].replace(b"\r\n", b"\n").replace(b"\r", b"\n").partition(b"\n")
    match = _COOKIE.match(first)
    if match is None and _BLANK.match(first):
        match = _COOKIE.match(rest.partition(b"\n")[0])
    return match.group(1).decode("ascii", "replace") if match else None


def _text_codec(cookie: str) -> str:
    try:
        found = codecs.lookup(cookie.lower().replace("_", "-"))
    except (LookupError, ValueError):
        raise Unreadable(f"its first lines name the unknown encoding `{cookie}`") from None
    if not getattr(found, "_is_text_encoding", True):
        raise Unreadable(f"its first lines name `{cookie}`, which is no text encoding")
    if found.name.startswith(("utf-16", "utf-32")):
        raise Unreadable(f"its first lines name `{cookie}`, in which they could not be written")
    return found.name
