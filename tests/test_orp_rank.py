"""OutlierRobustPCA: how many components there are, and by which rule."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from tests._shared import warnings_of
from torpca import OutlierRobustPCA
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


@pytest.mark.parametrize("seed", [0, 1])
def test_rank_by_gap_with_noise(seed):
    rows = make_outlier_subspace(500, 20, 3, 0.3, noise=0.01, random_state=seed).X
    model = OutlierRobustPCA()
    assert not warnings_of(model, rows)
    assert model.n_components_ == model.rank_.rank == 3
    assert model.rank_.rule == "gap"
    assert model.rank_.gap > 8


@pytest.mark.parametrize("seed", [0, 1])
def test_rank_is_exact_without_noise(seed):
    planted = make_outlier_subspace(500, 20, 3, 0.3, random_state=seed)
    model = OutlierRobustPCA().fit(planted.X)
    assert model.n_components_ == model.rank_.rank == 3
    assert model.rank_.rule == "exact"
    assert subspace_error(model.components_.T, planted.basis) < 1e-10
    np.testing.assert_array_equal(model.support_, ~planted.outliers)


def test_rank_is_given_for_integers(X):
    model = OutlierRobustPCA(np.int64(5)).fit(X)
    assert model.n_components_ == model.rank_.rank == 5
    assert model.rank_.rule == "given"


def test_rank_by_share_otherwise():
    rows = np.random.default_rng(0).standard_normal((400, 12)) * 0.8 ** np.arange(12)
    automatic = OutlierRobustPCA().fit(rows)
    assert automatic.rank_.rule == "share"
    assert automatic.n_components_ == OutlierRobustPCA(0.9).fit(rows).n_components_
    for model in (automatic, OutlierRobustPCA(0.5).fit(rows)):
        assert model.rank_.rule == "share"
        assert model.n_components_ == model.rank_.rank
        shares = model.rank_.variances
        assert shares.sum() == pytest.approx(1)
        explained = shares[: model.n_components_].sum()
        assert model.rank_.explained == pytest.approx(explained)
        after = shares[model.n_components_ - 1] / shares[model.n_components_]
        assert model.rank_.gap == pytest.approx(after)


@pytest.mark.parametrize("share", [0.8, 0.97])
def test_a_share_gives_the_fewest_components_that_explain_it(clean, share):
    rows = clean[:1000]
    model = OutlierRobustPCA(share).fit(rows)
    explained = np.cumsum(PCA().fit(rows).explained_variance_ratio_)
    assert model.n_components_ == np.searchsorted(explained, share) + 1
    assert model.explained_variance_ratio_.sum() >= share
    assert model.explained_variance_ratio_[:-1].sum() < share
    assert model.rank_.rule == "share"


def test_rank_is_that_of_the_components_even_when_its_choice_alternates():
    rows = np.random.default_rng(18).standard_normal((40, 10)) * 0.75 ** np.arange(10)
    model = OutlierRobustPCA(0.7).fit(rows)
    assert model.rank_.rank == model.n_components_
    assert model.explained_variance_ratio_.sum() >= 0.7


def test_warns_when_the_automatic_rank_is_at_its_edge():
    rows = np.random.default_rng(0).standard_normal((500, 60))
    model = OutlierRobustPCA()
    messages = [str(entry.message) for entry in warnings_of(model, rows)]
    assert any("no gap" in m and "Give n_components" in m for m in messages)
    assert model.rank_.rule == "edge"
    assert model.n_components_ == model.rank_.rank == 20
