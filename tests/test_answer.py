"""What a fit says about a table, in one object."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from torpca import OutlierRobustPCA, as_source
from torpca._answer import DETAILED, answer
from torpca._shares import signed_shares
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error


@pytest.fixture(scope="module")
def made():
    return make_outlier_subspace(
        400, 15, 3, 0.2, outliers="mixed", noise=0.01, mean=3.0, random_state=0
    )


@pytest.fixture(scope="module")
def model(made):
    return OutlierRobustPCA(3).fit(made.X)


def test_it_is_what_the_model_says(made, model):
    told = answer(model, made.X)
    np.testing.assert_array_equal(told.flagged, model.predict(made.X) == -1)
    np.testing.assert_array_equal(told.types, model.outlier_type_)
    np.testing.assert_array_equal(told.scores, model.transform(made.X))
    np.testing.assert_array_equal(told.score_distances, model.score_distances_)
    assert list(told.ids[:3]) == ["1", "2", "3"]
    assert told.names[0] == "x0"
    assert told.cutoffs == model.cutoffs_


def test_extreme_rows_come_first(made, model):
    told = answer(model, made.X)
    assert set(told.extreme) == set(np.flatnonzero(told.flagged))
    scores = model.score_samples(made.X)[told.extreme]
    assert np.all(np.diff(scores) >= 0)
    assert len(told.features) == len(told.extreme)


def test_ordinary_pca_is_that_of_scikit_learn(made, model):
    told = answer(model, made.X)
    plain = PCA(3, svd_solver="full").fit(made.X)
    np.testing.assert_allclose(told.plain_explained, plain.explained_variance_ratio_, rtol=1e-10)
    np.testing.assert_allclose(
        np.abs(told.plain_scores), np.abs(plain.transform(made.X)), atol=1e-9
    )
    sine = subspace_error(model.components_.T, plain.components_.T)
    assert np.sin(np.radians(told.angle)) == pytest.approx(sine)


def test_ordinary_pca_of_scaled_features(made):
    model = OutlierRobustPCA(3, scale=True).fit(made.X)
    told = answer(model, made.X)
    plain = PCA(3, svd_solver="full").fit(made.X / model.scale_)
    np.testing.assert_allclose(told.plain_explained, plain.explained_variance_ratio_, rtol=1e-10)


def test_ordinary_pca_without_centring(made):
    model = OutlierRobustPCA(3, center=False).fit(made.X)
    told = answer(model, made.X)
    s = np.linalg.svd(made.X, compute_uv=False)
    np.testing.assert_allclose(told.plain_explained, s[:3] ** 2 / np.sum(s**2), rtol=1e-10)


@pytest.mark.parametrize("scale", [False, True])
def test_shares_are_the_contributions_of_the_distance_that_is_farther_out(made, scale):
    model = OutlierRobustPCA(3, scale=scale).fit(made.X)
    told = answer(model, made.X)
    of_score, of_residual = model.contributions(made.X[told.extreme])
    distances = model.distances(made.X[told.extreme])
    inside = (
        distances.score / model.cutoffs_["score"]
        > distances.orthogonal / model.cutoffs_["orthogonal"]
    )
    expected = np.where(inside[:, None], of_score, of_residual)
    expected = expected / expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(told.contributions), expected, atol=1e-9)


def test_a_feature_that_is_too_large_has_a_positive_share():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 6)) * [5.0, 4.0, 0.1, 0.1, 0.1, 0.1]
    X[7, 3] += 5.0
    X[8, 4] -= 5.0
    model = OutlierRobustPCA(2).fit(X)
    told = answer(model, X, names=list("abcdef"))
    place = {int(row): i for i, row in enumerate(told.extreme)}
    assert told.features[place[7]][0][0] == "d"
    assert told.features[place[7]][0][1] > 0.9
    assert told.features[place[8]][0][0] == "e"
    assert told.features[place[8]][0][1] < -0.9


def test_new_rows(made, model):
    new = made.X[:50] + 0.001
    told = answer(model, new, new=True, ids=[f"n{i}" for i in range(50)])
    np.testing.assert_array_equal(told.types, model.outlier_types(new))
    assert told.ids[3] == "n3"


def test_many_flagged_rows_are_not_all_kept_in_detail():
    X = np.random.default_rng(0).standard_normal((1500, 5)) * [5, 4, 0.1, 0.1, 0.1]
    X[:600] = np.random.default_rng(1).standard_normal((600, 5)) * 3
    told = answer(OutlierRobustPCA(2).fit(X), X)
    assert len(told.extreme) > DETAILED
    assert told.contributions.shape == (DETAILED, 5)
    assert len(told.features) == len(told.extreme)


def test_rows_without_noise_have_shares():
    made = make_outlier_subspace(200, 10, 2, 0.1, outliers="line", random_state=0)
    model = OutlierRobustPCA(2).fit(made.X)
    shares = signed_shares(model, made.X)
    assert np.all(np.isfinite(shares))


def test_rows_wherever_they_live(made, model):
    told, other = answer(model, made.X), answer(model, as_source(made.X, block_rows=7))
    np.testing.assert_allclose(other.plain_scores, told.plain_scores, atol=1e-10)


def test_features_are_those_that_explain_a_row(made, model):
    told = answer(model, made.X)
    why = model.explain(made.X)
    for row, features in zip(told.extreme, told.features, strict=True):
        mine = why["row"] == row
        assert [name for name, _ in features] == why["feature"][mine].tolist()
        np.testing.assert_allclose([abs(share) for _, share in features], why["share"][mine])
        too_large = why["value"][mine] > why["expected"][mine]
        np.testing.assert_array_equal([share > 0 for _, share in features], too_large)


def test_ordinary_pca_beside_a_constant_far_from_zero(made):
    X = np.insert(made.X, 3, 1e16, axis=1)
    plain, far = (answer(OutlierRobustPCA(2).fit(A), A) for A in (made.X, X))
    np.testing.assert_allclose(far.plain_explained, plain.plain_explained, rtol=1e-6)
    np.testing.assert_allclose(far.angle, plain.angle, atol=1e-3)
