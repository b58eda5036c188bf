from __future__ import annotations

import codecs
import tokenize
from io import BytesIO

import pytest

from gradguard.discover.decoding import Encoding, Unreadable, decode, encode, python_encoding, with_newlines


def text_of(data: bytes) -> str:
    return decode(data, python_encoding(data))


@pytest.mark.parametrize(
    "data",
    [
        b"x = 1\n",
        b"# -*- coding: latin-1 -*-\nname = '\xe9'\n",
        b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\nname = '\x80'\n",
        "# coding: euc_jp\nname = '漢字'\n".encode("euc_jp"),
        codecs.BOM_UTF8 + "name = 'é'\n".encode(),
        codecs.BOM_UTF8 + "# coding: utf-8\nname = 'é'\n".encode(),
        b"\n# coding: latin-1\nname = '\xe9'\n",
        b"x = 1\n# coding: latin-1\n",
        b"\x0c# coding: latin-1\nname = '\xe9'\n",
    ],
)
def test_text_is_what_python_reads(data: bytes) -> None:
    name, _ = tokenize.detect_encoding(BytesIO(data).readline)
    assert text_of(data) == data.decode(name)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ("x = 1\n".encode("utf-16"), "UTF-16"),
        (codecs.BOM_UTF32_BE + "x".encode("utf-32-be"), "UTF-32"),
        (b"x = '\xff'\n", "not valid utf-8 (byte 0xff on line 1)"),
        (b"a = 1\r\nb = 2\rc = '\xff'\n", "on line 3"),
        (b"x\0y", "NUL"),
        (b"# coding: nonsense-9\n", "unknown encoding `nonsense-9`"),
        (b"# coding: rot13\n", "no text encoding"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", "byte order mark"),
        (b"# coding: utf-16\nx = 12\n", "could not be written"),
    ],
)
def test_what_python_cannot_read_is_told(data: bytes, said: str) -> None:
    with pytest.raises(Unreadable) as error:
        text_of(data)
    assert said in str(error.value)


def test_only_ascii_compatible_encodings_are_scanned_as_bytes() -> None:
    assert python_encoding(b"# coding: latin-1\n").ascii_compatible
    assert python_encoding(b"# coding: euc_jp\n").ascii_compatible
    assert not python_encoding(b"# coding: utf-7\n").ascii_compatible
    assert not Encoding("utf-16").ascii_compatible


def test_encode_is_the_inverse_of_decode() -> None:
    data = codecs.BOM_UTF8 + "a = 'é'\r\nb = 2\r".encode()
    encoding = python_encoding(data)
    assert encode(decode(data, encoding), encoding) == data


def test_every_line_end_becomes_a_newline_and_form_feeds_stay() -> None:
    assert with_newlines("a\r\nb\rc\n\x0cd") == "a\nb\nc\n\x0cd"
