"""OutlierRobustPCA: when a fit warns, and when it does not."""

import re
import warnings

import numpy as np
import pytest

from tests._shared import warnings_of
from torpca import OutlierRobustPCA
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


def two_planes(share, noise=0.01, seed=0, n=400):
    """Rows on two random planes in 20 dimensions, `share` of them on the first."""
    rng = np.random.default_rng(seed)
    planes = [np.linalg.qr(rng.standard_normal((20, 2)))[0] for _ in range(2)]
    counts = round(share * n), n - round(share * n)
    on = [rng.standard_normal((m, 2)) @ V.T for m, V in zip(counts, planes, strict=True)]
    return np.vstack(on) + noise * rng.standard_normal((n, 20)), planes[0]


@pytest.mark.parametrize("outliers", ["isotropic", "cluster"])
def test_warns_when_half_of_the_rows_disagree(outliers):
    rows = make_outlier_subspace(500, 20, 3, 0.5, outliers=outliers, noise=0.01, random_state=0).X
    messages = [str(entry.message) for entry in warnings_of(OutlierRobustPCA(3), rows)]
    assert any("only 50% of the rows agree" in m and "n_components" in m for m in messages)


@pytest.mark.parametrize("seed", range(3))
def test_warns_when_two_halves_fit_equally_well(seed):
    # Both halves lie in three dimensions or fewer, without noise: the last digits decide which of
    # them is found, or whether a part of the other lies in the last direction by chance.
    made = make_outlier_subspace(500, 20, 3, 0.5, outliers="cluster", random_state=seed)
    messages = [str(entry.message) for entry in warnings_of(OutlierRobustPCA(3), made.X)]
    doubt = r"50% of the rows .* the other rows may be the (good|bad) ones"
    assert any(re.search(doubt, message) for message in messages)


@pytest.mark.parametrize("seed", [0, 2])
def test_warns_when_half_of_the_rows_lie_in_another_subspace(seed):
    rows, _ = two_planes(0.5, seed=seed)
    messages = [str(entry.message) for entry in warnings_of(OutlierRobustPCA(2), rows)]
    assert any("agree" in message for message in messages)


@pytest.mark.parametrize(
    ("share", "seed"),
    [
        (0.7, 1),
        (0.6, 0),
        (0.6, 1),
        (0.55, 1),
    ],
)
def test_the_larger_of_two_planes_is_found_or_a_warning_given(share, seed):
    rows, plane = two_planes(share, seed=seed)
    model = OutlierRobustPCA(2)
    doubts = warnings_of(model, rows)
    assert doubts or subspace_error(model.components_.T, plane) < 0.02


def test_warnings_of_numpy_do_not_come_through():
    rows = make_outlier_subspace(500, 20, 3, 0.5, outliers="line", noise=0.01, random_state=0).X
    messages = [str(entry.message) for entry in warnings_of(OutlierRobustPCA(3), rows)]
    assert all(message.startswith("OutlierRobustPCA: ") for message in messages)


@pytest.fixture(scope="module")
def not_settled_at_once():
    return make_outlier_subspace(300, 12, 3, 0.3, outliers="mixed", noise=0.05, random_state=0).X


def test_warns_when_the_iterations_end_too_early(not_settled_at_once):
    with pytest.warns(RuntimeWarning, match="still moved by .* in iteration 1.*larger max_iter"):
        model = OutlierRobustPCA(3, max_iter=1).fit(not_settled_at_once)
    assert not model.converged_
    assert model.n_iter_ == 1


def test_does_not_warn_on_planted_rows():
    planted = make_outlier_subspace(500, 20, 3, 0.3, noise=0.01, random_state=0)
    model = OutlierRobustPCA(3)
    assert not warnings_of(model, planted.X)
    assert model.converged_
    assert subspace_error(model.components_.T, planted.basis) < 0.02


def test_warnings_point_at_the_caller(not_settled_at_once):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        OutlierRobustPCA(3, max_iter=1).fit(not_settled_at_once)
    (entry,) = record
    assert entry.category is RuntimeWarning
    assert entry.filename == __file__


@pytest.mark.filterwarnings("ignore:.*depend on where the fit starts:RuntimeWarning")
def test_one_dimension_is_not_called_dimensions():
    rng = np.random.default_rng(0)
    lines = [np.outer(rng.normal(size=100), rng.normal(size=6)) for _ in range(2)]
    X = np.concatenate(lines) + 0.01 * rng.normal(size=(200, 6))
    with pytest.warns(RuntimeWarning, match="subspace of 1 dimension "):
        OutlierRobustPCA(1).fit(X)
