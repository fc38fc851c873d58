"""One verdict: what a row is depends on the row and the model, and not on how it is asked."""

import numpy as np
import pytest
from scipy import sparse

from torpca import (
    TORP,
    GaussianTORP,
    NoisyTORP,
    OutlierRobustPCA,
    load_model,
    save_model,
    to_onnx,
)

SMALL = pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")


def labels(types):
    return np.where(np.isin(types, ["regular", "unknown"]), 1, -1)


def by_cutoffs(model):
    """Labels as a reader of the attributes would give them."""
    score, orthogonal = model.score_distances_, model.orthogonal_distances_
    limits = model.cutoffs_
    return np.where((score > limits["score"]) | (orthogonal > limits["orthogonal"]), -1, 1)


# ---- random tables ------------------------------------------------------------------------------


def low_rank(rng, n, d):
    r = int(rng.integers(1, min(6, d) + 1))
    return rng.standard_normal((n, r)) @ rng.standard_normal((r, d))


def exact_with_bad_rows(rng, n, d):
    X = low_rank(rng, n, d)
    X[: n // 5] += rng.standard_normal((n // 5, d))
    return X


def far_out_inside(rng, n, d):
    X = low_rank(rng, n, d)
    X[: max(1, n // 10)] *= rng.choice([1e2, 1e4, 1e6])
    return X + rng.choice([0, 1e-12, 0.01]) * rng.standard_normal((n, d))


def repeated(rng, n, d):
    X = low_rank(rng, n, d) + 0.1 * rng.standard_normal((n, d))
    return X[rng.integers(0, max(2, n // int(rng.integers(2, 20))), n)]


def with_bad_rows(rng, n, d):
    X = low_rank(rng, n, d) + 0.1 * rng.standard_normal((n, d))
    X[: n // 5] = 10 * rng.standard_normal((n // 5, d))
    return X


KINDS = {
    "Gaussian": lambda rng, n, d: low_rank(rng, n, d) + rng.standard_normal((n, d)),
    "nearly exact": lambda rng, n, d: low_rank(rng, n, d) + 1e-9 * rng.standard_normal((n, d)),
    "exact": exact_with_bad_rows,
    "far out inside": far_out_inside,
    "bad rows": with_bad_rows,
    "one-hot": lambda rng, n, d: np.eye(d)[rng.integers(0, d, n)],
    "repeated": repeated,
    "0/1": lambda rng, n, d: (rng.random((n, d)) < rng.choice([0.1, 0.5])).astype(float),
    "counts": lambda rng, n, d: rng.poisson(rng.choice([0.5, 5.0]), (n, d)).astype(float),
    "answers": lambda rng, n, d: np.clip(np.rint(3 + low_rank(rng, n, d)), 1, 5),
    "lattice": lambda rng, n, d: rng.integers(0, 3, (n, 2)) @ rng.integers(-2, 3.0, (2, d)),
    "units": lambda rng, n, d: with_bad_rows(rng, n, d) * 10.0 ** rng.integers(-4, 5, d),
}


def options(rng, n, d):
    given = {
        "contamination": float(rng.choice([0.05, 0.1, 0.3])),
        "n_components": int(rng.integers(1, min(n, d, 6) + 1)),
        "center": False,
        "scale": True,
        "trim": float(rng.choice([0.0, 0.2])),
        "cells": True,
    }
    chances = (0.3, 0.3, 0.15, 0.2, 0.1, 0.1)
    taken = dict(zip(given, chances, strict=True))
    return {name: value for name, value in given.items() if rng.random() < taken[name]}


def differences(kind, seed):
    """In what the labels of one random table differ, by the way they are asked for."""
    rng = np.random.default_rng([seed, list(KINDS).index(kind)])
    n = int(rng.integers(8, 300))
    d = int(rng.integers(1, 25)) if rng.random() < 0.85 else int(rng.integers(50, 250))
    X = KINDS[kind](rng, n, d) + rng.choice([0.0, 0.0, 1.0, 1e5])
    X = X * rng.choice([1.0, 1.0, 1.0, 1e-8, 1e-115])
    given, fit = options(rng, n, d), {}
    if rng.random() < 0.25:
        fit["sample_weight"] = rng.integers(0, 4, n) + rng.choice([0.0, 0.5]) + (np.arange(n) < 3)
    if rng.random() < 0.15:
        X = X.astype(np.float32)
    if kind in ("Gaussian", "bad rows") and d > 3 and rng.random() < 0.3:
        X[rng.random(X.shape) < 0.1] = np.nan
    dense = np.isnan(X).any() or "cells" in given or rng.random() < 0.85
    rows = X if dense else sparse.csr_array(X)
    model = OutlierRobustPCA(**given).fit(rows, **fit)
    types = model.outlier_type_
    expected = labels(types)
    order = rng.permutation(n)
    found = {
        "outlier_types": (model.outlier_types(rows), types),
        "predict": (model.predict(rows), expected),
        "decision_function": (np.where(model.decision_function(rows) < 0, -1, 1), expected),
        "other order": (model.predict(rows[order]), expected[order]),
        "single rows": (
            np.concatenate([model.predict(rows[i : i + 1]) for i in order[:4]]),
            expected[order[:4]],
        ),
        "fit_predict": (
            expected if fit else OutlierRobustPCA(**given).fit_predict(rows),
            expected,
        ),
    }
    if given.get("contamination") is None:
        found["cutoffs_"] = by_cutoffs(model), expected
    return [name for name, (ours, theirs) in found.items() if np.any(ours != theirs)]


@SMALL
@pytest.mark.parametrize("kind", KINDS)
def test_labels_do_not_depend_on_how_they_are_asked_for(kind):
    assert {seed: found for seed in range(6) if (found := differences(kind, seed))} == {}


@SMALL
@pytest.mark.study
@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_two_thousand_tables(kind):
    assert {seed: found for seed in range(6, 174) if (found := differences(kind, seed))} == {}


# ---- the same table, asked in other ways --------------------------------------------------------


def clean(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    X[:, :3] *= 10
    return X + 5


@SMALL
@pytest.mark.parametrize("shape", [(30, 5), (30, 100), (200, 20), (12_000, 6)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0.0, 1e5])
@pytest.mark.parametrize("contamination", ["auto", 0.1])
def test_files_and_graphs_say_the_same(shape, dtype, shift, contamination, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    X = (clean(*shape) + shift).astype(dtype)
    X[:2] += 40
    model = OutlierRobustPCA(3, contamination=contamination).fit(X)
    types = model.outlier_type_
    assert (types != "regular")[:2].all()
    again = load_model(save_model(model, tmp_path / "model.npz"))
    later = (clean(300, shape[1], seed=1) + shift).astype(dtype)
    for rows in (X, X[::-1], X[:5], later):
        np.testing.assert_array_equal(again.outlier_types(rows), model.outlier_types(rows))
        np.testing.assert_array_equal(again.score_samples(rows), model.score_samples(rows))
    session = runtime.InferenceSession(to_onnx(model).SerializeToString())
    assert (session.run(["label"], {"X": X.astype(np.float64)})[0] == labels(types)).all()
    if contamination == "auto":
        np.testing.assert_array_equal(by_cutoffs(model), labels(types))


@pytest.mark.parametrize("kind", [TORP, NoisyTORP, GaussianTORP])
@pytest.mark.parametrize("contamination", ["auto", 0.1])
def test_the_algorithms_of_the_paper(kind, contamination):
    X = np.round(clean(200, 8))
    X[:20] += 50
    model = kind(3, contamination=contamination).fit(X)
    np.testing.assert_array_equal(model.outlier_types(X), model.outlier_type_)
    np.testing.assert_array_equal(model.predict(X[::-1]), labels(model.outlier_type_)[::-1])


@SMALL
@pytest.mark.parametrize("contamination", [0.05, 0.25, 0.5])
def test_equal_rows_have_equal_labels(contamination):
    rng = np.random.default_rng(0)
    few = rng.standard_normal((17, 5)) * [5, 3, 1, 1, 1]
    which = rng.integers(0, 17, 400)
    model = OutlierRobustPCA(2, contamination=contamination).fit(few[which])
    types = model.outlier_type_
    assert all(len(set(types[which == i])) == 1 for i in range(17))
    np.testing.assert_array_equal(
        model.outlier_types(few), [types[which == i][0] for i in range(17)]
    )
    # Never more than were asked for: rows on the limit are within it.
    assert np.mean(types != "regular") <= contamination


@SMALL
def test_a_row_without_weight_is_judged_like_any_other():
    X = clean(60, 20)
    model = OutlierRobustPCA(3).fit(X, leave_out=np.arange(30))
    np.testing.assert_array_equal(by_cutoffs(model), model.predict(X))
    np.testing.assert_array_equal(OutlierRobustPCA(3).fit(X[30:]).predict(X), model.predict(X))


def test_rounding_is_no_distance():
    # Rows without noise, some far out inside the subspace, where rounding is a million times as
    # large: they are good leverage rows, whether they were in the fit or not.
    rng = np.random.default_rng(0)
    V = np.linalg.qr(rng.standard_normal((20, 2)))[0]
    Y = rng.standard_normal((300, 2)) * [2, 1]
    Y[:10] *= 1e6
    X = Y @ V.T + 3
    model = OutlierRobustPCA().fit(X)
    assert model.outlier_type_[:10].tolist() == ["good leverage"] * 10
    new = 1e5 * rng.standard_normal((50, 2)) @ V.T + 3
    assert set(model.outlier_types(new)) == {"good leverage"}
    assert set(model.outlier_types(new + 1e-3 * rng.standard_normal(20))) == {"bad leverage"}
