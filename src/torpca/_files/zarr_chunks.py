"""What is checked of a Zarr array before it is read: its codecs, and that no chunk is missing."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from torpca._files.errors import TableError, shown
from torpca._words import counted

# Codecs from bytes or numbers to bytes or numbers, of Zarr and of numcodecs. Others are for Python
# objects, one of which, pickle, runs whatever code is in the file.
CODECS = {
    *("bytes", "transpose", "sharding_indexed", "blosc", "gzip", "zstd", "crc32c"),
    *("adler32", "astype", "base64", "bitround", "bz2", "crc32", "delta", "fixedscaleoffset"),
    *("fletcher32", "jenkins_lookup3", "lz4", "lzma", "packbits", "pcodec", "quantize", "shuffle"),
    *("zfpy", "zlib"),
}
# More chunks than this are not counted when one is missing.
COUNTED = 10**6


def check_codecs(array: Any, title: str) -> None:
    """Raise an error if a codec of the array may not be trusted; nothing is unpacked."""
    for name in codec_names(array.metadata):
        if name.removeprefix("numcodecs.") not in CODECS:
            raise TableError(
                f"{title} is packed with the codec {shown(name)}, which is not used here because "
                "codecs for Python objects can run code that is in the file. If you trust it, "
                "write its numbers to an array with the codec zstd."
            )


def codec_names(metadata: Any) -> Iterator[str]:
    """Names of all codecs, also of those inside shards."""
    if metadata.zarr_format == 2:
        for codec in (*(metadata.filters or ()), metadata.compressor):
            if codec is not None:
                yield str(codec.codec_id)
        return
    inner = list(metadata.to_dict()["codecs"])
    while inner:
        codec = inner.pop()
        yield str(codec["name"])
        options = codec.get("configuration") or {}
        inner += [*options.get("codecs", ()), *options.get("index_codecs", ())]


def check_chunks(array: Any, path: str | Path, title: str, columns: npt.NDArray[np.intp]) -> None:
    """Raise an error if a chunk that holds some of the `columns` is not there.

    Zarr reads a missing chunk as the fill value. Its writer leaves out chunks that hold nothing
    else, but a store that was copied or written in part looks the same, and rows of zeros in place
    of numbers change the answer. So a missing chunk is an error unless it reads as NaN: then its
    values are missing values, which are told or dropped as all others are.
    """
    fill = array.fill_value
    if fill is not None and np.isnan(fill):
        return
    stored = array.shards or array.chunks
    across = np.unique(columns // stored[1]).tolist()
    down = range(-(-array.shape[0] // stored[0]))
    there = files_inside(path, array.path)
    absent = (
        key
        for i in down
        for j in across
        if (key := array.metadata.encode_chunk_key((i, j))) not in there
    )
    first = next(absent, None)
    if first is None:
        return
    total = len(down) * len(across)
    how_many = "chunks are"
    if total <= COUNTED:
        how_many = f"{1 + sum(1 for _ in absent)} of {counted(total, 'chunk')} are"
    raise TableError(
        f"{title} is not complete: {how_many} not there, the first {shown(first)}, and would be "
        f"read as {0 if fill is None else fill}. Copy or write it again; if those numbers are "
        "meant, write the array with config={'write_empty_chunks': True}, so that all chunks are "
        "there."
    )


def files_inside(path: str | Path, inside: str) -> Collection[str]:
    """Names of all files of the array called `inside` of a store, a folder or a zip file."""
    if not Path(path).is_dir():
        prefix = f"{inside}/" if inside else ""
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        return {name.removeprefix(prefix) for name in names if name.startswith(prefix)}
    top = os.path.join(path, inside)
    return {
        os.path.relpath(os.path.join(folder, name), top).replace(os.sep, "/")
        for folder, _, names in os.walk(top)
        for name in names
    }
