"""TORP, NoisyTORP and GaussianTORP with options of each kind, and rows to fit."""

import pytest
from sklearn.base import clone

from torpca import TORP, GaussianTORP, NoisyTORP
from torpca.datasets import make_outlier_subspace

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
