"""Entries that are not numbers are named by row and column, and the advice works when followed."""

import re
from decimal import Decimal

import numpy as np
import pytest
import scipy.sparse as sp

from tests._files import csv
from torpca import (
    TORP,
    GaussianTORP,
    NoisyTORP,
    OutlierRobustPCA,
    as_source,
    torp,
    torp_bin,
    torp_g,
    torp_n,
)
from torpca._files import TableError, read_table
from torpca._sources.views import Centered, Columns

FUNCTIONS = [torp, torp_n, torp_bin, torp_g]
PAPER = [TORP, NoisyTORP, GaussianTORP]
KINDS = [OutlierRobustPCA, *PAPER]
LETTERS = list("abcde")


def good_rows():
    return np.random.default_rng(0).standard_normal((30, 5)) * [5.0, 4.0, 0.1, 0.1, 0.1]


def said(call, error=(TypeError, ValueError)):
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def every_call(X, kinds=KINDS):
    for function in FUNCTIONS:
        yield lambda function=function: function(X, 2)
    for kind in kinds:
        yield lambda kind=kind: kind(2).fit(X)


def pandas():
    return pytest.importorskip("pandas", reason="needs pandas: torpca[test]")


def polars():
    return pytest.importorskip("polars", reason="needs polars: torpca[test]")


# ---- NaN, infinity and what is missing -----------------------------------------------------------


def mapped(X, folder):
    path = folder / ("good.npy" if np.all(np.isfinite(X)) else "bad.npy")
    np.save(path, X)
    return np.load(path, mmap_mode="r")


def in_dask(X, folder):
    return pytest.importorskip("dask.array").from_array(X, chunks=(7, 5))


def in_torch(X, folder):
    pytest.importorskip("array_api_compat")
    return pytest.importorskip("torch").asarray(X)


def in_pandas(X, folder):
    return pandas().DataFrame(X, columns=LETTERS)


def with_na(X, folder):
    frame = in_pandas(X, folder).convert_dtypes()
    return frame.where(np.isfinite(X), pandas().NA).astype("Float64")


def in_polars(X, folder):
    pl = polars()
    return pl.DataFrame(X, schema=LETTERS).with_columns(pl.all().fill_nan(None))


def in_dask_frame(X, folder):
    return pytest.importorskip("dask.dataframe").from_pandas(in_pandas(X, folder), npartitions=3)


BY_NUMBER = {
    "array": lambda X, folder: X,
    "Fortran": lambda X, folder: np.asfortranarray(X),
    "list": lambda X, folder: X.tolist(),
    "objects": lambda X, folder: X.astype(object),
    "CSR": lambda X, folder: sp.csr_array(X),
    "CSC": lambda X, folder: sp.csc_array(X),
    "memory map": mapped,
    "Dask": in_dask,
    "torch": in_torch,
    "source": lambda X, folder: as_source(X, block_rows=4),
}
BY_NAME = {
    "pandas": in_pandas,
    "pandas, nullable": with_na,
    "polars": in_polars,
    "Dask frame": in_dask_frame,
}
SPARSE = ["CSR", "CSC"]


@pytest.mark.parametrize("kind", [*BY_NUMBER, *BY_NAME])
def test_the_first_entry_that_is_missing_is_named(tmp_path, kind):
    make = {**BY_NUMBER, **BY_NAME}[kind]
    X = good_rows()
    X[7, 3] = X[21, 0] = np.nan
    column = "'d'" if kind in BY_NAME else "3"
    wanted = f"in 2 of 30 rows, first in row 7, column {column}. All entries"
    bad = make(X, tmp_path)
    refusing = KINDS if kind in SPARSE else PAPER  # dense rows may have holes: test_missing*.py
    for call in every_call(bad, refusing):
        assert wanted in said(call, ValueError)
    good = make(good_rows(), tmp_path)
    for estimator in refusing:
        model = estimator(2).fit(good)
        for method in (model.transform, model.predict):
            assert wanted in said(lambda method=method: method(bad), ValueError)


@pytest.mark.parametrize("kind", [*BY_NUMBER, *(name for name in BY_NAME if "nul" not in name)])
def test_the_first_entry_that_is_infinite_is_named_among_missing_ones(tmp_path, kind):
    make = {**BY_NUMBER, **BY_NAME}[kind]
    X = good_rows()
    X[7, 3] = X[21, 0] = np.inf
    if kind not in SPARSE:
        X[2, 1] = X[21, 4] = np.nan
    column = "'d'" if kind in BY_NAME else "3"
    wanted = f"in 2 of 30 rows, first in row 7, column {column}. "
    bad, model = make(X, tmp_path), OutlierRobustPCA(2)
    assert wanted in said(lambda: model.fit(bad), ValueError)
    model.fit(make(good_rows(), tmp_path))
    for method in (model.transform, model.predict, model.impute):
        assert wanted in said(lambda method=method: method(bad), ValueError)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # see the next test
