"""OutlierRobustPCA as a detector: distances, limits, types, labels, contributions."""

import copy

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from tests._shared import coinciding_rows, types_as_labels
from torpca import OutlierRobustPCA


@pytest.mark.parametrize("contamination", ["auto", 0.1])
def test_labels_scores_and_offset_belong_together(X, model, contamination):
    model = copy.deepcopy(model).set_contamination(contamination)
    scores = model.score_samples(X)
    np.testing.assert_array_equal(model.decision_function(X), scores - model.offset_)
    labels = model.predict(X)
    np.testing.assert_array_equal(labels, np.where(scores < model.offset_, -1, 1))
    np.testing.assert_array_equal(types_as_labels(model), labels)
    np.testing.assert_array_equal(model.outlier_types(X), model.outlier_type_)
    if contamination == "auto":
        assert model.offset_ == -1.0


def test_fit_predict_is_fit_and_predict(X, fitted):
    np.testing.assert_array_equal(OutlierRobustPCA(3).fit_predict(X), fitted.predict(X))
    model = OutlierRobustPCA(3, contamination=0.2)
    np.testing.assert_array_equal(model.fit_predict(X), model.predict(X))


def test_distances_and_scores_follow_their_definitions(X, model):
    rows = (X - model.mean_) / (1.0 if model.scale_ is None else model.scale_)
    Z = rows @ model.components_.T
    score = np.linalg.norm(Z / np.sqrt(model.explained_variance_), axis=1)
    orthogonal = np.linalg.norm(rows - Z @ model.components_, axis=1)
    for found in (model.distances(X), (model.score_distances_, model.orthogonal_distances_)):
        np.testing.assert_allclose(found[0], score, rtol=1e-8)
        np.testing.assert_allclose(found[1], orthogonal, rtol=1e-8, atol=1e-12)
    relative = score / model.cutoffs_["score"], orthogonal / model.cutoffs_["orthogonal"]
    np.testing.assert_allclose(model.score_samples(X), -np.maximum(*relative), rtol=1e-8)


def test_types_follow_from_the_two_limits(X, data, fitted):
    rng = np.random.default_rng(0)
    off = rng.standard_normal((40, 12))
    off -= off @ fitted.components_.T @ fitted.components_
    far_out = 20 * rng.standard_normal((40, 3)) @ fitted.components_
    good = X[~data.outliers][:40]
    kinds = {
        "good leverage": fitted.mean_ + far_out,
        "orthogonal": fitted.mean_ + off,
        "bad leverage": fitted.mean_ + far_out + off,
    }
    distances = fitted.distances(np.vstack([good, *kinds.values()]))
    beyond = (
        distances.score > fitted.cutoffs_["score"],
        distances.orthogonal > fitted.cutoffs_["orthogonal"],
    )
    names = np.array([["regular", "orthogonal"], ["good leverage", "bad leverage"]])
    expected = names[beyond[0].astype(int), beyond[1].astype(int)]
    found = fitted.outlier_types(np.vstack([good, *kinds.values()]))
    np.testing.assert_array_equal(found, expected)
    for kind, rows in kinds.items():
        assert np.mean(fitted.outlier_types(rows) == kind) > 0.9
        assert (fitted.predict(rows[fitted.outlier_types(rows) == kind]) == -1).all()


def test_about_one_good_row_in_a_hundred_is_labelled(X, data, clean, on_clean, fitted):
    assert 0.003 < np.mean(on_clean.predict(clean) == -1) < 0.02
    labels = fitted.predict(X)
    assert (labels[data.outliers] == -1).all()
    assert np.mean(labels[~data.outliers] == -1) < 0.03


def test_contributions_are_parts_of_the_squared_distances(X, model):
    for part, distance in zip(model.contributions(X), model.distances(X), strict=True):
        assert part.shape == X.shape
        assert (part >= 0).all()
        np.testing.assert_allclose(part.sum(axis=1), distance**2, rtol=1e-8, atol=1e-13)


def test_contributions_name_the_feature_that_is_off(X, data, fitted):
    row = X[~data.outliers][:1].copy()
    row[0, 7] += 5.0
    assert fitted.contributions(row).orthogonal.argmax() == 7


@pytest.mark.parametrize("contamination", ["auto", 0.3])
def test_a_label_does_not_depend_on_the_other_rows(X, model, contamination):
    model = copy.deepcopy(model).set_contamination(contamination)
    labels, scores = model.predict(X), model.score_samples(X)
    np.testing.assert_array_equal(model.predict(X[::3]), labels[::3])
    np.testing.assert_allclose(model.score_samples(X[::3]), scores[::3], rtol=1e-9)
    single = np.array([model.predict(row[None])[0] for row in X[:60]])
    np.testing.assert_array_equal(single, labels[:60])
    new = X[:50] + 0.1
    among = np.vstack([1e6 * X[50:100], new])
    np.testing.assert_array_equal(model.predict(new), model.predict(among)[50:])
    np.testing.assert_array_equal(model.outlier_types(new), model.outlier_types(among)[50:])


