"""What a user's type checker makes of torpca; read by mypy in test_typing.py, never run."""

from typing import Any, assert_type

import numpy as np
import numpy.typing as npt

from torpca import (
    TORP,
    GaussianTORP,
    Iteration,
    NoisyTORP,
    OutlierRobustPCA,
    RobustSubspace,
    torp,
    torp_bin,
    torp_g,
    torp_n,
)

Array = npt.NDArray[Any]
X: npt.NDArray[np.float64] = np.zeros((30, 4))

# ---- every estimator -----------------------------------------------------------------------------

assert_type(OutlierRobustPCA(2).fit(X), OutlierRobustPCA)
assert_type(OutlierRobustPCA(2).fit(X, leave_out=[1]), OutlierRobustPCA)
assert_type(TORP(2).fit(X), TORP)
assert_type(NoisyTORP(2).fit(X), NoisyTORP)
assert_type(GaussianTORP(2).fit(X), GaussianTORP)

for model in (OutlierRobustPCA(2).fit(X), TORP(2).fit(X), NoisyTORP(2).fit(X)):
    assert_type(model.components_, Array)
    assert_type(model.converged_, bool)

fitted = GaussianTORP(2).fit(X)
assert_type(fitted.components_, Array)
assert_type(fitted.mean_, Array)
assert_type(fitted.explained_variance_, Array)
assert_type(fitted.explained_variance_ratio_, Array)
assert_type(fitted.singular_values_, Array)
assert_type(fitted.noise_variance_, float)
assert_type(fitted.n_components_, int)
assert_type(fitted.n_samples_, int)
assert_type(fitted.n_features_in_, int)
assert_type(fitted.feature_names_in_, npt.NDArray[np.object_])
assert_type(fitted.support_, npt.NDArray[np.bool_])
assert_type(fitted.score_distances_, Array)
assert_type(fitted.orthogonal_distances_, Array)
assert_type(fitted.cutoffs_, dict[str, float])
assert_type(fitted.offset_, float)
assert_type(fitted.outlier_type_, npt.NDArray[np.str_])
assert_type(fitted.history_, tuple[Iteration, ...])
assert_type(fitted.n_iter_, int)
assert_type(fitted.converged_, bool)
assert_type(fitted.transform(X), Array)
assert_type(fitted.inverse_transform(X), Array)
assert_type(fitted.fit_transform(X), Array)
assert_type(fitted.fit_predict(X), npt.NDArray[np.int_])
assert_type(fitted.predict(X), npt.NDArray[np.int_])
assert_type(fitted.score_samples(X), npt.NDArray[np.float64])
assert_type(fitted.decision_function(X), npt.NDArray[np.float64])
assert_type(fitted.score(X), float)
assert_type(fitted.distances(X).score, Array)
assert_type(fitted.contributions(X).orthogonal, Array)
assert_type(fitted.outlier_types(X), npt.NDArray[np.str_])
assert_type(fitted.get_covariance(), npt.NDArray[np.float64])
assert_type(fitted.get_feature_names_out(), npt.NDArray[np.object_])
assert_type(fitted.set_contamination(0.1), GaussianTORP)
assert_type(fitted.set_output(transform="pandas"), GaussianTORP)
assert_type(fitted.set_params(n_components=3), GaussianTORP)

# ---- what some have ------------------------------------------------------------------------------

ours = OutlierRobustPCA().fit(X)
assert_type(ours.scale_, Array | None)
assert_type(ours.weights_, Array)
assert_type(ours.rank_.rule, str)
assert_type(ours.start_.name, str)
assert_type(ours.set_contamination("auto"), OutlierRobustPCA)
assert_type(ours.set_contamination("auto").predict(X), npt.NDArray[np.int_])
assert_type(NoisyTORP(2).fit(X).ranks_tried_, tuple[int, ...])

# ---- functions -----------------------------------------------------------------------------------

for found in (torp(X, 2), torp_n(X, 2), torp_bin(X, 2), torp_g(X, 2)):
    assert_type(found, RobustSubspace)
    assert_type(found.components, Array)
    assert_type(found.singular_values, Array)
    assert_type(found.support, npt.NDArray[np.bool_])
    assert_type(found.mean, Array | None)
