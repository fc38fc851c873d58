"""The estimators: scikit-learn's own checks, and what the attributes and methods claim."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from tests._shared import assert_tags_of_a_detector, coinciding_rows, each_copy, named_frame
from torpca import TORP, GaussianTORP, NoisyTORP, torp, torp_bin, torp_g, torp_n
from torpca.datasets import make_outlier_subspace
from torpca.metrics import subspace_error

MODELS = {
    "TORP": TORP(3, rho=0.06),
    "TORP, grid": TORP(3),
    "NoisyTORP, binary": NoisyTORP(3, rho=0.05, mu=2.5),
    "NoisyTORP, linear": NoisyTORP(3, search="linear", rho=0.05, mu=2.5),
    "GaussianTORP": GaussianTORP(3, mu=2.0, sigma=0.02),
    "TORP, not centred": TORP(3, rho=0.06, center=False),
}
each = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS, indirect=True)
each_kind = pytest.mark.parametrize("kind", [TORP, NoisyTORP, GaussianTORP])


@pytest.fixture
def model(request):
    return clone(request.param)


@pytest.fixture(scope="module")
def data():
    return make_outlier_subspace(
        300, 12, 3, 0.05, outliers="mixed", noise=0.02, mean=0.5, random_state=0
    )


@pytest.fixture(scope="module")
def X(data):
    data.X.flags.writeable = False
    return data.X


@parametrize_with_checks(
    [
        TORP(),
        NoisyTORP(),
        NoisyTORP(search="linear"),
        GaussianTORP(),
        TORP(contamination=0.1),
        TORP(center=False),
        TORP(rho=0.1),
        GaussianTORP(mu=2.0, sigma=0.1, contamination=0.1),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@each_kind
def test_tags(kind):
    assert_tags_of_a_detector(kind())


# The same as the functions


@pytest.mark.parametrize("center", [False, True])
@pytest.mark.parametrize(
    ("kind", "function", "options"),
    [
        (TORP, torp, {"rho": 0.06, "tol": 1e-6, "max_iter": 3}),
        (TORP, torp, {"mu": 1.5}),
        (TORP, torp, {}),
        (NoisyTORP, torp_bin, {"rho": 0.05, "eta": 0.3, "max_iter": 4}),
        (NoisyTORP, torp_bin, {}),
        (GaussianTORP, torp_g, {"mu": 2.0, "sigma": 0.02, "max_iter": 2}),
        (GaussianTORP, torp_g, {}),
    ],
)
def test_agrees_with_the_function(X, kind, function, options, center):
    seen = []
    fitted = kind(3, center=center, callback=seen.append, **options).fit(X)
    found = function(X, 3, center=center, **options)
    np.testing.assert_array_equal(fitted.components_, found.components)
    np.testing.assert_array_equal(fitted.singular_values_, found.singular_values)
    np.testing.assert_array_equal(fitted.support_, found.support)
    np.testing.assert_array_equal(fitted.mean_, found.mean if center else np.zeros(12))
    assert fitted.history_ == found.history == tuple(seen)
    assert fitted.n_iter_ == found.n_iter
    assert fitted.converged_ == found.converged
    assert fitted.parameters_ == found.parameters
    assert fitted.grid_ == found.grid
    assert fitted.n_components_ == len(found.components)


def test_noisy_torp_searches_as_told(X):
    options = {"rho": 0.05, "mu": 2.5}
    for search, function in (("binary", torp_bin), ("linear", torp_n)):
        fitted = NoisyTORP(3, search=search, **options).fit(X)
        assert fitted.ranks_tried_ == function(X, 3, center=True, **options).ranks_tried
        assert fitted.ranks_tried_ == ((2, 3) if search == "binary" else (1, 2, 3))


# The same as PCA, on the rows that were kept


@each
def test_is_pca_of_the_kept_rows(X, model):
    model.fit(X)
    kept = X[model.support_]
    if not model.center:
        kept = np.vstack([kept, -kept])  # PCA always centres: give it a mean of zero
    pca = PCA(3, svd_solver="full").fit(kept)
    overlap = np.abs(np.sum(model.components_ * pca.components_, axis=1))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-12)
    np.testing.assert_allclose(model.mean_, pca.mean_, atol=1e-14)
    ratio = pca.explained_variance_ratio_
    np.testing.assert_allclose(model.explained_variance_ratio_, ratio, rtol=1e-10)
    if model.center:
        np.testing.assert_allclose(model.singular_values_, pca.singular_values_, rtol=1e-12)
        np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=1e-12)
        assert model.noise_variance_ == pytest.approx(pca.noise_variance_, rel=1e-10)
        np.testing.assert_allclose(model.get_covariance(), pca.get_covariance(), atol=1e-13)
        np.testing.assert_allclose(
            np.abs(model.transform(X)), np.abs(pca.transform(X)), rtol=1e-9, atol=1e-11
        )
    else:
        variance = model.singular_values_**2 / model.support_.sum()
        np.testing.assert_allclose(model.explained_variance_, variance, rtol=1e-14)


def test_is_pca_of_the_kept_rows_when_features_are_many():
    X = make_outlier_subspace(40, 60, 2, 0.05, noise=0.1, random_state=0).X
    model = TORP(2, rho=0.1).fit(X)
    pca = PCA(2, svd_solver="full").fit(X[model.support_])
    np.testing.assert_allclose(model.explained_variance_, pca.explained_variance_, rtol=1e-12)
    assert model.noise_variance_ == pytest.approx(pca.noise_variance_, rel=1e-10)
    np.testing.assert_allclose(model.get_covariance(), pca.get_covariance(), atol=1e-13)


@each
def test_is_close_to_pca_on_clean_data(model):
    clean = make_outlier_subspace(1000, 12, 3, 0.0, noise=0.02, random_state=1)
    pca = PCA(3).fit(clean.X)
    model.fit(clean.X)
    assert subspace_error(model.components_.T, pca.components_.T) < 0.02
    overlap = np.abs(np.sum(model.components_ * pca.components_, axis=1))
    np.testing.assert_allclose(overlap, 1.0, atol=0.02)
    np.testing.assert_allclose(model.mean_, pca.mean_, atol=0.1)
    # Rows that are far out along the subspace are left out, so variances are smaller.
    shrunk = model.explained_variance_ / pca.explained_variance_
    assert np.all((shrunk > 0.6) & (shrunk < 1.05))


# Attributes


@each
def test_attributes(X, model):
    model.fit(X)
    shapes = {
        "components_": (3, 12),
        "mean_": (12,),
        "explained_variance_": (3,),
        "explained_variance_ratio_": (3,),
        "singular_values_": (3,),
        "support_": (300,),
        "score_distances_": (300,),
        "orthogonal_distances_": (300,),
    }
    for name, shape in shapes.items():
        value = getattr(model, name)
        assert isinstance(value, np.ndarray), name
        assert value.shape == shape, name
        assert value.dtype == (bool if name == "support_" else float), name
    assert model.n_components_ == 3
    assert model.n_features_in_ == 12
    assert model.n_samples_ == 300
    assert isinstance(model.noise_variance_, float)
    assert isinstance(model.offset_, float)
    assert set(model.cutoffs_) == {"score", "orthogonal"}
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-13)
    assert np.all(np.diff(model.singular_values_) <= 0)
    assert 0 < model.explained_variance_ratio_.sum() <= 1
    assert not hasattr(model, "feature_names_in_")


def test_fewer_components_than_asked_for():
    X = make_outlier_subspace(100, 8, 2, 0.0, random_state=0).X
    model = TORP(5, rho=0.05, center=False).fit(X)
    assert model.n_components_ == 2
    assert model.transform(X).shape == (100, 2)
    assert list(model.get_feature_names_out()) == ["torp0", "torp1"]
    assert model.noise_variance_ == pytest.approx(0.0, abs=1e-25)
    # Rows in the subspace are not beside it, however little rounding leaves of the limit.
    assert np.all(model.orthogonal_distances_ <= model.cutoffs_["orthogonal"])
    assert (model.predict(X)[model.score_distances_ <= model.cutoffs_["score"]] == 1).all()


def test_no_component_at_all(X):
    model = NoisyTORP(3, rho=0.05, eta=0.0).fit(X)
    assert model.n_components_ == 0
    assert model.components_.shape == (0, 12)
    assert model.transform(X).shape == (300, 0)
    assert not model.converged_
    np.testing.assert_array_equal(model.inverse_transform(model.transform(X)), [model.mean_] * 300)
    np.testing.assert_allclose(model.get_covariance(), model.noise_variance_ * np.eye(12))
    distances = np.linalg.norm(X - model.mean_, axis=1)
    np.testing.assert_allclose(model.orthogonal_distances_, distances)


def test_fitting_again_forgets(X):
    model = TORP(3, rho=0.06, contamination=0.1).fit(X)
    model.set_params(n_components=2, contamination="auto").fit(X[:200, :5])
    fresh = TORP(2, rho=0.06).fit(X[:200, :5])
    assert model.n_features_in_ == 5
    assert model.offset_ == -1.0
    np.testing.assert_array_equal(model.components_, fresh.components_)
    np.testing.assert_array_equal(model.score_samples(X[:, :5]), fresh.score_samples(X[:, :5]))


# Distances and labels


@each
def test_distances_follow_their_definitions(X, model):
    model.fit(X)
    rows = X - model.mean_
    Z = rows @ model.components_.T
    score = np.linalg.norm(Z / np.sqrt(model.explained_variance_), axis=1)
    orthogonal = np.linalg.norm(rows - Z @ model.components_, axis=1)
    np.testing.assert_allclose(model.score_distances_, score, rtol=1e-11)
    np.testing.assert_allclose(model.orthogonal_distances_, orthogonal, rtol=1e-9, atol=1e-13)
    kept = model.support_
    limits = model.cutoffs_["score"], model.cutoffs_["orthogonal"]
    if isinstance(model, GaussianTORP):
        expected = np.quantile(score[kept], 0.975), np.quantile(orthogonal[kept], 0.975)
    else:
        expected = score[kept].max(), orthogonal[kept].max()
    np.testing.assert_allclose(limits, expected, rtol=1e-8)
    scores = -np.maximum(score / limits[0], orthogonal / limits[1])
    np.testing.assert_allclose(model.score_samples(X), scores, rtol=1e-9)


@pytest.mark.parametrize("contamination", ["auto", 0.1])
@each
def test_labels_scores_and_offset_belong_together(X, data, model, contamination):
    model.set_params(contamination=contamination).fit(X)
    scores = model.score_samples(X)
    assert scores.shape == (300,)
    np.testing.assert_array_equal(model.decision_function(X), scores - model.offset_)
    labels = model.predict(X)
    np.testing.assert_array_equal(labels, np.where(scores < model.offset_, -1, 1))
    np.testing.assert_array_equal(labels, clone(model).fit_predict(X))
    single = np.array([model.predict(X[i : i + 1])[0] for i in range(0, 300, 7)])
    np.testing.assert_array_equal(single, labels[::7])  # a row's label is its own
    if contamination == "auto":
        assert model.offset_ == -1.0
        if not isinstance(model, GaussianTORP):
            assert (labels[model.support_] == 1).all()
    # Long rows are outliers whatever the rest is.
    length = np.linalg.norm(X - np.median(X, axis=0), axis=1)
    assert (labels[length > 50] == -1).all()


@each
@pytest.mark.parametrize("contamination", [0.05, 0.1, 0.25, 0.5])
def test_contamination_labels_that_share_and_leaves_the_fit_alone(X, model, contamination):
    plain = clone(model).fit(X)
    model.set_params(contamination=contamination).fit(X)
    assert np.count_nonzero(model.predict(X) == -1) == pytest.approx(contamination * 300, abs=1)
    for name in ("components_", "mean_", "support_", "singular_values_", "score_distances_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(plain, name))
    assert model.cutoffs_ == plain.cutoffs_
    np.testing.assert_array_equal(model.score_samples(X), plain.score_samples(X))


@each
def test_contamination_is_a_share_of_rows_even_when_good_rows_coincide(model):
    X, bad = coinciding_rows()
    model.set_params(n_components=1, contamination=0.1).fit(X)
    assert np.isfinite(model.score_samples(X)).all()
    assert np.flatnonzero(model.predict(X) == -1).tolist() == bad


@each
@pytest.mark.parametrize("where", ["beside the subspace", "far out in the subspace"])
def test_a_planted_outlier_ranks_first(model, where):
    clean = make_outlier_subspace(300, 12, 3, 0.0, noise=0.02, random_state=2)
    rows, V = clean.X.copy(), clean.basis
    u = np.random.default_rng(3).standard_normal(12)
    if where == "beside the subspace":
        rows[77] = u - V @ (V.T @ u)
    else:
        rows[77] = V @ [0.0, 0.0, 8.0]
    model.fit(rows)
    assert model.score_samples(rows).argmin() == 77
    assert model.predict(rows)[77] == -1
    new = np.vstack([clean.X[:50], 3 * rows[77:78]])
    assert model.score_samples(new).argmin() == 50


@each
@pytest.mark.parametrize("size", [1e160, -1e300])
def test_an_enormous_row_does_not_overflow(model, size):
    clean = make_outlier_subspace(300, 12, 3, 0.0, noise=0.02, random_state=4)
    rows = clean.X.copy()
    rows[9] = size * np.linspace(0.5, 1, 12)
    model.fit(rows)
    assert not model.support_[9]
    assert subspace_error(model.components_.T, clean.basis) < 0.05
    assert model.score_samples(rows).argmin() == 9
    assert model.predict(rows)[9] == -1
    assert np.isfinite(model.explained_variance_).all()
    assert np.isfinite(model.score_samples(rows)).all()
    length = np.linalg.norm(rows[9] / size) * abs(size)
    assert 0.5 < model.orthogonal_distances_[9] / length < 1


@each
@pytest.mark.parametrize("contamination", ["auto", 0.01])
def test_rows_whose_ratio_no_float_can_hold(model, contamination):
    rows = 1e-160 * make_outlier_subspace(300, 12, 3, 0.0, noise=0.02, random_state=4).X
    rows[9] = 1e160 * np.linspace(0.5, 1, 12)
    if isinstance(model, GaussianTORP):
        model.set_params(sigma=0.02e-160)
    model.set_params(contamination=contamination).fit(rows)
    assert not model.support_[9]
    scores = model.score_samples(rows)
    assert np.isfinite(scores).all()
    assert scores.argmin() == 9
    assert model.predict(rows)[9] == -1
    assert np.isfinite(model.decision_function(rows)).all()


@each_kind
@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_units_do_not_matter_to_labels(X, kind, size):
    expected, found = kind(3).fit(X), kind(3).fit(X * size)
    np.testing.assert_allclose(found.score_samples(X * size), expected.score_samples(X), rtol=1e-9)
    np.testing.assert_array_equal(found.predict(X * size), expected.predict(X))
    variance = expected.explained_variance_ * size * size
    np.testing.assert_allclose(found.explained_variance_, variance, rtol=1e-9)


# Coordinates


@each
def test_transform_and_back(X, model):
    Z = model.fit(X).transform(X)
    np.testing.assert_allclose(Z, (X - model.mean_) @ model.components_.T, atol=1e-12)
    np.testing.assert_array_equal(clone(model).fit_transform(X), Z)
    back = model.inverse_transform(Z)
    np.testing.assert_allclose(model.transform(back), Z, atol=1e-11)
    in_subspace = model.mean_ + np.random.default_rng(0).standard_normal((5, 3)) @ model.components_
    again = model.inverse_transform(model.transform(in_subspace))
    np.testing.assert_allclose(again, in_subspace, atol=1e-13)
    lost = np.linalg.norm(X - back, axis=1)
    np.testing.assert_allclose(lost, model.orthogonal_distances_, rtol=1e-8, atol=1e-12)


def test_coordinates_may_come_as_a_list(X):
    model = TORP(3).fit(X)
    np.testing.assert_allclose(model.inverse_transform([[0, 0, 0]]), [model.mean_])
    np.testing.assert_allclose(model.transform([list(model.mean_)]), np.zeros((1, 3)), atol=1e-15)


@each
def test_covariance(X, model):
    C = model.fit(X).get_covariance()
    assert C.shape == (12, 12)
    np.testing.assert_allclose(C, C.T, atol=1e-15)
    theta, W = np.linalg.eigh(C)
    np.testing.assert_allclose(theta[::-1][:3], model.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(theta[:9], model.noise_variance_, rtol=1e-6)
    assert subspace_error(W[:, -3:], model.components_.T) < 1e-10


# Names and containers


@each_kind
def test_names_of_features_out(X, kind):
    names = kind(2).fit(X).get_feature_names_out()
    assert list(names) == [f"{kind.__name__.lower()}{i}" for i in range(2)]


@pytest.mark.parametrize("library", ["pandas", "polars"])
@each_kind
def test_data_frames_in_and_out(X, kind, library):
    frame = named_frame(library, X)
    names = list(frame.columns)
    plain = kind(2).fit(X)
    model = kind(2).set_output(transform=library)
    Z = model.fit_transform(frame)
    assert isinstance(Z, type(frame))
    assert list(Z.columns) == list(model.get_feature_names_out())
    np.testing.assert_array_equal(np.asarray(Z), plain.transform(X))
    np.testing.assert_array_equal(model.feature_names_in_, names)
    np.testing.assert_array_equal(model.predict(frame), plain.predict(X))
    back = np.asarray(model.inverse_transform(Z))
    np.testing.assert_allclose(back, plain.inverse_transform(plain.transform(X)), atol=1e-14)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[names[::-1]])


@each
def test_float32_in_float32_out(X, model):
    single = X.astype(np.float32)
    double = clone(model).fit(single.astype(np.float64))
    model.fit(single)
    for name in (
        "components_",
        "mean_",
        "singular_values_",
        "explained_variance_",
        "explained_variance_ratio_",
        "score_distances_",
        "orthogonal_distances_",
    ):
        value = getattr(model, name)
        assert value.dtype == np.float32, name
        # Found in double precision, rounded at the end.
        np.testing.assert_allclose(value, getattr(double, name), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(model.support_, double.support_)
    assert model.transform(single).dtype == np.float32
    assert model.transform(X).dtype == np.float64
    assert model.inverse_transform(model.transform(single)).dtype == np.float32
    np.testing.assert_array_equal(model.predict(single), double.predict(single))


def test_integers_and_lists_are_taken_as_float64(X):
    rows = np.round(100 * X).astype(np.int64)
    expected = TORP(3).fit(rows.astype(float))
    for given in (rows, rows.tolist(), rows.astype(object)):
        model = TORP(3).fit(given)
        assert model.components_.dtype == np.float64
        np.testing.assert_array_equal(model.components_, expected.components_)
        np.testing.assert_array_equal(model.predict(given), expected.predict(rows))


def assert_same_model(model, expected, X, dense):
    def numpy(value):
        return np.asarray(value)

    np.testing.assert_array_equal(numpy(model.support_), expected.support_)
    np.testing.assert_allclose(numpy(model.components_), expected.components_, atol=1e-9)
    np.testing.assert_allclose(numpy(model.mean_), expected.mean_, atol=1e-12)
    variance = expected.explained_variance_
    np.testing.assert_allclose(numpy(model.explained_variance_), variance, rtol=1e-10)
    np.testing.assert_allclose(numpy(model.transform(X)), expected.transform(dense), atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), expected.predict(dense))
    np.testing.assert_allclose(model.score_samples(X), expected.score_samples(dense), rtol=1e-7)
    assert model.noise_variance_ == pytest.approx(expected.noise_variance_, rel=1e-8)


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array", "csr_matrix"])
@each
def test_sparse(X, model, form):
    dense = np.where(np.abs(X) > 0.3, X, 0.0)
    expected = clone(model).fit(dense)
    rows = getattr(sp, form)(dense)
    model.fit(rows)
    assert_same_model(model, expected, rows, dense)
    assert isinstance(model.components_, np.ndarray)
    assert isinstance(model.transform(rows), np.ndarray)


@each
def test_dask(X, model):
    da = pytest.importorskip("dask.array")
    expected = clone(model).fit(X)
    rows = da.from_array(X, chunks=(70, 12))
    model.fit(rows)
    assert_same_model(model, expected, rows, X)
    assert isinstance(model.components_, np.ndarray)
    assert isinstance(model.transform(rows), np.ndarray)


FEW = ("TORP", "NoisyTORP, binary", "GaussianTORP", "TORP, not centred")


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("model", [MODELS[name] for name in FEW], ids=FEW, indirect=True)
def test_other_array_libraries(X, model, library):
    xp = pytest.importorskip(library)
    expected = clone(model).fit(X)
    rows = xp.asarray(X.copy())
    model.fit(rows)
    assert_same_model(model, expected, rows, X)
    kind = type(rows)
    assert isinstance(model.components_, kind)
    assert isinstance(model.mean_, kind)
    assert isinstance(model.explained_variance_, kind)
    assert isinstance(model.support_, kind)
    assert isinstance(model.transform(rows), kind)
    assert isinstance(model.inverse_transform(model.transform(rows)), kind)
    assert isinstance(model.predict(rows), np.ndarray)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_single_precision_of_other_array_libraries(X, library):
    xp = pytest.importorskip(library)
    rows = xp.asarray(X.astype(np.float32))
    model = TORP(3, rho=0.06).fit(rows)
    assert model.components_.dtype == xp.float32
    assert model.explained_variance_.dtype == xp.float32
    assert model.transform(rows).dtype == xp.float32
    assert model.inverse_transform(model.transform(rows)).dtype == xp.float32
    expected = TORP(3, rho=0.06).fit(X.astype(np.float32))
    np.testing.assert_array_equal(np.asarray(model.support_), expected.support_)


def test_fitted_in_one_library_used_in_another(X):
    torch = pytest.importorskip("torch")
    rows = torch.asarray(X.copy())
    on_numpy, on_torch = TORP(3, rho=0.06).fit(X), TORP(3, rho=0.06).fit(rows)
    expected = on_numpy.inverse_transform(on_numpy.transform(X))
    for model in (on_numpy, on_torch):
        assert isinstance(model.transform(X), np.ndarray)
        assert isinstance(model.transform(rows), torch.Tensor)
        back = model.inverse_transform(model.transform(X))
        assert isinstance(back, np.ndarray)
        np.testing.assert_allclose(back, expected, atol=1e-12)
        back = model.inverse_transform(model.transform(rows))
        assert isinstance(back, torch.Tensor)
        np.testing.assert_allclose(back.numpy(), expected, atol=1e-12)


# Life cycle


@each_copy
@each
def test_copies_are_whole(X, model, again):
    model.fit(X)
    other = again(model)
    assert other is not model
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    np.testing.assert_array_equal(other.transform(X), model.transform(X))
    assert other.history_ == model.history_
    assert other.get_params() == model.get_params()


def test_copies_of_a_model_fitted_on_torch(X):
    torch = pytest.importorskip("torch")
    rows = torch.asarray(X.copy())
    model = TORP(3, rho=0.06).fit(rows)
    for other in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert torch.equal(other.transform(rows), model.transform(rows))


@each_kind
def test_clones_are_not_fitted_and_keep_every_parameter(X, kind):
    parameters = {
        "n_components": 3,
        "mu": 1.7,
        "center": False,
        "contamination": 0.2,
        "max_iter": 7,
        "callback": print,
    }
    model = kind(**parameters)
    other = clone(model)
    assert other.get_params() == model.get_params()
    assert parameters.items() <= other.get_params().items()
    with pytest.raises(NotFittedError):
        clone(model.set_params(callback=None).fit(X)).predict(X)


def test_parameters_are_kept_as_given_and_can_be_set(X):
    model = NoisyTORP(5, search="linear", rho=0.1, eta=0.3, tol=1e-3)
    assert model.set_params(n_components=2, search="binary", eta=None) is model
    assert model.get_params()["n_components"] == 2
    assert model.get_params()["rho"] == 0.1
    model.fit(X)
    assert model.n_components == 2  # fit changes no parameter
    assert model.eta is None
    with pytest.raises(ValueError, match="Invalid parameter 'trim'"):
        model.set_params(trim=0.1)


@each
def test_fit_returns_itself_ignores_y_and_leaves_the_rows_alone(X, model):
    rows = X.copy()
    before = rows.tobytes()
    assert model.fit(rows, y=np.ones(300)) is model
    components = model.components_.copy()
    model.predict(rows)
    model.transform(rows)
    assert rows.tobytes() == before
    np.testing.assert_array_equal(clone(model).fit(rows).components_, components)
    sparse = sp.csr_array(np.where(np.abs(X) > 0.3, X, 0.0))
    parts = [part.copy() for part in (sparse.data, sparse.indices, sparse.indptr)]
    model.fit(sparse).predict(sparse)
    for part, now in zip(parts, (sparse.data, sparse.indices, sparse.indptr), strict=True):
        np.testing.assert_array_equal(part, now)


METHODS = ("predict", "score_samples", "decision_function", "transform")


@each_kind
def test_another_number_of_features_is_refused(X, kind):
    model = kind(2).fit(X)
    for rows in (X[:, :11], np.hstack([X, X]), sp.csr_array(X[:, :11])):
        for method in METHODS:
            message = f"X has {rows.shape[1]} features.*{kind.__name__} is expecting 12 features"
            with pytest.raises(ValueError, match=message):
                getattr(model, method)(rows)


@each_kind
def test_nothing_works_before_fit(X, kind):
    model = kind(2)
    for method in (*METHODS, "inverse_transform"):
        with pytest.raises(NotFittedError, match=f"{kind.__name__} instance is not fitted"):
            getattr(model, method)(X)
    for method in ("get_covariance", "get_feature_names_out"):
        with pytest.raises(NotFittedError, match=f"{kind.__name__} instance is not fitted"):
            getattr(model, method)()


# In company


@each
def test_in_pipelines(X, data, model):
    detector = make_pipeline(StandardScaler(), clone(model))
    labels = detector.fit(X).predict(X)
    scaled = StandardScaler().fit_transform(X)
    np.testing.assert_array_equal(labels, clone(model).fit(scaled).predict(scaled))
    np.testing.assert_array_equal(detector.decision_function(X) < 0, labels == -1)
    assert detector.transform(X).shape == (300, 3)
    y = (X - X.mean(axis=0)) @ data.basis[:, 0] > 0
    classifier = make_pipeline(clone(model), LogisticRegression()).fit(X, y)
    assert classifier.score(X, y) > 0.85


def typical_log_density(model, X, y=None):
    """Median log-density of rows under the model's normal distribution, up to a constant."""
    covariance, rows = model.get_covariance(), X - model.mean_
    distances = np.sum(rows * np.linalg.solve(covariance, rows.T).T, axis=1)
    return -0.5 * (np.median(distances) + np.linalg.slogdet(covariance)[1])


@each_kind
def test_number_of_components_by_grid_search(X, kind):
    grid = {"n_components": [1, 2, 3, 8]}
    search = GridSearchCV(kind(), grid, scoring=typical_log_density, cv=3, error_score="raise")
    search.fit(X)
    assert search.best_params_ == {"n_components": 3}
    assert search.predict(X).shape == (300,)
