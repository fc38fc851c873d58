"""OutlierRobustPCA fills the holes of a table, and says how well."""

import numpy as np
import pytest

from tests._missing import gaussian, holed, one_torch_thread  # noqa: F401 (a fixture)
from tests._sources import torch_or_skip
from torpca import OutlierRobustPCA
from torpca._sources.base import to_numpy

D, K, NOISE = 20, 3, 10.0


@pytest.fixture(scope="module")
def full():
    return 100 * gaussian(3000, D, K)


@pytest.fixture(scope="module")
def X(full):
    rows = holed(full, 0.2)
    rows[:300] += 500 * np.random.default_rng(0).standard_normal((300, D))
    rows[:, 0] = np.round(full[:, 0])  # whole numbers, and no holes
    rows.flags.writeable = False
    return rows


@pytest.fixture(scope="module")
def model(X):
    return OutlierRobustPCA(K).fit(X)


def test_cells_that_are_there_stay_as_they_are(model, X):
    filled, errors = model.impute(X, return_std=True)
    there = ~np.isnan(X)
    np.testing.assert_array_equal(filled[there], X[there])
    assert np.all(errors[there] == 0.0)
    assert np.all(errors[~there] > 0.0)
    assert np.all(np.isfinite(filled))
    assert not np.any(np.isnan(model.impute(X[:1])))


def test_filling_again_changes_nothing(model, X):
    filled = model.impute(X)
    np.testing.assert_array_equal(model.impute(filled), filled)


@pytest.mark.parametrize(
    ("missing", "scale"),
    [(0.1, False), (0.4, False), pytest.param(0.2, True, marks=pytest.mark.slow)],
)
def test_filled_cells_are_near_the_truth_and_errors_say_how_near(full, scale, missing):
    units = np.linspace(0.5, 2.0, D) if scale else np.ones(D)
    truth = full * units
    rows = holed(truth, missing)
    model = OutlierRobustPCA(K, scale=scale).fit(rows[:1000])
    for some in (slice(1000), slice(1000, None)):  # those of the fit, and new ones
        filled, errors = model.impute(rows[some], return_std=True)
        holes = np.isnan(rows[some])
        off = (filled - truth[some])[holes] / np.broadcast_to(units, filled.shape)[holes]
        # With scales the noise of features differs, and least squares is not the best there is.
        assert np.sqrt(np.mean(off**2)) < (1.5 if scale else 1.25) * NOISE
        z = (filled - truth[some])[holes] / errors[holes]
        assert np.mean(z**2) == pytest.approx(1.0, abs=0.1)
        assert np.mean(np.abs(z) < 1.96) == pytest.approx(0.95, abs=0.015)


def test_errors_of_rows_without_a_cell_are_the_spread_of_the_features(full):
    model = OutlierRobustPCA(K).fit(holed(full, 0.1))
    filled, errors = model.impute(np.full((1, D), np.nan), return_std=True)
    np.testing.assert_allclose(filled[0], model.mean_)
    np.testing.assert_allclose(errors[0], np.std(full, axis=0), rtol=0.05)


def test_the_noise_of_a_feature_is_its_own(full):
    noisy = full.copy()
    noisy[:, 5] += 5 * NOISE * np.random.default_rng(1).standard_normal(len(full))
    model = OutlierRobustPCA(K).fit(holed(noisy[:500], 0.1))
    row = noisy[:1].copy()
    row[0, [4, 5]] = np.nan
    errors = model.impute(row, return_std=True)[1][0]
    # Rows that are far off in it count for less, and so does its noise.
    assert errors[5] > 2.5 * errors[4]


def test_bad_rows_do_not_spoil_what_good_ones_are_filled_with(full, X, model):
    off = (model.impute(X) - full)[300:, 1:][np.isnan(X[300:, 1:])]
    assert np.sqrt(np.mean(off**2)) < 1.6 * NOISE


def test_a_model_of_whole_rows_fills_holes(full):
    model = OutlierRobustPCA(K).fit(full[:1000])
    rows = holed(full[1000:], 0.3)
    filled, errors = model.impute(rows, return_std=True)
    holes = np.isnan(rows)
    z = (filled - full[1000:])[holes] / errors[holes]
    assert np.mean(z**2) == pytest.approx(1.0, abs=0.1)


# ---- kinds of tables -----------------------------------------------------------------------------


def test_arrays(model, X):
    expected = model.impute(X)
    assert type(expected) is np.ndarray
    for rows in (X.tolist(), np.asfortranarray(X)):
        filled = model.impute(rows)
        assert type(filled) is np.ndarray
        np.testing.assert_allclose(filled, expected, rtol=1e-9, atol=1e-9)


def test_masked_arrays_stay_with_nothing_masked(model, X):
    filled = model.impute(np.ma.masked_invalid(X))
    assert isinstance(filled, np.ma.MaskedArray)
    assert not np.ma.is_masked(filled)
    np.testing.assert_allclose(filled.data, model.impute(X), rtol=1e-9, atol=1e-9)


def test_single_precision_stays(model, X):
    filled = model.impute(X.astype(np.float32))
    assert filled.dtype == np.float32
    there = ~np.isnan(X)
    np.testing.assert_array_equal(filled[there], X.astype(np.float32)[there])
    np.testing.assert_allclose(filled, model.impute(X), rtol=1e-4, atol=1e-2)


