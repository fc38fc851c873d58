"""OutlierRobustPCA on rows with holes: the kind of table does not matter, nor how it writes NaN."""

import numpy as np
import pytest

from tests._missing import (  # noqa: F401 (a fixture)
    FEW_CELLS,
    apart,
    gaussian,
    holed,
    one_torch_thread,
)
from tests._sources import torch_or_skip
from torpca import OutlierRobustPCA, as_source
from torpca._sources.base import to_numpy

pytestmark = FEW_CELLS
NAMES = [f"x{j}" for j in range(10)]


@pytest.fixture(scope="module")
def X():
    rows = holed(gaussian(200, 10, 2), 0.15)
    rows[:40] += 2 * np.random.default_rng(0).standard_normal((40, 10))
    rows[77] = np.nan
    rows.flags.writeable = False
    return rows


@pytest.fixture(scope="module")
def expected(X):
    return OutlierRobustPCA(2).fit(X)


def mapped(X, folder):
    np.save(folder / "rows.npy", X)
    return np.load(folder / "rows.npy", mmap_mode="r")


def mapped_by_columns(X, folder):
    return mapped(np.asfortranarray(X), folder)


def masked(X, folder):
    # What is behind a mask is nobody's business.
    return np.ma.masked_array(np.where(np.isnan(X), 1e300, X), np.isnan(X))


def in_pandas(X, folder):
    return pytest.importorskip("pandas").DataFrame(X, columns=NAMES)


def with_none(X, folder):
    frame = in_pandas(X, folder)
    return frame.astype(object).where(frame.notna(), None)


def nullable(X, folder):
    return in_pandas(X, folder).astype("Float64")


def in_polars(X, folder):
    pl = pytest.importorskip("polars")
    return pl.DataFrame(X, schema=NAMES).with_columns(pl.all().fill_nan(None))


def in_polars_as_nan(X, folder):
    return pytest.importorskip("polars").DataFrame(X, schema=NAMES)


def in_dask(X, folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=(77, -1))


def in_dask_frame(X, folder):
    frames = pytest.importorskip("dask.dataframe")
    return frames.from_pandas(in_pandas(X, folder), npartitions=3)


def in_torch(X, folder):
    return torch_or_skip().asarray(X.copy())


def in_strict(X, folder):
    return pytest.importorskip("array_api_strict").asarray(X.copy())


KINDS = {
    "list": lambda X, folder: X.tolist(),
    "Fortran order": lambda X, folder: np.asfortranarray(X),
    "every other row": lambda X, folder: np.repeat(X, 2, axis=0)[::2],
    "a few rows at a time": lambda X, folder: as_source(X, block_rows=7),
    "memory map": mapped,
    "memory map, by columns": mapped_by_columns,
    "masked": masked,
    "pandas": in_pandas,
    "pandas, None": with_none,
    "pandas, nullable": nullable,
    "polars": in_polars,
    "polars, NaN": in_polars_as_nan,
    "Dask": in_dask,
    "Dask frame": in_dask_frame,
    "torch": in_torch,
}
MARKS = dict.fromkeys(
    ["list", "every other row", "memory map, by columns", "polars, NaN", "Dask frame"],
    pytest.mark.slow,
)
STRICT = pytest.param(in_strict, id="array API")


def numbers_of(table):
    return np.asarray(table if hasattr(table, "columns") else to_numpy(table), dtype=float)


@pytest.mark.parametrize(
    "kind",
    [*(pytest.param(KINDS[name], id=name, marks=MARKS.get(name, ())) for name in KINDS), STRICT],
)
def test_the_kind_of_table_does_not_matter(X, expected, tmp_path, kind):
    rows = kind(X, tmp_path)
    model = OutlierRobustPCA(2).fit(rows)
    assert apart(model, expected) < 1e-8
    np.testing.assert_array_equal(to_numpy(model.support_), expected.support_)
    np.testing.assert_array_equal(model.outlier_type_, expected.outlier_type_)
    np.testing.assert_array_equal(to_numpy(model.predict(rows)), expected.predict(X))
    np.testing.assert_allclose(to_numpy(model.transform(rows)), expected.transform(X), atol=1e-7)
    np.testing.assert_allclose(
        to_numpy(model.orthogonal_distances_), expected.orthogonal_distances_, rtol=1e-6
    )
    np.testing.assert_allclose(numbers_of(model.impute(rows)), expected.impute(X), atol=1e-7)


@pytest.mark.parametrize(
    "kind", [np.asarray, lambda X: in_torch(X, None), lambda X: in_dask(X, None)]
)
def test_single_precision(X, expected, kind):
    rows = kind(X.astype(np.float32))
    model = OutlierRobustPCA(2).fit(rows)
    assert "float32" in str(model.components_.dtype)
    assert apart(model, expected) < 1e-4
    assert np.mean(model.outlier_type_ != expected.outlier_type_) < 0.01
    assert "float32" in str(model.transform(rows).dtype)


def test_rows_are_left_as_they_are(X):
    rows = X.copy()
    model = OutlierRobustPCA(2).fit(rows)
    for method in (model.predict, model.transform, model.contributions, model.impute):
        method(rows)
    np.testing.assert_array_equal(rows, X)


def test_frames_out_for_frames_in(X, expected):
    frame = in_pandas(X, None)
    Z = OutlierRobustPCA(2).set_output(transform="pandas").fit_transform(frame)
    assert list(Z.index) == list(frame.index)
    np.testing.assert_allclose(Z.to_numpy(), expected.transform(X), atol=1e-7)


@pytest.mark.parametrize("dtype", [int, bool, np.float32, np.float16])
def test_masked_numbers_of_any_type(dtype):
    values = np.array([[0, 1], [1, 1], [1, 0]]).astype(dtype)
    rows = as_source(np.ma.masked_array(values, [[1, 0], [0, 0], [0, 1]])).take(np.arange(3))
    np.testing.assert_array_equal(rows, [[np.nan, 1], [1, 1], [1, np.nan]])


def test_arrays_without_a_masked_entry_are_not_copied(X):
    rows = np.ma.masked_array(np.zeros((3, 2)))
    assert np.shares_memory(as_source(rows).X, rows.data)


def test_masked_objects():
    rows = np.ma.masked_array(np.eye(3).astype(object), np.eye(3) == 1)
    assert np.array_equal(np.isnan(as_source(rows).take(np.arange(3))), np.eye(3) == 1)
