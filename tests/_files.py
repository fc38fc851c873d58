"""Tables to read: numbers, and a writer for each format."""

import gzip

import numpy as np
import pytest

from torpca._files.choose import Wanted

OPTIONS = {"wanted": Wanted(), "chunk_bytes": 512}


def arrow_or_skip():
    return pytest.importorskip("pyarrow", reason="needs pyarrow: pip install 'torpca[cli]'")


def zarr_or_skip():
    return pytest.importorskip("zarr", reason="needs Zarr: pip install 'torpca[io]'")


def numbers(n=40, d=4):
    return np.random.default_rng(0).standard_normal((n, d))


def write_csv(folder, X, delimiter=","):
    arrow_or_skip()
    lines = [delimiter.join(f"x{i}" for i in range(X.shape[1]))]
    lines += [delimiter.join("" if v != v else repr(float(v)) for v in row) for row in X]
    path = folder / ("rows.csv" if delimiter == "," else "rows.tsv")
    path.write_text("\n".join(lines) + "\n")
    return path


def write_tsv(folder, X):
    return write_csv(folder, X, "\t")


def write_gzip(folder, X):
    path = folder / "rows.csv.gz"
    path.write_bytes(gzip.compress(write_csv(folder, X).read_bytes()))
    return path


def write_parquet(folder, X):
    pa = arrow_or_skip()
    import pyarrow.parquet as pq

    table = pa.table({f"x{i}": pa.array(x, from_pandas=True) for i, x in enumerate(X.T)})
    pq.write_table(table, folder / "rows.parquet", row_group_size=9)
    return folder / "rows.parquet"


def write_npy(folder, X):
    np.save(folder / "rows.npy", X)
    return folder / "rows.npy"


def write_fortran(folder, X):
    return write_npy(folder, np.asfortranarray(X))


def write_npz(folder, X):
    np.savez_compressed(folder / "rows.npz", X=X)
    return folder / "rows.npz"


def write_zarr(folder, X):
    zarr = zarr_or_skip()
    array = zarr.create_array(
        str(folder / "rows.zarr"), shape=X.shape, chunks=(7, 3), dtype=X.dtype, overwrite=True
    )
    array[:] = X
    return folder / "rows.zarr"


def write_zarr_group(folder, X):
    zarr = zarr_or_skip()
    group = zarr.create_group(str(folder / "group.zarr"))
    group.create_array("rows", shape=X.shape, chunks=(7, 3), dtype=X.dtype)[:] = X
    group.create_array("labels", shape=(3,), dtype="i4")
    return folder / "group.zarr"


def write_zarr_zip(folder, X):
    zarr = zarr_or_skip()
    with zarr.storage.ZipStore(folder / "rows.zarr.zip", mode="w") as store:
        zarr.create_array(store, shape=X.shape, chunks=(7, 3), dtype=X.dtype)[:] = X
    return folder / "rows.zarr.zip"


def csv(folder, text, name="rows.csv"):
    arrow_or_skip()
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name
