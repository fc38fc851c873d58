"""TORP's estimators find what the functions find."""

import numpy as np
import pytest

from tests import _estimators
from torpca import TORP, GaussianTORP, NoisyTORP, torp, torp_bin, torp_g, torp_n

# Fixtures: pytest looks for them by these names.
data = _estimators.data
X = _estimators.X


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
