"""Zarr stores: chunks that are not there, codecs that are not trusted."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests._files import numbers, write_zarr, write_zarr_group, write_zarr_zip, zarr_or_skip
from torpca._files import TableError, read_table


@pytest.fixture
def zarr():
    return zarr_or_skip()


# ---- chunks that are not there -------------------------------------------------------------------


def write_version_2(folder, X):
    zarr = zarr_or_skip()
    path = folder / "rows.zarr"
    zarr.create_array(str(path), shape=X.shape, chunks=(7, 3), dtype=X.dtype, zarr_format=2)[:] = X
    return path


def write_sharded(folder, X):
    zarr = zarr_or_skip()
    path = folder / "rows.zarr"
    options = {"chunks": (7, 1), "shards": (7, 3), "dtype": X.dtype}
    zarr.create_array(str(path), shape=X.shape, **options)[:] = X
    return path


@pytest.mark.parametrize(
    ("write", "chunk"),
    [
        (write_zarr, "c/2/1"),
        (write_version_2, "2.1"),
        (write_sharded, "c/2/1"),
        (write_zarr_group, "rows/c/2/1"),
    ],
)
def test_a_chunk_that_is_missing_is_named(tmp_path, write, chunk):
    path = write(tmp_path, numbers())
    (path / chunk).unlink()
    with pytest.raises(TableError) as error:
        read_table(path)
    for part in ("1 of 12 chunks", repr(chunk.removeprefix("rows/")), "read as 0.0", "Copy"):
        assert part in str(error.value)
    # The first chunk of each row holds the columns x0 to x2, and is there.
    np.testing.assert_array_equal(read_table(path, exclude="x3").X, numbers()[:, :3])
    with pytest.raises(TableError, match="1 of 12 chunks"):
        read_table(path, columns=["x0", "x1"], id_column="x3")


def test_no_chunk_at_all(tmp_path):
    path = write_zarr(tmp_path, numbers())
    shutil.rmtree(path / "c")
    with pytest.raises(TableError, match=r"12 of 12 chunks are not there, the first 'c/0/0'"):
        read_table(path)


def test_a_chunk_missing_from_a_zip_file(tmp_path, zarr):
    X = numbers()
    X[14:21, 3] = 0.0  # what equals the fill value is left out by the writer
    with pytest.raises(TableError, match=r"1 of 12 chunks are not there, the first 'c/2/1'"):
        read_table(write_zarr_zip(tmp_path, X))


def test_the_advice_on_missing_chunks_works(tmp_path, zarr):
    X = numbers()
    X[14:21, 3] = 0.0
    with pytest.raises(TableError, match=r"config=\{'write_empty_chunks': True\}"):
        read_table(write_zarr(tmp_path, X))
    path = tmp_path / "whole.zarr"
    options = {"chunks": (7, 3), "dtype": X.dtype, "config": {"write_empty_chunks": True}}
    zarr.create_array(str(path), shape=X.shape, **options)[:] = X
    np.testing.assert_array_equal(read_table(path).X, X)


def test_missing_chunks_that_read_as_nan_are_missing_values(tmp_path, zarr):
    X = numbers()
    X[14:21, :3] = np.nan
    path = tmp_path / "rows.zarr"
    array = zarr.create_array(
        str(path), shape=X.shape, chunks=(7, 3), dtype=X.dtype, fill_value=np.nan
    )
    array[:] = X
    assert not (path / "c" / "2" / "0").exists()
    with pytest.raises(TableError, match=r"21 missing values, in 3 columns"):
        read_table(path)
    table = read_table(path, missing="drop-rows")
    np.testing.assert_array_equal(table.X, np.delete(X, np.s_[14:21], axis=0))
    assert table.dropped.tolist() == list(range(15, 22))


def test_a_table_said_to_be_larger_than_every_disk(tmp_path, zarr):
    path = write_zarr(tmp_path, numbers())
    meta = json.loads((path / "zarr.json").read_text())
    meta["shape"][0] = 10**16
    (path / "zarr.json").write_text(json.dumps(meta))
    with pytest.raises(TableError, match=r"chunks are not there, the first 'c/6/0'"):
        read_table(path)


# ---- codecs --------------------------------------------------------------------------------------


class Marks:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


@pytest.mark.parametrize("place", ["filters", "compressor"])
def test_a_pickle_in_a_chunk_is_never_loaded(tmp_path, zarr, place):
    codec = {"id": "pickle", "protocol": 5}
    meta = {"zarr_format": 2, "shape": [4, 2], "chunks": [4, 2], "dtype": "<f8", "order": "C"}
    meta |= {"fill_value": 0.0, "compressor": None, "filters": None}
    meta[place] = [codec] if place == "filters" else codec
    path = tmp_path / "rows.zarr"
    path.mkdir()
    (path / ".zarray").write_text(json.dumps(meta))
    (path / "0.0").write_bytes(pickle.dumps(Marks(tmp_path / "it ran")))
    with pytest.raises(TableError, match="pickle"):
        read_table(path)
    assert not (tmp_path / "it ran").exists()


@pytest.mark.parametrize("place", ["filters", "compressors"])
def test_codecs_that_are_not_known_are_not_used(tmp_path, zarr, place):
    numcodecs = pytest.importorskip("numcodecs")
    used = []

    class RunsCode(numcodecs.abc.Codec):
        codec_id = "runs-code"

        def encode(self, buf):
            return buf

        def decode(self, buf, out=None):
            used.append(buf)
            return buf

    numcodecs.register_codec(RunsCode)
    path = tmp_path / "rows.zarr"
    options = {"filters": None, "compressors": None, place: [RunsCode()]}
    zarr.create_array(
        str(path), shape=(40, 4), chunks=(7, 3), dtype="f8", zarr_format=2, **options
    )[:] = numbers()
    used.clear()
    with pytest.raises(TableError, match=r"the codec 'runs-code', which is not used here"):
        read_table(path)
    assert not used
    # The advice: with another codec the same numbers are read.
    again = tmp_path / "again.zarr"
    zarr.create_array(str(again), data=zarr.open(str(path))[:], chunks=(7, 3), compressors="auto")
    np.testing.assert_array_equal(read_table(again).X, numbers())


def test_a_codec_inside_a_shard_is_looked_at(tmp_path, zarr):
    path = write_sharded(tmp_path, numbers())
    np.testing.assert_array_equal(read_table(path).X, numbers())
    from torpca._files.zarr_chunks import codec_names

    array = zarr.open(str(path))
    assert sorted(codec_names(array.metadata)) == [
        *("bytes", "bytes", "crc32c", "sharding_indexed", "zstd")
    ]


@pytest.mark.parametrize("version", [2, 3])
def test_usual_codecs_are_read(tmp_path, zarr, version):
    codecs = zarr.codecs
    numcodecs = pytest.importorskip("numcodecs")
    ways = [{}, {"compressors": None}, {"compressors": codecs.BloscCodec()}]
    ways += [{"compressors": [codecs.GzipCodec(), codecs.Crc32cCodec()]}]
    if version == 2:
        ways = [{}, {"compressors": None}, {"compressors": numcodecs.Blosc()}]
        ways += [{"compressors": numcodecs.LZ4(), "filters": [numcodecs.Delta("f8")]}]
    for i, way in enumerate(ways):
        path = tmp_path / f"rows{i}.zarr"
        zarr.create_array(
            str(path), shape=(40, 4), chunks=(7, 3), dtype="f8", zarr_format=version, **way
        )[:] = numbers()
        np.testing.assert_allclose(read_table(path).X, numbers(), rtol=1e-12)


def test_a_chunk_of_a_zip_file_that_reaches_beyond_it(tmp_path, zarr):
    path = write_zarr_zip(tmp_path, numbers())
    whole = path.read_bytes()
    last = whole.rindex(b"PK\x01\x02")  # what the directory says of the last chunk
    for field in (20, 24):  # its sizes, packed and unpacked
        at = last + field
        whole = whole[:at] + b"\xff\xff\xff\x00" + whole[at + 4 :]
    path.write_bytes(whole)
    with pytest.raises(TableError, match="could not be read as a Zarr store"):
        read_table(path)
