"""Tables with holes of which nothing can be said are refused, and the words say where."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from tests._missing import FEW_CELLS, gaussian, holed
from torpca import TORP, OutlierRobustPCA, torp
from torpca.datasets import make_outlier_subspace

NAMES = list("abcdefgh")


@pytest.fixture
def X():
    return holed(gaussian(60, 8, 2), 0.1)


@pytest.fixture(scope="module")
def whole():
    return OutlierRobustPCA(2).fit(gaussian(60, 8, 2))


def in_pandas(X):
    return pytest.importorskip("pandas").DataFrame(X, columns=NAMES)


def said(call):
    with pytest.raises(ValueError, match=r"^[A-Z]") as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("empty", "scale", "numbers", "names"),
    [
        ([3], True, "column 3,", "column 'd',"),
        ([0, 5], False, "columns 0 and 5,", "columns 'a' and 'f',"),
        ([0, 1, 2, 5], False, "columns 0, 1, 2 and 5,", "'c' and 'f',"),
        ([0, 1, 2, 4, 5, 6], False, "0, 1, 2, 4, 5 and 1 more,", "'f' and 1 more,"),
    ],
)
@FEW_CELLS
def test_columns_without_a_number_are_named(X, empty, scale, numbers, names):
    X[:, empty] = np.nan
    model = OutlierRobustPCA(2, scale=scale)
    for rows, where in ((X, numbers), (in_pandas(X), names)):
        message = said(lambda rows=rows: model.fit(rows))
        assert "NaN only" in message
        assert where in message
        assert "Leave columns without a number out" in message
    model.fit(np.delete(X, empty, axis=1))


def test_a_model_takes_new_rows_without_a_number_in_a_column(X, whole):
    X[:, 3] = np.nan
    assert np.all(np.isfinite(whole.transform(X)))
    assert np.all(np.isfinite(whole.impute(X)))


def test_tables_without_a_number():
    message = said(lambda: OutlierRobustPCA(2).fit(np.full((1000, 3), np.nan)))
    assert "NaN only: none of its 1,000 x 3 cells is there" in message


def test_tables_of_one_number():
    X = np.full((30, 5), np.nan)
    X[4, 2] = 1.0
    message = said(lambda: OutlierRobustPCA(2).fit(X))
    assert "NaN only in columns 0, 1, 3 and 4," in message
    message = said(lambda: OutlierRobustPCA(1).fit(X[:, [2]]))
    assert message.startswith("Only 1 row of X has enough cells for 1 component,")


def test_rows_of_too_few_cells():
    X = np.full((30, 5), np.nan)
    X[np.arange(30), np.arange(30) % 5] = 1.0
    X[np.arange(30), np.arange(1, 31) % 5] = np.arange(30)
    message = said(lambda: OutlierRobustPCA(2).fit(X))
    assert message.startswith("No row of X has enough cells for 2 components, which is more than 2")
    assert "Give n_components=1, leave columns with many holes out, or give rows" in message
    message = said(lambda: OutlierRobustPCA(1).fit(X[:2, :2]))
    assert message.endswith("Leave columns with many holes out, or give rows with more cells.")


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. ", "ignore:X has few numbers")
@FEW_CELLS
@pytest.mark.parametrize(
    ("shape", "missing", "asked", "there", "advice"),
    [
        ((300, 12), 0.9, "auto", "1.17", "n_components=1, leave"),
        ((500, 20), 0.85, "auto", "2.93", "n_components=2 or less, leave"),
        ((500, 20), 0.85, 0.9, "2.93", "n_components=2 or less, leave"),
    ],
)
def test_more_components_are_found_than_rows_have_cells(shape, missing, asked, there, advice):
    rows = make_outlier_subspace(*shape, 3, 0.1, noise=0.05, random_state=0).X
    X = holed(rows, missing)
    message = said(lambda: OutlierRobustPCA(asked).fit(X))
    # With so few cells the last digits decide how many components EM makes of noise: whatever
    # their number, the message counts the rows that have more cells than that.
    who, k = re.match(r"(.*) enough cells for (\d+) components,", message).groups()
    count = np.count_nonzero(np.sum(~np.isnan(X), axis=1) > int(k))
    assert count <= int(k)
    rows_of_x = {0: "No row of X has", 1: "Only 1 row of X has"}
    assert who == rows_of_x.get(count, f"Only {count} rows of X have")
    led = f"n_components={asked!r} led to this number, but {missing:.0%} of the cells are missing"
    assert f"{led}, and a row has {there} on average. Give {advice} columns" in message
    OutlierRobustPCA(int(re.search(r"Give n_components=(\d+)", message)[1])).fit(X)


@pytest.mark.parametrize("scale", [False, True])
def test_columns_with_few_numbers_are_warned_of_by_name_once(X, scale):
    X[5:50, 6] = np.nan
    with pytest.warns(RuntimeWarning) as record:
        OutlierRobustPCA(2, scale=scale).fit(in_pandas(X))
    found = [str(entry.message) for entry in record]
    share = round(100 * np.mean(np.isnan(X[:, 6])))
    assert len(found) == 1
    assert re.search(rf"few numbers in column 'g': up to {share}% are missing", found[0])
    assert "Leave them out" in found[0]
    assert record[0].filename == __file__


def test_infinity_is_named_among_holes(X, whole):
    X[7, 3] = X[21, 0] = np.inf
    X[22, 1] = -np.inf
    wanted = "infinity in 3 of 60 rows, first in row 7, column 3. NaN stands for a cell that is"
    fits = (OutlierRobustPCA(2).fit, OutlierRobustPCA(2, scale=True).fit)
    for method in (*fits, whole.predict, whole.distances, whole.impute):
        assert wanted in said(lambda method=method: method(X))
    assert "replace infinity by NaN" in said(lambda: whole.predict(X))
    X[np.isinf(X)] = np.nan
    OutlierRobustPCA(2).fit(X)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_sparse_matrices_have_no_holes(X, whole, kind):
    first = np.argwhere(np.isnan(X))[0]
    count = np.count_nonzero(np.any(np.isnan(X), axis=1))
    wanted = f"NaN or infinity in {count} of 60 rows, first in row {first[0]}, column {first[1]}."
    for method in (OutlierRobustPCA(2).fit, whole.transform, whole.predict, whole.impute):
        assert wanted in said(lambda method=method: method(kind(X)))


def test_the_algorithms_of_the_paper_take_none(X):
    for call in (lambda: torp(X, 2), lambda: TORP(2).fit(X)):
        assert "All entries must be finite" in said(call)
        assert "impute" in said(call)


def test_coordinates_have_no_holes(whole):
    assert "NaN or infinity in 1 of 2 rows" in said(
        lambda: whole.inverse_transform([[1.0, 2.0], [np.nan, 0.0]])
    )


def test_columns_without_a_number_in_rows_that_count(X):
    X[:, 2] = np.nan
    X[:5, 2] = 1.0
    with pytest.raises(ValueError, match="column 2"):
        OutlierRobustPCA(2).fit(X, leave_out=np.arange(5))


@FEW_CELLS
def test_a_single_column_may_have_holes():
    X = np.random.default_rng(0).standard_normal((50, 1))
    X[[3, 8]] = np.nan
    model = OutlierRobustPCA(1).fit(X)
    assert (model.outlier_type_[[3, 8]] == "unknown").all()
    assert (model.outlier_type_ == "unknown").sum() == 2