def test_views_know_the_names_of_the_columns():
    X = pandas().DataFrame(good_rows(), columns=LETTERS)
    X.loc[4, "b"] = np.inf
    view = Columns(Centered(as_source(X), np.zeros(5)), np.ones(5))
    assert view.feature_names == tuple(LETTERS)
    model = OutlierRobustPCA(2, scale=True)
    assert "row 4, column 'b'" in said(lambda: model.fit(X), ValueError)


def test_infinity_is_refused_without_a_warning_before():
    X = good_rows()
    X[4, 1] = np.inf
    assert "row 4, column 1" in said(lambda: OutlierRobustPCA(2, scale=True).fit(X), ValueError)


def test_following_the_advice_on_missing_entries():
    pd = pandas()
    X = pd.DataFrame(good_rows(), columns=LETTERS)
    X.loc[[7, 21], ["d", "a"]] = np.nan
    assert "drop or impute those rows" in said(lambda: torp(X, 2))
    torp(X.drop(index=[7, 21]), 2)
    torp(X.fillna(0.0), 2)
    X.loc[5:, "c"] = np.nan  # now most rows would go
    assert "drop column 'c', where most are not, or impute" in said(lambda: torp(X, 2))
    less = X.drop(columns="c")
    assert "in 2 of 30 rows, first in row 7, column 'a'" in said(lambda: torp(less, 2))
    assert "drop column 2," in said(lambda: torp(X.to_numpy(), 2))


def test_missing_marks_of_every_kind_are_nan():
    pd, pl = pandas(), polars()
    frames = [
        pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [1.0, 2.0, 4.0]}),
        pd.DataFrame({"a": pd.array([True, None, False], dtype="boolean"), "b": [1.0, 2.0, 4.0]}),
        pd.DataFrame({"a": np.array([1, None, 3], dtype=object), "b": [1.0, 2.0, 4.0]}),
        pd.DataFrame({"a": np.array([1, pd.NA, 3], dtype=object), "b": [1.0, 2.0, 4.0]}),
        pd.DataFrame({"a": np.array([1, float("nan"), 3], dtype=object), "b": [1, 2, 4]}),
        pl.DataFrame({"a": [1, None, 3], "b": [1.0, 2.0, 4.0]}),
        pl.DataFrame({"a": [True, None, False], "b": [1.0, 2.0, 4.0]}),
        pl.DataFrame({"a": pl.Series([1, None, 3]).cast(pl.Decimal(9, 2)), "b": [1, 2, 4]}),
    ]
    for frame in frames:
        assert "1 of 3 rows, first in row 1, column 'a'" in said(lambda X=frame: torp(X, 1))
        taken = as_source(frame).take(np.arange(3))
        np.testing.assert_array_equal(taken[:, 1], [1, 2, 4])
        assert taken[0, 0] == 1.0
        assert np.isnan(taken[1, 0])


# ---- text and other things that are not numbers--------------------------------------------------


def followed(message, X):
    """What comes of the code that a message advises, as it stands there."""
    import polars as pl

    (code,) = re.findall(
        r"with ((?:X|numpy)[^ ]*\.\w+\(.*?\)(?:\.astype\(float\))?)[.,;](?: |$)", message
    )
    return eval(code, {"X": X, "numpy": np, "polars": pl})


def table(library, **columns):
    columns = {"a": good_rows()[:, 0], **columns, "z": good_rows()[:, 1], "y": good_rows()[:, 2]}
    return {"pandas": pandas, "polars": polars}[library]().DataFrame(columns)


CITIES = ["Rome", "Oslo", "Bern"] * 10
DIGITS = [str(i * i % 7) for i in range(30)]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize(
    ("columns", "where", "left"),
    [
        ({"city": CITIES}, r"'Rome' of type str in row 0, column 'city'", 3),
        ({"code": DIGITS}, r"'0' of type str in row 0, column 'code'", 4),
        ({"u": CITIES, "code": DIGITS}, r"column 'u' of dtype \w+ \(and 1 more such column", 3),
        ({f"t{i}": CITIES for i in range(9)}, r"column 't0' of .* \(and 8 more such", 3),
        ({"day": np.arange(30).astype("M8[D]").astype("M8[us]")}, r"row 0, column 'day'", 3),
        ({"late": [None, None, *CITIES[2:]]}, r"'Bern' .* in row 2, column 'late'", 3),
    ],
    ids=["text", "digits", "two", "many", "dates", "late"],
)
def test_the_column_of_a_data_frame_is_named_and_the_advice_works(library, columns, where, left):
    X = table(library, **columns)
    messages = {said(call, TypeError) for call in every_call(X)}
    (message,) = messages
    assert re.search(where, message)
    repaired = followed(message, X)
    assert repaired.shape == (30, left)
    OutlierRobustPCA(2).fit(repaired)


def test_new_rows_with_text_are_named_too():
    X = table("pandas", code=np.arange(30.0))
    model = OutlierRobustPCA(2).fit(X)
    new = X.astype({"code": object})
    new.loc[3, "code"] = "n.a."
    for method in (model.transform, model.predict, model.score_samples):
        assert "'n.a.' of type str in row 3, column 'code'" in said(lambda m=method: m(new))