def test_tensors(model, X):
    torch, X = torch_or_skip(), X[:100]
    filled, errors = model.impute(torch.asarray(X.copy()), return_std=True)
    assert isinstance(filled, torch.Tensor)
    assert filled.dtype == torch.float64
    expected, wanted = model.impute(X, return_std=True)
    np.testing.assert_allclose(to_numpy(filled), expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(to_numpy(errors), wanted, rtol=1e-9, atol=1e-12)
    assert model.impute(torch.asarray(X.astype(np.float32))).dtype == torch.float32


def test_dask_arrays_are_filled_when_they_are_computed(model, X):
    da, X = pytest.importorskip("dask.array"), X[:300]
    rows = da.concatenate(  # one chunk has no rows
        [da.from_array(X[:70], chunks=(35, D)), da.zeros((0, D)), da.from_array(X[70:])]
    )
    filled, errors = model.impute(rows, return_std=True)
    assert isinstance(filled, da.Array)
    assert filled.chunks == rows.chunks
    expected, wanted = model.impute(X, return_std=True)
    np.testing.assert_allclose(filled.compute(), expected, rtol=1e-12)
    np.testing.assert_allclose(errors.compute(), wanted, rtol=1e-12)


def test_dask_frames_stay_with_one_type_in_all_partitions(X):
    pd, dd = pytest.importorskip("pandas"), pytest.importorskip("dask.dataframe")
    frame = frame_of(X[300:600]).reset_index(drop=True)
    frame["x0"] = np.where(np.arange(300) == 3, -999, 7)
    frame["x1"] = pd.array(np.arange(300) % 3, dtype="Int64")
    frame.loc[250, "x1"] = pd.NA
    rows = dd.from_pandas(frame, npartitions=2)
    model = OutlierRobustPCA(K, missing_values=-999).fit(rows)
    filled, errors = model.impute(rows, return_std=True)
    assert type(filled) is type(rows)
    expected, wanted = (
        OutlierRobustPCA(K, missing_values=-999).fit(frame).impute(frame, return_std=True)
    )
    pd.testing.assert_frame_equal(filled.compute(), expected)
    pd.testing.assert_series_equal(filled.dtypes, expected.dtypes)
    np.testing.assert_allclose(errors.compute(), wanted, rtol=1e-6)


def frame_of(X):
    pd = pytest.importorskip("pandas")
    names = [f"x{j}" for j in range(D)]
    return pd.DataFrame(
        X, columns=names, index=pd.Index([f"r{i}" for i in range(len(X))], name="r")
    )


def test_pandas_keeps_labels_and_the_types_of_whole_columns(X, model):
    pd = pytest.importorskip("pandas")
    frame = frame_of(X)
    frame["x0"] = frame["x0"].astype(int)
    before = frame.copy()
    filled, errors = OutlierRobustPCA(K).fit(frame).impute(frame, return_std=True)
    pd.testing.assert_frame_equal(frame, before)
    pd.testing.assert_index_equal(filled.index, frame.index)
    pd.testing.assert_index_equal(filled.columns, frame.columns)
    assert list(filled.dtypes) == list(frame.dtypes)
    pd.testing.assert_frame_equal(filled[frame.notna()], frame.astype(filled.dtypes))
    assert errors.shape == X.shape
    np.testing.assert_allclose(filled.to_numpy(), model.impute(X), rtol=1e-9, atol=1e-9)


def test_pandas_keeps_nullable_and_boolean_columns(X):
    pd = pytest.importorskip("pandas")
    frame = frame_of(X[300:600]).convert_dtypes()
    frame["x0"] = X[300:600, 0] > 0
    frame["x1"] = pd.array(np.arange(300) % 3, dtype="Int64")
    model = OutlierRobustPCA(K).fit(frame)
    filled = model.impute(frame)
    assert str(filled.dtypes["x0"]) == "bool"
    assert str(filled.dtypes["x1"]) == "Int64"
    assert str(filled.dtypes["x2"]) == "Float64"
    pd.testing.assert_series_equal(filled["x1"], frame["x1"])
    assert not filled.isna().any(axis=None)


@pytest.mark.parametrize("kind", ["Float32", "float[pyarrow]", "double[pyarrow]"])
def test_pandas_keeps_types_that_have_nulls(X, kind):
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    frame = frame_of(X[300:600]).astype(kind)
    assert set(map(str, OutlierRobustPCA(K).fit(frame).impute(frame).dtypes)) == {kind}


def test_pandas_keeps_large_whole_numbers(X):
    frame = frame_of(X[300:600])
    model = OutlierRobustPCA(K).fit(frame)
    frame["x0"] = 2**53 + np.arange(300)
    np.testing.assert_array_equal(model.impute(frame)["x0"], frame["x0"])


def test_pandas_keeps_single_precision(X):
    frame = frame_of(X[300:600]).astype(np.float32)
    assert set(OutlierRobustPCA(K).fit(frame).impute(frame).dtypes) == {np.dtype(np.float32)}


def nulls(X):
    pl = pytest.importorskip("polars")
    return pl.DataFrame(X, schema=[f"x{j}" for j in range(D)]).with_columns(pl.all().fill_nan(None))


def test_polars_keeps_names(X):
    X = X[300:600]
    frame = nulls(X)
    model, filled = OutlierRobustPCA(K).fit(X), OutlierRobustPCA(K).fit(frame).impute(frame)
    assert type(filled) is type(frame)
    assert filled.columns == frame.columns
    np.testing.assert_allclose(filled.to_numpy(), model.impute(X), rtol=1e-9, atol=1e-9)


def test_polars_keeps_the_types_of_whole_columns(X):
    pl = pytest.importorskip("polars")
    frame = nulls(X[300:600]).with_columns(pl.col("x0").cast(pl.Int64))
    assert OutlierRobustPCA(K).fit(frame).impute(frame).schema == frame.schema
