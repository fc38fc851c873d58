"""Rows and models to draw, and what was drawn. Without matplotlib, importing this skips."""

import numpy as np
import pytest

from torpca import TORP, GaussianTORP, NoisyTORP, OutlierRobustPCA
from torpca.datasets import make_outlier_subspace
from torpca.plots import (
    CellMapDisplay,
    ContributionsDisplay,
    OutlierMapDisplay,
    ScoresDisplay,
    ScreeDisplay,
)

matplotlib = pytest.importorskip("matplotlib", reason="pictures need matplotlib")
matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")
to_rgb = pytest.importorskip("matplotlib.colors").to_rgb

KINDS = ["regular", "good leverage", "orthogonal", "bad leverage"]
DISPLAYS = [OutlierMapDisplay, ScreeDisplay, ScoresDisplay, ContributionsDisplay, CellMapDisplay]


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def rows():
    """Rows of rank 3 with outliers of all kinds, and one with a known bad feature."""
    made = make_outlier_subspace(400, 8, 3, 0.1, noise=0.02, mean=1.0, random_state=0)
    X = made.X.copy()
    good = np.flatnonzero(~made.outliers)
    centre = X[good].mean(axis=0)
    X[good[:5]] = centre + 8 * (X[good[:5]] - centre)  # far out inside: good leverage
    X[good[5], 4] += 6.0
    X.flags.writeable = False
    return X, int(good[5])


@pytest.fixture(scope="module")
def model(rows):
    return OutlierRobustPCA().fit(rows[0])


@pytest.fixture(scope="module")
def frame(rows):
    pd = pytest.importorskip("pandas")
    X = rows[0]
    columns = [f"feature {j}" for j in range(X.shape[1])]
    return pd.DataFrame(X, columns=columns, index=[f"s{i}" for i in range(len(X))])


@pytest.fixture(scope="module", params=["OutlierRobustPCA", "TORP", "NoisyTORP", "GaussianTORP"])
def any_model(request, rows):
    kinds = {
        "OutlierRobustPCA": OutlierRobustPCA(),
        "TORP": TORP(3, rho=0.15),
        "NoisyTORP": NoisyTORP(3, rho=0.1, eta=50.0),
        "GaussianTORP": GaussianTORP(3, sigma=0.02),
    }
    return kinds[request.param].fit(rows[0])


def drawn(points):
    """All points of the artists, as rows of two numbers."""
    return np.vstack([np.asarray(artist.get_offsets()) for artist in points.values()])


def sorted_rows(array):
    return array[np.lexsort(array.T)]