def test_categories_and_complex_columns_of_pandas():
    pd = pandas()
    X = table("pandas", kind=pd.Categorical([1, 2, 3] * 10))
    message = said(lambda: torp(X, 2), TypeError)
    assert "in row 0, column 'kind' of dtype category" in message
    assert as_source(followed(message, X)).shape == (30, 4)
    X = table("pandas", wave=np.full(30, 1j))
    message = said(lambda: torp(X, 2), ValueError)
    assert "column 'wave' of dtype complex128. Complex data not supported" in message


def test_frames_without_rows_or_with_odd_names():
    pd = pandas()
    assert "0 sample(s)" in said(lambda: torp(table("pandas", city=CITIES).iloc[:0], 1))
    assert "0 sample(s)" in said(lambda: torp(table("polars", city=CITIES).head(0), 1))
    X = pd.DataFrame(good_rows(), columns=pd.Index([np.str_("a"), 1, "c", "d", "d"], dtype=object))
    X = X.astype(object)
    X.iloc[3, 0], X.iloc[4, 1] = "x", "y"
    message = said(lambda: torp(X, 2), TypeError)
    assert "row 3, column 'a' of dtype object" in message
    assert as_source(followed(message, X)).shape == (30, 3)
    X.iloc[3, 0], X.iloc[4, 1] = 1.0, np.nan
    assert "row 4, column 1." in said(lambda: torp(X, 2), ValueError)


def test_text_in_a_dask_frame_is_named():
    frames = pytest.importorskip("dask.dataframe")
    X = frames.from_pandas(table("pandas", city=CITIES), npartitions=3)
    message = said(lambda: torp(X, 2), TypeError)
    assert "X has column 'city' of dtype" in message
    assert as_source(followed(message, X)).shape == (30, 3)


def test_a_dask_frame_of_nullable_numbers():
    frames = pytest.importorskip("dask.dataframe")
    X = frames.from_pandas(table("pandas", n=np.arange(30)).convert_dtypes(), npartitions=3)
    np.testing.assert_array_equal(as_source(X).take(np.arange(30))[:, 1], np.arange(30))


def objects(value, row, column):
    X = good_rows().astype(object)
    X[row, column] = value
    return X


@pytest.mark.parametrize(
    ("X", "where", "left"),
    [
        (objects("x", 4, 2), "'x' of type str in row 4, column 2;", 4),
        (objects("1.5", 4, 2), "'1.5' of type str in row 4, column 2;", 5),
        (objects(Decimal("1.5"), 6, 0), "type Decimal in row 6, column 0;", 5),
        (objects(2j, 4, 2), "2j of type complex in row 4, column 2;", 4),
        (objects("x", 4, 2).tolist(), "'x' of type str in row 4, column 2", 4),
        (good_rows().astype(str), "dtype <U32", 5),
        (good_rows().astype(str).tolist(), "dtype <U", 5),
        (np.delete(good_rows(), 0, axis=1).astype("S32"), "dtype |S32", 4),
        (objects("x", 4, 2).astype(str), "'x' of type str in row 4, column 2 of dtype <U", 4),
        (np.rec.fromarrays(good_rows().T, names="a,b,c,d,e"), "'a'", 5),
        (np.zeros((30, 5), "M8[s]") + np.arange(30)[:, None], "datetime64[s]", 5),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_entry_of_an_array_is_named_and_the_advice_works(X, where, left):
    messages = {said(call, TypeError) for call in every_call(X)}
    (message,) = messages
    assert where in message
    assert as_source(followed(message, X)).shape == (30, left)


def test_masked_entries_are_missing_ones():
    X = np.ma.masked_greater(good_rows(), 4.0)
    row, column = np.argwhere(X.mask)[0]
    for call in every_call(X, PAPER):
        assert f"first in row {row}, column {column}" in said(call, ValueError)
    torp(X.filled(0.0), 2)
    torp(np.ma.compress_rows(X), 2)


# ---- files ---------------------------------------------------------------------------------------


def test_the_advice_on_a_few_words_among_numbers_works(tmp_path):
    path = csv(tmp_path, "a,b,c\n1,2,3\n3,4,9\n5,12 kg,8\n7,8,7\n")
    message = said(lambda: read_table(path), TableError)
    assert "Column 'b'" in message
    assert "'12 kg' in row 3" in message
    assert "--columns" in message
    assert read_table(path, columns=["a", "c"]).X.shape == (4, 2)
    path.write_text(path.read_text().replace("12 kg", ""))
    assert read_table(path, missing="drop-rows").X.shape == (3, 3)


def test_the_advice_on_decimal_commas_works(tmp_path):
    path = csv(tmp_path, "a;b\n1,5;2\n3,5;4\n")
    assert "--decimal ','" in said(lambda: read_table(path, delimiter=";"), TableError)
    assert read_table(path, delimiter=";", decimal=",").X.tolist() == [[1.5, 2], [3.5, 4]]
    # With commas between cells too there is no such way out.
    path = csv(tmp_path, 'a,b\n"1,5",2\n"3,5",4\n')
    message = said(lambda: read_table(path), TableError)
    assert "Column 'a'" in message
    assert "with decimal points, or with semicolons between cells" in message
    assert "--decimal" not in message
