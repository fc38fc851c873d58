"""The bytes of a text file or of standard input, unpacked."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any

from torpca._files.errors import TableError, need, reason_of, shown

GZIP = b"\x1f\x8b"  # what every gzip file begins with, whatever it is called


@contextmanager
def opened(path: str | Path, title: str, encoding: str | None = None) -> Iterator[Any]:
    """A binary file that can be read once, from beginning to end; text of `encoding` as UTF-8."""
    with unpacked(path, title) as file:
        yield file if encoding is None else in_utf8(file, encoding)


def in_utf8(file: IO[bytes], encoding: str) -> io.BufferedReader:
    """Text in another encoding as UTF-8."""
    pa = need("pyarrow", "cli", "Reading text")
    plain = pa.transcoding_input_stream(pa.PythonFile(file, mode="r"), encoding, "utf-8")
    return io.BufferedReader(Rejoined(b"", plain))


def encoding_of(name: str | None) -> str | None:
    """The encoding called so, as Python calls it; None for UTF-8, which needs nothing done."""
    if name is None:
        return None
    try:
        found = codecs.lookup(name)
        "a".encode(name)  # some encodings are not of text
    except (LookupError, ValueError) as error:
        raise TableError(
            f"There is no encoding {shown(name)}. Give one such as utf-8, latin-1, cp1252 or "
            "utf-16."
        ) from error
    return None if found.name == "utf-8" else found.name


@contextmanager
def unpacked(path: str | Path, title: str) -> Iterator[Any]:
    """The same, whatever the encoding."""
    if path == "-" and sys.stdin is None:
        raise TableError("Standard input is closed. Name a file, or pass rows on standard input.")
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else open(path, "rb") as file:
            start = file.peek(2)[:2] if hasattr(file, "peek") else b""
            if start == GZIP:
                with gzip.open(file, "rb") as plain:
                    yield plain
            else:
                yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise TableError(
            f"{title} is a broken gzip file: {reason_of(error)}. It may have been copied only in "
            "part; copy it again."
        ) from error


def can_be_read_again(path: str | Path) -> bool:
    """Whether opening `path` once more gives the same bytes: not so for a pipe."""
    return path != "-" and os.path.isfile(path)


class Rejoined(io.RawIOBase):
    """What was read of a file already, and then the rest of it."""

    def __init__(self, start: bytes, rest: IO[bytes]) -> None:
        self.start, self.rest = start, rest

    def readable(self) -> bool:
        """Yes."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill `buffer`, and return the number of bytes."""
        size = len(buffer)
        if self.start:
            piece, self.start = self.start[:size], self.start[size:]
        else:
            piece = self.rest.read(size)
        buffer[: len(piece)] = piece
        return len(piece)
