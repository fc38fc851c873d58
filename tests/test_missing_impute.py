"""OutlierRobustPCA fills the holes of a table, and says how well."""

import copy

import numpy as np
import pytest

from tests._missing import gaussian, holed, one_torch_thread  # noqa: F401 (a fixture)
from tests._sources import torch_or_skip
from torpca import OutlierRobustPCA, as_source, load_model, save_model
from torpca._answer import without_holes
from torpca._missing_cells import missing_cells
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


# ---- bad cells -----------------------------------------------------------------------------------


def spectra(n=400, d=60, k=3, noise=0.05):
    """Sums of smooth peaks with noise."""
    rng, at = np.random.default_rng(0), np.linspace(0, 1, d)
    peaks = np.exp(-0.5 * ((at - np.linspace(0.2, 0.8, k)[:, None]) / 0.1) ** 2)
    return 1 + rng.gamma(3, 1, (n, k)) @ peaks + noise * rng.standard_normal((n, d))


class Spoiled:
    """Spectra with 10 % of the cells missing, 5 % bad, and a model that looks for bad cells."""

    def __init__(self):
        rng, self.truth = np.random.default_rng(1), spectra()
        shape = self.truth.shape
        self.holes = rng.random(shape) < 0.1
        self.wrong = (rng.random(shape) < 0.05) & ~self.holes
        self.X = self.truth + np.where(self.wrong, 3 * rng.choice([-1, 1], shape), 0.0)
        self.X[self.holes] = np.nan
        self.X.flags.writeable = False
        self.told = np.where(self.wrong, np.nan, self.X)
        self.model = OutlierRobustPCA(3, cells=True).fit(self.X)
        self.found = self.model.cell_outliers_.toarray() != 0

    def error(self, filled, cells):
        return float(np.sqrt(np.mean((filled - self.truth)[cells] ** 2)))


@pytest.fixture(scope="module")
def spoiled():
    return Spoiled()


def test_holes_are_filled_as_if_bad_cells_were_missing(spoiled):
    filled, errors = spoiled.model.impute(spoiled.X, return_std=True)
    told, wanted = spoiled.model.impute(spoiled.told, return_std=True)
    best = spoiled.error(told, spoiled.holes)
    assert spoiled.error(filled, spoiled.holes) < 1.05 * best
    assert best < 0.06  # little more than the noise
    # Fewer cells say less of the others.
    np.testing.assert_allclose(errors[spoiled.holes], wanted[spoiled.holes], rtol=0.1)
    z = (filled - spoiled.truth)[spoiled.holes] / errors[spoiled.holes]
    assert np.mean(z**2) == pytest.approx(1.0, abs=0.15)


def test_without_cells_the_bad_ones_spoil_the_others(spoiled):
    plain = OutlierRobustPCA(3).fit(spoiled.truth)
    found = spoiled.error(plain.impute(spoiled.X), spoiled.holes)
    assert found > 2 * spoiled.error(spoiled.model.impute(spoiled.X), spoiled.holes)
    # Unless they are looked for in this table alone.
    mended = plain.impute(spoiled.X, bad_cells=True)
    assert spoiled.error(mended, spoiled.holes) < 0.06


def test_bad_cells_stay_unless_they_are_to_be_replaced(spoiled):
    filled, errors = spoiled.model.impute(spoiled.X, return_std=True)
    np.testing.assert_array_equal(filled[~spoiled.holes], spoiled.X[~spoiled.holes])
    assert np.all(errors[~spoiled.holes] == 0)
    assert not np.isnan(filled).any()
    mended, errors = spoiled.model.impute(spoiled.X, bad_cells=True, return_std=True)
    np.testing.assert_array_equal(mended[spoiled.holes], filled[spoiled.holes])
    assert np.count_nonzero(spoiled.found & spoiled.wrong) > 0.95 * np.count_nonzero(spoiled.wrong)
    assert spoiled.error(mended, spoiled.found & spoiled.wrong) < 0.06
    assert np.all(errors[spoiled.found] > 0)
    kept = ~spoiled.holes & ~spoiled.found
    np.testing.assert_array_equal(mended[kept], spoiled.X[kept])


@pytest.mark.parametrize("value", [1e3, -1e3, 1e6, -1e12])
def test_what_a_hole_is_filled_with_does_not_depend_on_how_bad_a_cell_is(spoiled, value):
    rows = np.where(spoiled.wrong[:50], np.nan, spoiled.X[:50])
    at = (np.arange(50), np.argmax(~np.isnan(rows), axis=1))  # the first cell of each row
    missing, bad = rows.copy(), rows.copy()
    missing[at], bad[at] = np.nan, value
    expected, filled = spoiled.model.impute(missing), spoiled.model.impute(bad)
    np.testing.assert_array_equal(filled[at], value)
    holes = np.isnan(rows)
    np.testing.assert_allclose(filled[holes], expected[holes], rtol=1e-9)


