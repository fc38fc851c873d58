"""OutlierRobustPCA: how many components there are, and by which rule."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from tests._shared import warnings_of
from torpca import OutlierRobustPCA
from torpca._robust.rank import RankRule, choose_rank
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


# ---- what went wrong once --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. there are only")
@pytest.mark.parametrize("n", [12, 20, 40, 41, 60, 100])
@pytest.mark.parametrize("fraction", [0.0, 0.1])
def test_half_of_a_few_long_rows_is_no_exact_subspace(n, fraction):
    # Any n/2 rows lie in n/2 - 1 directions about their mean, exactly.
    right = 0
    for seed in range(4):
        made = make_outlier_subspace(n, 200, 2, fraction, noise=0.01, random_state=seed)
        model = OutlierRobustPCA().fit(made.X)
        flagged = np.mean(model.predict(made.X) == -1)
        assert model.rank_.rule == "gap"
        assert flagged <= 0.4
        right += model.n_components_ == 2 and flagged <= 0.15
    assert right >= 3  # few rows: a bad one may have a direction to itself


def gasoline(seed):
    """Spectra of many small components, a few of which stand out."""
    rng = np.random.default_rng(seed)
    channels = np.arange(1100, 1700, 2.0)

    def band(centre, width):
        return np.exp(-0.5 * ((channels - centre) / width) ** 2)

    bad = np.zeros(120, dtype=bool)
    bad[rng.choice(120, 18, replace=False)] = True
    amounts = rng.normal([1, 0.4], [0.08, 0.1], size=(120, 2))
    places = zip(rng.uniform(1100, 1700, 15), rng.uniform(12, 50, 15), strict=True)
    minor = np.stack([band(*place) for place in places])
    small = rng.normal(size=(120, 15)) * 0.02 * 0.75 ** np.arange(15)
    alcohol = np.where(bad, rng.uniform(0.08, 0.16, 120), 0)
    pure = [
        band(1195, 18) + 0.8 * band(1395, 22) + 0.5 * band(1420, 30),
        0.7 * band(1143, 12) + 0.5 * band(1430, 25) + 0.9 * band(1680, 15),
    ]
    S = amounts @ np.stack(pure) + small @ minor
    S += alcohol[:, None] * (0.9 * band(1580, 45) + 0.3 * band(1410, 20))
    path, off, slope = rng.normal([1, 0.1, 0], [0.03, 0.02, 0.01], size=(120, 3)).T
    S = path[:, None] * S + off[:, None] + slope[:, None] * (channels - 1400) / 300
    return S + 0.0005 * rng.normal(size=S.shape)


@pytest.mark.filterwarnings("ignore:OutlierRobustPCA. the flagged rows depend:RuntimeWarning")
@pytest.mark.parametrize("seed", [0, 1, 198])  # the last one failed
def test_another_rank_is_looked_at_afresh(seed):
    # The spread of the residuals from eight directions says nothing of those from three.
    model = OutlierRobustPCA().fit(gasoline(seed))
    assert np.sum(model.weights_ > 0) > 60


@pytest.mark.parametrize(
    ("n_rows", "rank", "rule"), [(58, 5, "edge"), (400, 20, "edge"), (8, 1, "edge")]
)
def test_without_a_gap_there_are_ten_rows_for_each_direction(n_rows, rank, rule):
    choice = choose_rank(RankRule(), 0.97 ** np.arange(60), n_rows)
    assert (choice.rank, choice.rule) == (rank, rule)


def test_a_gap_among_few_rows_is_not_looked_for_where_any_rows_have_one():
    variances = np.append(np.ones(9), 1e-3 * np.ones(9))
    assert choose_rank(RankRule(), variances, 40).rank == 9
    assert choose_rank(RankRule(), variances, 20).rule == "edge"


def test_all_directions_are_no_exact_subspace():
    X = np.random.default_rng(0).standard_normal((500, 3))
    model = OutlierRobustPCA().fit(X)
    assert (model.n_components_, model.rank_.rule) == (3, "share")
