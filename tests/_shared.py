"""What more than one test file needs, other than fixtures: options, rows, checks."""

import copy
import pickle
import warnings
from functools import cache

import numpy as np
import pytest
from sklearn.utils import get_tags

from torpca import as_source
from torpca._robust.part import draw_part
from torpca._robust.tuning import tuned
from torpca.datasets import make_outlier_subspace

UNITS = np.linspace(0.5, 3.0, 12)  # so that scaling matters
OPTIONS = {
    "plain": {},
    "scaled": {"scale": True},
    "whitened": {"whiten": True},
    "scaled and whitened": {"scale": True, "whiten": True},
    "not centred": {"center": False, "n_components": 4},  # the mean is a direction too
    "a given share": {"trim": 0.35},
}

each_copy = pytest.mark.parametrize(
    "again", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy]
)


def some(*names):
    return pytest.mark.parametrize("options", [OPTIONS[name] for name in names], ids=names)


def named_frame(library, X):
    """The rows as a data frame of the library, with columns x0, x1 and so on."""
    frames = pytest.importorskip(library)
    return frames.DataFrame({f"x{i}": X[:, i] for i in range(X.shape[1])})


def coinciding_rows():
    """50 rows of zeros but for five, and the numbers of the five."""
    rows, bad = np.zeros((50, 6)), [3, 14, 15, 40, 41]
    rows[bad] = np.random.default_rng(0).standard_normal((5, 6))
    return rows, bad


def types_as_labels(model):
    return np.where(model.outlier_type_ == "regular", 1, -1)


def warnings_of(model, rows):
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always")
        model.fit(rows)
    assert all(entry.category is RuntimeWarning for entry in record)
    return record


def assert_tags_of_a_detector(model, *, allow_nan=False):
    tags = get_tags(model)  # they decide which of scikit-learn's checks are run
    assert tags.estimator_type == "outlier_detector"
    assert tags.input_tags.sparse
    assert tags.input_tags.allow_nan == allow_nan
    assert not tags.target_tags.required
    assert tags.transformer_tags.preserves_dtype == ["float64", "float32"]
    assert not tags.non_deterministic
    assert not tags.no_validation


def assert_same_fit(found, expected):
    # `components_` have signs and an order of their own, so they are compared as they are.
    for name in ("components_", "mean_", "explained_variance_", "explained_variance_ratio_"):
        value = getattr(found, name)
        np.testing.assert_allclose(value, getattr(expected, name), rtol=1e-9, atol=1e-11)
    assert found.noise_variance_ == pytest.approx(expected.noise_variance_, rel=1e-9)
    assert found.offset_ == pytest.approx(expected.offset_, rel=1e-9)
    assert found.cutoffs_ == pytest.approx(expected.cutoffs_, rel=1e-9)


# ---- the part of the rows that a fit learns from -------------------------------------------------


def part_of(X, weights=None, *, center=True, in_span=None):
    """All rows as a part, in an order that is random but always the same."""
    source = as_source(X)
    return draw_part(
        source,
        source.magnitudes(),
        np.ones(len(X)) if weights is None else weights,
        np.random.default_rng(0),
        center=center,
        in_span=in_span,
    )


def small_parts(count=300):
    """A table of twice as many rows is learned from `count` of them, then passed over."""
    return tuned(part_rows=(count, count), part_numbers=1)


# ---- many rows, or long ones ---------------------------------------------------------------------

MANY, LONG = (30_000, 40, 3), (2500, 1100, 3)
# Rows of the family "small" must not hide in the noise, which grows with the number of features.
NOISE = {MANY: 0.01, LONG: 0.001}


@cache
def planted(size, fraction, family="a"):
    made = make_outlier_subspace(
        *size, fraction, outliers=family, noise=NOISE[size], mean=1.0, random_state=1
    )
    made.X.flags.writeable = False
    return made
