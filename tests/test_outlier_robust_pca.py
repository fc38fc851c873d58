"""OutlierRobustPCA: scikit-learn's protocol, the PCA side, the detector side, weights, input."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from torpca import OutlierRobustPCA
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

UNITS = np.linspace(0.5, 3.0, 12)  # so that scaling matters
OPTIONS = {
    "plain": {},
    "scaled": {"scale": True},
    "whitened": {"whiten": True},
    "scaled and whitened": {"scale": True, "whiten": True},
    "not centred": {"center": False, "n_components": 4},  # the mean is a direction too
    "a given share": {"trim": 0.35},
}


def some(*names):
    return pytest.mark.parametrize("options", [OPTIONS[name] for name in names], ids=names)


@pytest.fixture(scope="module")
def data():
    return make_outlier_subspace(300, 12, 3, 0.3, noise=0.01, mean=0.5, random_state=0)


@pytest.fixture(scope="module")
def X(data):
    rows = data.X * UNITS
    rows.flags.writeable = False
    return rows


@pytest.fixture(scope="module")
def fitted(X):
    return OutlierRobustPCA(3).fit(X)


@pytest.fixture(scope="module", params=OPTIONS.values(), ids=OPTIONS)
def model(request, X):
    return OutlierRobustPCA(**{"n_components": 3, **request.param}).fit(
        X
    )  # for looking at only: a fit takes a while


@pytest.fixture(scope="module")
def clean():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((5000, 12)) * [5, 4, 3, *[0.5] * 9]
    return rows @ np.linalg.qr(rng.standard_normal((12, 12)))[0] + rng.standard_normal(12)


@pytest.fixture(scope="module")
def on_clean(clean):
    return OutlierRobustPCA(3).fit(clean)


def two_planes(share, noise=0.01, seed=0, n=400):
    """Rows on two random planes in 20 dimensions, `share` of them on the first."""
    rng = np.random.default_rng(seed)
    planes = [np.linalg.qr(rng.standard_normal((20, 2)))[0] for _ in range(2)]
    counts = round(share * n), n - round(share * n)
    on = [rng.standard_normal((m, 2)) @ V.T for m, V in zip(counts, planes, strict=True)]
    return np.vstack(on) + noise * rng.standard_normal((n, 20)), planes[0]


def types_as_labels(model):
    return np.where(model.outlier_type_ == "regular", 1, -1)


def assert_same_fit(found, expected):
    # `components_` have signs and an order of their own, so they are compared as they are.
    for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_"):
        value = getattr(found, name)
        np.testing.assert_allclose(value, getattr(expected, name), rtol=1e-9, atol=1e-11)
    assert found.noise_variance_ == pytest.approx(expected.noise_variance_, rel=1e-9)
    assert found.offset_ == pytest.approx(expected.offset_, rel=1e-9)
    assert found.cutoffs_ == pytest.approx(expected.cutoffs_, rel=1e-9)


# The scikit-learn protocol


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # the checks' rows lie near no subspace
@parametrize_with_checks(
    [
        OutlierRobustPCA(),
        OutlierRobustPCA(1),
        OutlierRobustPCA(0.8, scale=True, whiten=True),
        OutlierRobustPCA(trim=0.2, contamination=0.1, center=False),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_tags():
    tags = get_tags(OutlierRobustPCA())  # they decide which of the checks above are run
    assert tags.estimator_type == "outlier_detector"
    assert tags.input_tags.sparse
    assert not tags.input_tags.allow_nan
    assert not tags.target_tags.required
    assert tags.transformer_tags.preserves_dtype == ["float64", "float32"]
    assert not tags.non_deterministic
    assert not tags.no_validation


def test_clones_keep_every_parameter_and_no_fit(X):
    parameters = {
        "n_components": 2,
        "trim": 0.3,
        "contamination": 0.2,
        "center": False,
        "scale": True,
        "whiten": True,
        "sample_size": 100,
        "tol": 1e-6,
        "max_iter": 30,
        "random_state": 7,
    }
    model = OutlierRobustPCA(**parameters).fit(X)
    assert model.get_params() == parameters  # fit changes none
    other = clone(model)
    assert other.get_params() == parameters
    with pytest.raises(NotFittedError, match="OutlierRobustPCA instance is not fitted"):
        other.predict(X)


@pytest.mark.parametrize("again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_copies_are_whole(X, model, again):
    other, labels = again(model), model.predict(X)
    assert other is not model
    np.testing.assert_array_equal(other.predict(X), labels)
    np.testing.assert_array_equal(other.transform(X), model.transform(X))
    assert other.get_params() == model.get_params()
    other.set_contamination(0.5)
    assert model.contamination == "auto"
    np.testing.assert_array_equal(model.predict(X), labels)


def test_fitting_again_forgets(X):
    model = OutlierRobustPCA(3, contamination=0.1, scale=True)
    model.fit(X, sample_weight=np.arange(300.0))
    model.set_params(contamination="auto", scale=False).fit(X[:200, :8])
    assert_same_fit(model, OutlierRobustPCA(3).fit(X[:200, :8]))
    assert model.scale_ is None
    model.set_contamination(0.1)  # nor are the old weights used here
    assert np.count_nonzero(model.predict(X[:200, :8]) == -1) == 20


def test_works_in_a_pipeline(X):
    scaled = StandardScaler().fit_transform(X)
    alone = OutlierRobustPCA(3).fit(scaled)
    together = make_pipeline(StandardScaler(), OutlierRobustPCA(3)).fit(X)
    np.testing.assert_array_equal(together.predict(X), alone.predict(scaled))
    np.testing.assert_array_equal(together.transform(X), alone.transform(scaled))
    np.testing.assert_array_equal(together.decision_function(X), alone.decision_function(scaled))
    assert list(together.get_feature_names_out()) == [f"outlierrobustpca{i}" for i in range(3)]


def test_grid_search_by_score_finds_the_number_of_components(clean):
    grid = {"n_components": [2, 3, 6]}
    search = GridSearchCV(OutlierRobustPCA(), grid, cv=2, error_score="raise").fit(clean[:400])
    assert search.best_params_ == {"n_components": 3}
    assert search.predict(clean).shape == (5000,)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_in_and_out(X, fitted, library):
    frames = pytest.importorskip(library)
    names = [f"x{i}" for i in range(12)]
    frame = frames.DataFrame({name: X[:, i] for i, name in enumerate(names)})
    model = OutlierRobustPCA(3).set_output(transform=library)
    Z = model.fit_transform(frame)
    assert isinstance(Z, frames.DataFrame)
    assert list(Z.columns) == list(model.get_feature_names_out())
    np.testing.assert_allclose(np.asarray(Z), fitted.transform(X), atol=1e-12)
    np.testing.assert_array_equal(model.feature_names_in_, names)
    np.testing.assert_array_equal(model.predict(frame), fitted.predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[names[::-1]])


def test_only_data_frames_have_feature_names(fitted):
    assert not hasattr(fitted, "feature_names_in_")
    assert list(fitted.get_feature_names_out()) == [f"outlierrobustpca{i}" for i in range(3)]


def test_tensors_in_tensors_out_under_array_api_dispatch(X, fitted):
    torch = pytest.importorskip("torch")
    rows = torch.asarray(X.copy())
    with sklearn.config_context(array_api_dispatch=True):
        model = OutlierRobustPCA(3).fit(rows)
        Z = model.transform(rows)
        back = model.inverse_transform(Z)
        labels = model.predict(rows)
    for value in (Z, back, model.components_, model.mean_, model.support_, model.weights_):
        assert isinstance(value, torch.Tensor)
    np.testing.assert_allclose(Z.numpy(), fitted.transform(X), atol=1e-12)
    np.testing.assert_allclose(
        back.numpy(), fitted.inverse_transform(fitted.transform(X)), atol=1e-12
    )
    np.testing.assert_array_equal(labels, fitted.predict(X))


# The PCA side


def assert_close_to_pca(model, pca):
    overlap = np.abs(np.sum(model.components_ * pca.components_, axis=1))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-3)
    np.testing.assert_allclose(model.mean_, pca.mean_, atol=0.03)
    for name in ("explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_allclose(getattr(model, name), getattr(pca, name), rtol=0.03)
    np.testing.assert_allclose(model.singular_values_, pca.singular_values_, rtol=0.02)
    assert model.noise_variance_ == pytest.approx(pca.noise_variance_, rel=0.03)


def test_is_close_to_pca_on_clean_rows(clean, on_clean):
    assert_close_to_pca(on_clean, PCA(3).fit(clean))


def test_is_close_to_pca_of_the_good_rows_whatever_the_bad_ones(clean):
    rows = clean.copy()
    rows[:1500] = 50 * np.random.default_rng(1).standard_normal((1500, 12)) + 30
    model = OutlierRobustPCA(3).fit(rows)
    assert_close_to_pca(model, PCA(3).fit(rows[1500:]))
    assert not model.support_[:1500].any()


def test_trimming_nothing_gives_the_subspace_of_pca(X, clean):
    for rows in (clean[:1000], X):
        model, pca = OutlierRobustPCA(3, trim=0).fit(rows), PCA(3, svd_solver="full").fit(rows)
        assert subspace_error(model.components_.T, pca.components_.T) < 1e-8
        assert model.support_.all()


def test_trimming_leaves_out_that_share(clean):
    model = OutlierRobustPCA(3, trim=0.2).fit(clean)
    assert np.sum(model.weights_) == pytest.approx(4000)
    kept = model.orthogonal_distances_[model.support_]
    assert kept.max() <= model.orthogonal_distances_[~model.support_].min()


def test_transform_and_back(X, model):
    Z = model.transform(X)
    scale = 1.0 if model.scale_ is None else model.scale_
    expected = (X - model.mean_) / scale @ model.components_.T
    if model.whiten:
        expected /= np.sqrt(model.explained_variance_)
    np.testing.assert_allclose(Z, expected, atol=1e-12)
    back = model.inverse_transform(Z)
    np.testing.assert_allclose(model.transform(back), Z, atol=1e-11)
    np.testing.assert_allclose(model.inverse_transform(model.transform(back)), back, atol=1e-12)
    lost = np.linalg.norm((X - back) / scale, axis=1)
    np.testing.assert_allclose(lost, model.orthogonal_distances_, rtol=1e-8, atol=1e-11)


def test_fit_transform_is_fit_and_transform(X, fitted):
    np.testing.assert_array_equal(OutlierRobustPCA(3).fit_transform(X), fitted.transform(X))


def test_whitened_good_rows_have_unit_variance(clean):
    rows = clean.copy()
    rows[:1000] *= 30
    Z = OutlierRobustPCA(3, whiten=True).fit(rows).transform(clean[1000:])
    np.testing.assert_allclose(np.cov(Z.T), np.eye(3), atol=0.05)


def test_precision_is_the_inverse_of_the_covariance(model):
    C, P = model.get_covariance(), model.get_precision()
    np.testing.assert_allclose(P @ C, np.eye(12), atol=1e-9)
    np.testing.assert_allclose(C, C.T, atol=1e-14)


@pytest.mark.parametrize(
    "scale",
    [
        False,
        True,
    ],
)
def test_precision_is_the_pseudo_inverse_without_noise(scale):
    rows = make_outlier_subspace(200, 12, 2, 0.1, random_state=0).X * UNITS
    model = OutlierRobustPCA(2, scale=scale).fit(rows)
    expected = np.linalg.pinv(model.get_covariance(), rcond=1e-9)
    np.testing.assert_allclose(model.get_precision(), expected, atol=1e-9 * np.abs(expected).max())


def test_score_is_the_mean_normal_log_density(X, model):
    normal = multivariate_normal(model.mean_, model.get_covariance())
    for rows in (X, X[model.support_]):
        assert model.score(rows) == pytest.approx(np.mean(normal.logpdf(rows)), rel=1e-8)


def test_to_sklearn_gives_the_same_coordinates(X, model):
    plain = model.to_sklearn()
    assert isinstance(plain, Pipeline if model.scale else PCA)
    assert b"torpca" not in pickle.dumps(plain)
    for other in (plain, pickle.loads(pickle.dumps(plain))):
        Z = other.transform(X)
        np.testing.assert_allclose(Z, model.transform(X), rtol=1e-10, atol=1e-12)
        back = model.inverse_transform(Z)
        np.testing.assert_allclose(other.inverse_transform(Z), back, atol=1e-12)


def test_to_sklearn_gives_the_same_covariance(X):
    model = OutlierRobustPCA(3, whiten=False).fit(X)
    plain = model.to_sklearn()
    np.testing.assert_allclose(plain.get_covariance(), model.get_covariance(), atol=1e-12)
    assert plain.score(X) == pytest.approx(model.score(X), rel=1e-8)


@pytest.mark.parametrize("scale", [False, True])
def test_to_sklearn_keeps_feature_names(X, scale):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(12)])
    model = OutlierRobustPCA(3, scale=scale).fit(frame)
    plain = model.to_sklearn()
    np.testing.assert_array_equal(plain.feature_names_in_, frame.columns)
    np.testing.assert_allclose(plain.transform(frame), model.transform(frame), atol=1e-12)
    assert list(plain.get_feature_names_out()) == ["pca0", "pca1", "pca2"]
    with pytest.raises(ValueError, match="feature names"):
        plain.transform(frame[frame.columns[::-1]])


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


@some("scaled and whitened")
def test_float32_in_float32_out(X, options):
    single = X.astype(np.float32)
    double = OutlierRobustPCA(3, **options).fit(single.astype(np.float64))
    model = OutlierRobustPCA(3, **options).fit(single)
    for name in (
        "components_",
        "mean_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "weights_",
        "score_distances_",
        "orthogonal_distances_",
    ):
        value = getattr(model, name)
        assert value.dtype == np.float32, name
        # Found in double precision, rounded at the end.
        np.testing.assert_allclose(value, getattr(double, name), rtol=1e-4, atol=1e-5)
    if model.scale:
        assert model.scale_.dtype == np.float32
    assert model.transform(single).dtype == np.float32
    assert model.transform(X).dtype == np.float64
    assert model.inverse_transform(model.transform(single)).dtype == np.float32
    np.testing.assert_array_equal(model.support_, double.support_)
    np.testing.assert_array_equal(model.predict(single), double.predict(single))


def test_the_largest_entry_of_each_component_is_positive(model):
    V = model.components_
    assert (V[np.arange(len(V)), np.abs(V).argmax(axis=1)] > 0).all()
    np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-12)


def test_the_signs_of_rows_are_not_those_of_components(X, fitted):
    other = OutlierRobustPCA(3).fit(-X)
    np.testing.assert_allclose(other.components_, fitted.components_, atol=1e-9)
    np.testing.assert_allclose(other.mean_, -fitted.mean_, atol=1e-9)


@pytest.mark.parametrize("seed", [1, np.random.RandomState(0)])
def test_the_fit_does_not_depend_on_the_seed(clean, on_clean, seed):
    assert on_clean.start_.n_sample < 5000
    assert_same_fit(OutlierRobustPCA(3, random_state=seed).fit(clean), on_clean)


# The detector side


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
    rows = np.zeros((50, 6))
    rows[[3, 14, 15, 40, 41]] = np.random.default_rng(0).standard_normal((5, 6))
    model = OutlierRobustPCA(1, contamination=share).fit(rows)
    np.testing.assert_array_equal(types_as_labels(model), model.predict(rows))


# Weights and leaving out


def left_out():
    mask = np.zeros(300, dtype=bool)
    mask[[0, 3, 77, 150, 151, 152, 299]] = True
    return mask


@some("scaled and whitened", "a given share")
def test_a_row_of_weight_zero_is_not_there(X, options):
    mask = left_out()
    model = OutlierRobustPCA(3, contamination=0.2, **options)
    without = clone(model).fit(X[~mask])
    model.fit(X, sample_weight=np.where(mask, 0.0, 1.0))
    assert_same_fit(model, without)
    np.testing.assert_array_equal(model.support_[~mask], without.support_)
    assert not model.support_[mask].any()
    assert not model.weights_[mask].any()


@some("scaled")
def test_a_row_of_weight_zero_has_distances_and_a_label(X, options):
    mask = left_out()
    model = OutlierRobustPCA(3, **options).fit(X, sample_weight=np.where(mask, 0.0, 1.0))
    for found, expected in (
        (model.score_distances_, model.distances(X[mask]).score),
        (model.orthogonal_distances_, model.distances(X[mask]).orthogonal),
    ):
        np.testing.assert_allclose(found[mask], expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(model.outlier_type_[mask], model.outlier_types(X[mask]))
    np.testing.assert_array_equal(types_as_labels(model), model.predict(X))


@some("scaled and whitened", "a given share")
def test_a_row_of_weight_two_is_that_row_twice(X, options):
    counts = np.random.default_rng(0).integers(0, 4, 300)
    model = OutlierRobustPCA(3, contamination=0.2, **options)
    twice = clone(model).fit(np.repeat(X, counts, axis=0))
    assert_same_fit(model.fit(X, sample_weight=counts), twice)


def test_a_row_of_weight_two_is_that_row_twice_when_features_are_many():
    rows = make_outlier_subspace(25, 40, 2, 0.1, noise=0.1, random_state=0).X
    model = OutlierRobustPCA(2).fit(rows, sample_weight=np.full(25, 2.0))
    assert_same_fit(model, OutlierRobustPCA(2).fit(np.repeat(rows, 2, axis=0)))


def test_weights_of_one_change_nothing(X, fitted):
    assert_same_fit(OutlierRobustPCA(3).fit(X, sample_weight=np.ones(300)), fitted)


@pytest.fixture(scope="module")
def without(X):
    return OutlierRobustPCA(3).fit(X, sample_weight=np.where(left_out(), 0.0, 1.0))


@pytest.mark.parametrize(
    "form",
    [
        lambda mask: mask,
        lambda mask: np.flatnonzero(mask).tolist(),
        lambda mask: np.flatnonzero(mask) - 300,  # from the end, as NumPy counts
    ],
    ids=["mask", "list of numbers", "negative numbers"],
)
def test_rows_left_out_by_mask_or_number_have_weight_zero(X, without, form):
    model = OutlierRobustPCA(3).fit(X, leave_out=form(left_out()))
    assert_same_fit(model, without)
    np.testing.assert_array_equal(model.weights_, without.weights_)
    np.testing.assert_array_equal(model.outlier_type_, without.outlier_type_)


def string_index(pd):
    return [f"row {i}" for i in range(300)]


def reversed_index(pd):
    return np.arange(300)[::-1]


def time_index(pd):
    return pd.date_range("2020-01-01", periods=300)


def multi_index(pd):
    return pd.MultiIndex.from_product([range(30), list("abcdefghij")])


@pytest.mark.parametrize(
    "index",
    [
        string_index,
        reversed_index,
        time_index,
        multi_index,
    ],
)
def test_rows_left_out_by_label_have_weight_zero(X, without, index):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X).set_axis(index(pd))
    model = OutlierRobustPCA(3).fit(frame, leave_out=list(frame.index[left_out()]))
    assert_same_fit(model, without)
    np.testing.assert_array_equal(model.support_, without.support_)
    np.testing.assert_array_equal(model.outlier_type_, without.outlier_type_)


def test_rows_of_a_frame_left_out_by_mask_or_index_have_weight_zero(X, without):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X).set_axis(string_index(pd))
    for names in (pd.Series(left_out(), index=frame.index), frame.index[left_out()]):
        assert_same_fit(OutlierRobustPCA(3).fit(frame, leave_out=names), without)


def test_leave_out_and_weights_go_together(X):
    mask, weights = left_out(), np.arange(300.0)
    model = OutlierRobustPCA(3).fit(X, sample_weight=weights, leave_out=mask)
    expected = OutlierRobustPCA(3).fit(X, sample_weight=np.where(mask, 0.0, weights))
    assert_same_fit(model, expected)
    np.testing.assert_array_equal(weights, np.arange(300.0))  # they are the caller's


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.r_[-1.0, np.ones(299)], "sample_weight must be finite and not negative"),
        (np.r_[np.nan, np.ones(299)], "sample_weight must be finite and not negative"),
        (np.r_[np.inf, np.ones(299)], "sample_weight must be finite and not negative"),
        (np.ones(299), r"sample_weight.shape == \(299,\), expected \(300,\)"),
        (np.ones((300, 2)), r"sample_weight.shape == \(300, 2\), expected \(300,\)"),
        (np.zeros(300), "sample_weight is zero for every row"),
        (np.full(300, 1e-3), "sample_weight sums to 0.3"),
        (np.arange(300.0) == 4, "sample_weight sums to 1"),
    ],
)
def test_bad_weights_are_refused(X, weights, message):
    with pytest.raises(ValueError, match=message):
        OutlierRobustPCA(3).fit(X, sample_weight=weights)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (np.zeros(299, dtype=bool), "leave_out has shape.*299.*as a mask, but X has 300 rows"),
        ([3, 300], "leave_out names 1 rows that are not there, first .*300.*below 300"),
        ([-301], "leave_out names 1 rows"),
        ([1.0, 2.0], "leave_out names 2 rows"),
        (["row 3"], "leave_out names 1 rows.*row 3.*X has no index"),
        (np.ones(300, dtype=bool), "n_samples = 0 rows"),
    ],
)
def test_rows_that_are_not_there_cannot_be_left_out(X, names, message):
    with pytest.raises(ValueError, match=message):
        OutlierRobustPCA(3).fit(X, leave_out=names)


@pytest.mark.parametrize(
    ("index", "names"),
    [
        (string_index, ["row 3", "row 300"]),
        (string_index, [3]),
        (reversed_index, [-1]),
        (time_index, ["first"]),
    ],
)
def test_unknown_labels_are_refused(X, index, names):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X).set_axis(index(pd))
    with pytest.raises(ValueError, match=r"leave_out names 1 rows.*labels of the index of X"):
        OutlierRobustPCA(3).fit(frame, leave_out=names)


# Bad input


@pytest.mark.parametrize("n_components", [0, 1.0, -1, "many", 0.0, 2.5, None])
def test_bad_numbers_of_components_are_refused(X, n_components):
    with pytest.raises(ValueError, match="'n_components' parameter of OutlierRobustPCA"):
        OutlierRobustPCA(n_components).fit(X)


def test_more_components_than_the_shape_allows_are_refused(X):
    with pytest.raises(ValueError, match=r"n_components=13 .*min\(n_samples, n_features\) = 12"):
        OutlierRobustPCA(13).fit(X)
    with pytest.raises(ValueError, match=r"n_components=8 .*= 7 for X of 7 rows"):
        OutlierRobustPCA(8).fit(X[:7])
    with pytest.raises(ValueError, match=r"n_components=8 .*= 7 for X of 7 rows"):
        OutlierRobustPCA(8).fit(X, leave_out=np.arange(7, 300))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("trim", 0.5),
        ("trim", -0.1),
        ("trim", "some"),
        ("contamination", 0.0),
        ("contamination", 0.6),
        ("center", 2),
        ("scale", "robust"),
        ("whiten", None),
        ("sample_size", 3),
        ("tol", -1e-9),
        ("max_iter", 0),
        ("random_state", "seed"),
    ],
)
def test_bad_parameters_are_refused_by_name(X, name, value):
    with pytest.raises(ValueError, match=f"'{name}' parameter of OutlierRobustPCA"):
        OutlierRobustPCA(**{name: value}).fit(X)


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_rows_must_be_finite(X, fitted, entry):
    rows = X.copy()
    rows[4, 2] = entry
    for given in (rows, sp.csr_array(rows)):
        for method in (OutlierRobustPCA().fit, fitted.predict, fitted.transform, fitted.score):
            with pytest.raises(ValueError, match="X contains NaN or infinity in 1 of 300 rows"):
                method(given)


def test_one_row_is_too_few(X):
    for fit in (
        lambda: OutlierRobustPCA().fit(X[:1]),
        lambda: OutlierRobustPCA().fit(X, leave_out=np.arange(1, 300)),
    ):
        with pytest.raises(ValueError, match=r"n_samples = 1 row .*needs at least 2"):
            fit()


@pytest.mark.parametrize(
    "method",
    [
        "predict",
        "transform",
        "score",
        "score_samples",
        "decision_function",
        "distances",
        "outlier_types",
        "contributions",
    ],
)
def test_another_number_of_features_is_refused(X, fitted, method):
    for rows in (X[:, :11], np.hstack([X, X]), sp.csr_array(X[:, :11])):
        message = f"X has {rows.shape[1]} features, but OutlierRobustPCA is expecting 12 features"
        with pytest.raises(ValueError, match=message):
            getattr(fitted, method)(rows)


def test_another_number_of_coordinates_is_refused(fitted):
    with pytest.raises(ValueError, match="X has 4 columns, but OutlierRobustPCA found 3"):
        fitted.inverse_transform(np.ones((2, 4)))


# Warnings


def warnings_of(model, rows):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(rows)
    assert all(entry.category is RuntimeWarning for entry in record)
    return record


@pytest.mark.parametrize(("outliers", "noise"), [("isotropic", 0.01), ("cluster", 0.0)])
def test_warns_when_half_of_the_rows_disagree(outliers, noise):
    rows = make_outlier_subspace(500, 20, 3, 0.5, outliers=outliers, noise=noise, random_state=0).X
    messages = [str(entry.message) for entry in warnings_of(OutlierRobustPCA(3), rows)]
    assert any("only 50% of the rows agree" in m and "n_components" in m for m in messages)


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


def test_warns_when_the_iterations_end_too_early(X):
    with pytest.warns(RuntimeWarning, match="still moved by .* in iteration 1.*larger max_iter"):
        model = OutlierRobustPCA(2, max_iter=1).fit(X)
    assert not model.converged_
    assert model.n_iter_ == 1


def test_warns_when_the_automatic_rank_is_at_its_edge():
    rows = np.random.default_rng(0).standard_normal((500, 60))
    model = OutlierRobustPCA()
    messages = [str(entry.message) for entry in warnings_of(model, rows)]
    assert any("no gap" in m and "Give n_components" in m for m in messages)
    assert model.rank_.rule == "edge"
    assert model.n_components_ == model.rank_.rank == 20


def test_does_not_warn_on_planted_rows():
    planted = make_outlier_subspace(500, 20, 3, 0.3, noise=0.01, random_state=0)
    model = OutlierRobustPCA(3)
    assert not warnings_of(model, planted.X)
    assert model.converged_
    assert subspace_error(model.components_.T, planted.basis) < 0.02


def test_warnings_point_at_the_caller(X):
    (entry,) = warnings_of(OutlierRobustPCA(2, max_iter=1), X)
    assert entry.filename == __file__


# How many components


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


# Kinds of rows


def as_dask(X, tmp_path):
    return pytest.importorskip("dask.array").from_array(X, chunks=(70, 12))


def as_tensor(X, tmp_path):
    return pytest.importorskip("torch").asarray(X.copy())


def as_memory_map(X, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    return np.load(tmp_path / "rows.npy", mmap_mode="r")


def as_frame(X, tmp_path):
    return pytest.importorskip("pandas").DataFrame(X)


FORMS = {
    "CSR": lambda X, tmp_path: sp.csr_array(X),
    "CSC": lambda X, tmp_path: sp.csc_array(X),
    "Dask": as_dask,
    "torch": as_tensor,
    "memory map": as_memory_map,
    "pandas": as_frame,
    "list": lambda X, tmp_path: X.tolist(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_kind_of_rows_does_not_matter(X, tmp_path, fitted, form):
    assert_same_on(form(X, tmp_path), OutlierRobustPCA(3), X, fitted)


def test_the_kind_of_rows_does_not_matter_to_scales(X, tmp_path):
    expected = OutlierRobustPCA(3, scale=True).fit(X)
    for form in (sp.csr_array, sp.csc_array, lambda rows: as_dask(rows, tmp_path)):
        assert_same_on(form(X), clone(expected), X, expected)


def assert_same_on(rows, model, X, expected):
    model.fit(rows)
    np.testing.assert_array_equal(np.asarray(model.support_), expected.support_)
    assert subspace_error(np.asarray(model.components_).T, expected.components_.T) < 1e-8
    np.testing.assert_array_equal(model.predict(rows), expected.predict(X))
    np.testing.assert_array_equal(model.outlier_type_, expected.outlier_type_)
    np.testing.assert_allclose(np.asarray(model.transform(rows)), expected.transform(X), atol=1e-8)
    for found, parts in zip(model.contributions(rows), expected.contributions(X), strict=True):
        np.testing.assert_allclose(np.asarray(found), parts, rtol=1e-6, atol=1e-9)
    assert model.score(rows) == pytest.approx(expected.score(X), rel=1e-7)


def test_sparse_rows_with_many_zeros():
    dense = make_outlier_subspace(400, 20, 2, 0.2, noise=0.01, random_state=0).X
    dense = np.where(np.arange(20) < 8, dense, 0.0)
    dense[::7] = 0.0
    model, expected = OutlierRobustPCA(2).fit(sp.csr_array(dense)), OutlierRobustPCA(2).fit(dense)
    np.testing.assert_array_equal(model.support_, expected.support_)
    assert subspace_error(model.components_.T, expected.components_.T) < 1e-8


def test_fit_returns_itself_ignores_y_and_leaves_the_rows_alone(X, fitted):
    rows = X.copy()
    model = OutlierRobustPCA(3)
    assert model.fit(rows, np.ones(300)) is model
    model.predict(rows)
    model.transform(rows)
    model.contributions(rows)
    np.testing.assert_array_equal(rows, X)
    assert_same_fit(model, fitted)