def test_contamination_has_no_part_in_the_fit(X, fitted):
    model = OutlierRobustPCA(3, contamination=0.5).fit(X)
    assert np.count_nonzero(model.predict(X) == -1) == 150
    for name in ("components_", "mean_", "explained_variance_", "weights_", "support_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(fitted, name))
    assert model.cutoffs_ == fitted.cutoffs_
    np.testing.assert_array_equal(model.score_samples(X), fitted.score_samples(X))


def test_trim_has_no_part_in_the_labels(clean):
    labels = OutlierRobustPCA(3, trim=0.2).fit_predict(clean[:1000])
    assert np.mean(labels == -1) < 0.03  # and 0.01 with trim="auto"


@pytest.mark.parametrize("share", [0.05, 0.25, 0.5])
def test_set_contamination_changes_the_labels_and_nothing_else(X, model, share):
    changed = copy.deepcopy(model)
    assert changed.set_contamination(share) is changed
    assert changed.contamination == share
    assert np.count_nonzero(changed.predict(X) == -1) == share * 300
    np.testing.assert_array_equal(types_as_labels(changed), changed.predict(X))
    assert changed.cutoffs_ == model.cutoffs_
    for name in ("components_", "score_distances_", "orthogonal_distances_"):
        np.testing.assert_array_equal(getattr(changed, name), getattr(model, name))
    for found, expected in zip(changed.distances(X), model.distances(X), strict=True):
        np.testing.assert_array_equal(found, expected)
    changed.set_contamination("auto")
    np.testing.assert_array_equal(changed.predict(X), model.predict(X))
    np.testing.assert_array_equal(changed.outlier_type_, model.outlier_type_)


def test_set_contamination_is_a_fit_with_that_contamination(X, fitted):
    fresh = OutlierRobustPCA(3, contamination=0.2).fit(X)
    changed = copy.deepcopy(fitted).set_contamination(0.2)
    assert changed.offset_ == fresh.offset_
    assert changed.get_params() == fresh.get_params()
    np.testing.assert_array_equal(changed.outlier_type_, fresh.outlier_type_)


def test_set_contamination_auto_brings_the_types_back_in_single_precision():
    for seed in range(8):  # bounded rows: one of them sets the limit
        rows = np.random.default_rng(seed).uniform(-1, 1, (400, 6)) * [9, 8, 1, 1, 1, 1]
        model = OutlierRobustPCA(2).fit(rows.astype(np.float32))
        types = model.outlier_type_.copy()
        model.set_contamination(0.2).set_contamination("auto")
        np.testing.assert_array_equal(model.outlier_type_, types)


@pytest.mark.parametrize("share", [0, 0.0, -0.1, 0.51, 1, True, np.nan, "much", None])
def test_set_contamination_refuses_what_is_no_share(fitted, share):
    model = copy.deepcopy(fitted).set_contamination(0.2)
    with pytest.raises(ValueError, match=r"contamination=.* must be 'auto' or a float"):
        model.set_contamination(share)
    assert model.contamination == 0.2


def test_set_contamination_needs_a_fit():
    with pytest.raises(NotFittedError):
        OutlierRobustPCA().set_contamination(0.1)


@pytest.mark.parametrize(
    "share",
    [
        "auto",
        0.05,
        0.1,
    ],
)
def test_types_are_consistent_with_labels_when_good_rows_coincide(share):
    rows, _ = coinciding_rows()
    with pytest.warns(RuntimeWarning, match="good rows are all equal, so there are fewer"):
        model = OutlierRobustPCA(1, contamination=share).fit(rows)
    np.testing.assert_array_equal(types_as_labels(model), model.predict(rows))


# ---- the level of the limits ---------------------------------------------------------------------


@pytest.mark.parametrize("n", [400, 8000])  # on all rows, and in passes over them
@pytest.mark.parametrize("limit", [0.9, 0.99, 0.999])
def test_as_many_good_rows_are_beyond_a_limit_as_it_says(n, limit):
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(3, 12))
    made = rng.normal(size=(n + 4000, 3)) @ mix + 0.1 * rng.normal(size=(n + 4000, 12))
    rows, new = made[:n], made[n:]
    model = OutlierRobustPCA(3, limit=limit).fit(rows)
    for some in (rows, new):
        share, wanted = np.mean(model.predict(some) == -1), 1 - limit
        assert abs(share - wanted) < 3 * np.sqrt(wanted / len(some)) + 0.1 * wanted


def test_the_limit_plays_no_part_in_the_fit(X):
    usual, strict = (OutlierRobustPCA(2, limit=limit).fit(X) for limit in (0.99, 0.9))
    np.testing.assert_array_equal(usual.components_, strict.components_)
    np.testing.assert_array_equal(usual.score_distances_, strict.score_distances_)
    assert usual.get_params()["limit"] == 0.99
    assert all(strict.cutoffs_[name] < usual.cutoffs_[name] for name in usual.cutoffs_)


@pytest.mark.parametrize("limit", [0.4, 1.0, "99"])
def test_limits_that_are_none(X, limit):
    with pytest.raises(ValueError, match="'limit' parameter"):
        OutlierRobustPCA(2, limit=limit).fit(X)