def test_of_a_row_that_is_bad_as_a_whole_all_cells_count(spoiled):
    row = spoiled.truth[:1].copy()
    row[0, :30] += 5 * np.random.default_rng(2).standard_normal(30)
    row[0, 40] = np.nan
    mended = spoiled.model.impute(row, bad_cells=True)
    np.testing.assert_array_equal(mended[0, :40], row[0, :40])  # half are off: it is the row
    plain = copy.copy(spoiled.model).set_params(cells=False)
    np.testing.assert_array_equal(spoiled.model.impute(row), plain.impute(row))


def test_holes_are_filled_the_same_in_any_kind_of_table(spoiled):
    model, X = spoiled.model, np.asfortranarray(spoiled.X[:60])
    expected = model.impute(spoiled.X[:60])
    near = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(model.impute(X), expected, **near)
    np.testing.assert_allclose(model.impute(X.tolist()), expected, **near)
    masked = model.impute(np.ma.masked_invalid(X))
    assert not np.ma.is_masked(masked)
    np.testing.assert_allclose(masked.data, expected, **near)
    single = model.impute(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, rtol=1e-4, atol=1e-4)
    one_by_one = np.vstack([model.impute(row[None, :]) for row in X])
    np.testing.assert_allclose(one_by_one, expected, **near)


def test_holes_are_filled_the_same_in_tensors(spoiled):
    torch, X = torch_or_skip(), spoiled.X[:60]
    filled, errors = spoiled.model.impute(torch.asarray(X.copy()), return_std=True)
    expected, wanted = spoiled.model.impute(X, return_std=True)
    np.testing.assert_allclose(to_numpy(filled), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(to_numpy(errors), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("bad_cells", [False, True])
def test_holes_are_filled_the_same_in_chunks(spoiled, bad_cells):
    da, X = pytest.importorskip("dask.array"), spoiled.X[:60]
    rows = da.from_array(X, chunks=(25, 60))
    filled, errors = spoiled.model.impute(rows, bad_cells=bad_cells, return_std=True)
    expected, wanted = spoiled.model.impute(X, bad_cells=bad_cells, return_std=True)
    np.testing.assert_allclose(filled.compute(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(errors.compute(), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.filterwarnings("ignore:X has feature names:UserWarning")
@pytest.mark.parametrize("kind", ["float64", "Float64", "double[pyarrow]", "dask", "polars"])
def test_holes_are_filled_the_same_in_data_frames(spoiled, kind):
    X, names = spoiled.X[:60], [f"x{j}" for j in range(spoiled.X.shape[1])]
    expected = spoiled.model.impute(X)
    if kind == "polars":
        pl = pytest.importorskip("polars")
        frame = pl.DataFrame(X, schema=names).with_columns(pl.all().fill_nan(None))
    else:
        pd = pytest.importorskip("pandas")
        if "pyarrow" in kind:
            pytest.importorskip("pyarrow")
        frame = pd.DataFrame(X, columns=names)
        frame = frame if kind == "dask" else frame.astype(kind)
    if kind == "dask":
        frame = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    filled = spoiled.model.impute(frame)
    filled = filled.compute() if kind == "dask" else filled
    np.testing.assert_allclose(filled.to_numpy().astype(np.float64), expected, rtol=1e-9, atol=1e-9)


def test_numbers_that_mean_missing_are_holes_and_no_bad_cells(spoiled):
    marked = np.where(np.isnan(spoiled.X), -999.0, spoiled.X)
    model = OutlierRobustPCA(3, cells=True, missing_values=-999).fit(marked)
    filled = model.impute(marked)
    np.testing.assert_allclose(filled, spoiled.model.impute(spoiled.X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(filled[~spoiled.holes], spoiled.X[~spoiled.holes])


def test_a_stored_model_fills_the_same(spoiled, tmp_path):
    save_model(spoiled.model, tmp_path / "model.torpca")
    again = load_model(tmp_path / "model.torpca")
    expected = spoiled.model.impute(spoiled.X[:60])
    np.testing.assert_allclose(again.impute(spoiled.X[:60]), expected, rtol=1e-12)


def test_a_predicted_row_is_filled_by_the_rule_that_judges_it(spoiled):
    # Coordinates come from the good cells, and so does what they say of the cells that are missing.
    X, model = spoiled.X[:60], spoiled.model
    fitted = model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(fitted[np.isnan(X)], model.impute(X)[np.isnan(X)], atol=0.01)


@pytest.mark.parametrize("cells", [True, False])
def test_rows_of_a_report_have_the_same_numbers_in_their_holes(spoiled, cells):
    X = spoiled.X.copy()
    X[:40] = spoiled.truth[:40]
    X[:40, 7] += 3.0  # rows without a hole, with a bad cell
    model = OutlierRobustPCA(3, cells=cells).fit(X)
    rows = without_holes(model, as_source(X), missing_cells(as_source(X)))
    found, holes = rows.take(np.arange(len(X))), np.isnan(X)
    np.testing.assert_allclose(found[holes], model.impute(X)[holes], rtol=1e-9)
    if cells:
        bad = model.cell_outliers_.toarray() != 0
        np.testing.assert_array_equal(found[bad], X[bad])
    whole = ~holes.any(axis=1)
    np.testing.assert_array_equal(found[whole], X[whole])
